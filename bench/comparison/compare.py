"""The comparison of two folders: what changed, what that means, and whether it is a regression."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from bench.comparison.pairs import Pair, pairs_of
from bench.comparison.quality import Change, changes_of
from bench.comparison.significance import Finding, seconds, values_by_clock
from bench.reporting.formatting import percent
from bench.runs.store import Store


@dataclass(frozen=True)
class Comparison:
    """Two folders compared; changes are the worst first."""

    base: str
    new: str
    pairs: list[Pair]
    changes: list[Change]
    findings: list[Finding]

    @property
    def regressions(self) -> list[str]:
        """All that is worse or slower, a line each."""
        lines = [f"{change.title}: {change.what}" for change in self.changes if change.gates]
        return lines + [in_words(finding) for finding in self.findings if finding.worse]

    @property
    def sentence(self) -> str:
        """What the comparison says, in words."""
        better = sum(change.size < 0 for change in self.changes)
        worse = sum(change.size > 0 for change in self.changes)
        slower = [finding.solver for finding in self.findings if finding.measure == "CPU seconds" and finding.worse]
        timed = sum(pair.timed for pair in self.pairs)
        time = f"slower: {', '.join(slower)}" if slower else "no solver is slower"
        time = time if timed else "seconds are not compared: the runs were not alone on one machine"
        count = len(self.regressions)
        verdict = f"{count} regression{'s' if count > 1 else ''}" if count else "no regression"
        changed = f"{worse} figures are worse and {better} better" if worse or better else "all figures are the same"
        return f"{verdict} in {len(self.pairs)} pairs of runs: {changed}; {time}."


def compare(base: Store, new: Store, fail_above: float, only: Collection[str] = ()) -> Comparison:
    """Compare the runs that both folders were asked for. InputError if there is none."""
    pairs = pairs_of(base, new, only)
    changes = [change for pair in pairs for change in changes_of(pair, fail_above)]
    changes.sort(key=lambda change: -change.size)
    findings = [*values_by_clock(pairs, fail_above), *seconds(pairs)]
    return Comparison(str(base.folder), str(new.folder), pairs, changes, findings)


def in_words(finding: Finding) -> str:
    """A finding as a line: effect, interval, and how sure that is."""
    more = "" if finding.p_value is None else f", p = {finding.p_value:.2g}"
    interval = f"{percent(finding.low, signed=True)} to {percent(finding.high, signed=True)}"
    return (
        f"{finding.solver}: {finding.measure} {percent(finding.effect, signed=True)} "
        f"(99 % interval {interval}{more}, {finding.pairs} pairs)"
    )
