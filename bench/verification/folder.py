"""What the command `verify` does: all offline checks of a run folder, then, if asked, every proof once more."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import track

from bench.records.best_known import BestKnown, Key, best_known
from bench.records.record import Record
from bench.reporting.frames import runs_table, with_truth
from bench.reporting.metrics import ContradictionError
from bench.runs.store import Store
from bench.verification.ability import claim_of
from bench.verification.checks import verify_record
from bench.verification.circumstances import is_todays
from bench.verification.completeness import check_completeness
from bench.verification.resolve import resolve
from bench.verification.together import check_together
from instances.errors import InputError
from instances.files import plan_of
from instances.instance import COST_MODEL_VERSION, Instance
from instances.objective import parse_objective
from instances.referee.check import Infeasible, check
from solvers.core.gap import TOLERANCE
from solvers.core.registry import solver_types


@dataclass(frozen=True)
class Claim:
    """What a record claims to be proven, who solved it again, and whether that confirmed it."""

    record: str
    claim: str
    witness: str
    confirmed: bool

    def __str__(self) -> str:
        return f"{self.record}: {self.claim}: {'' if self.confirmed else 'not '}confirmed by {self.witness}"


@dataclass(frozen=True)
class Verification:
    """The answer of `verify`: counts, all that is wrong, and what had to be taken on trust, a line each."""

    folder: str
    records: int
    proofs: int  # claims: optimal, infeasible, a complete front, or a bound
    resolved: int | None  # claims that were confirmed by solving again; None if that was not asked
    witnesses: dict[str, int]  # how many claims each witness confirmed
    findings: list[str]
    claims: list[Claim]
    notes: list[str]


def verify_folder(folder: Path, resolve_s: float | None) -> Verification:
    """Check a run folder; `resolve_s` is the limit for each claim that is solved again, None for none."""
    store = Store(folder)
    records = store.records()
    findings = verify_store(store)
    if not findings:  # then every record's instance is there
        by_content = {record.instance_hash: record for record in records}
        findings += best_known_findings(store.instance(record) for record in by_content.values())[1]
    proofs = [record for record in records if claim_of(record)]
    claims: list[Claim] = []
    again = resolve_s is not None and not findings
    if resolve_s is not None and not findings:
        console = Console(file=sys.stderr)
        for record in track(proofs, "solving again", console=console, disable=not sys.stderr.isatty()):
            done = resolve(record, store.instance(record), resolve_s)
            claims.append(Claim(record.title, str(claim_of(record)), done.witness, done.repeated and not done.findings))
            findings += [f"{record.title}: {finding}" for finding in done.findings]
    witnesses = Counter(claim.witness for claim in claims if claim.confirmed)
    notes = [*_notes(records), *([] if again else _trusted(proofs))]
    resolved = None if resolve_s is None else witnesses.total()
    return Verification(str(folder), len(records), len(proofs), resolved, dict(witnesses), findings, claims, notes)


def verify_store(store: Store) -> list[str]:
    """All that is wrong in a run folder without solving anything, a line each; empty if every claim holds."""
    records = store.records()
    found = list(check_completeness(store))
    broken = [f"{record.title}: {finding}" for record in store.written() for finding in verify_record(record, store)]
    found += dict.fromkeys(broken)
    try:
        with_truth(runs_table(store.asked().runs, records))
        found += check_together(store, records)
    except (ContradictionError, InputError) as error:
        found.append(str(error))
    return found


def _notes(records: Sequence[Record]) -> Iterator[str]:
    """What the records themselves put in doubt, and what cannot be checked of them here."""
    for record in records:
        if "distrusted" in record.details:
            yield f"{record.title}: the method distrusts its own proof: {record.details['distrusted']}"
    known = solver_types()
    old = sum(record.code is None for record in records)
    other = sum(record.code is not None and not is_todays(record) for record in records)
    foreign = Counter(record.solver for record in records if record.solver not in known)
    if old:
        yield f"{old} records are older than digests of code: their keys do not say what computed them"
    if other:
        yield f"{other} records were computed by other code than this: their options are not checked"
    yield from (f"{count} records of {name}, which is not known here: not checked" for name, count in foreign.items())


def _trusted(claims: Sequence[Record]) -> Iterator[str]:
    """Which claims rest on something that was not computed again."""
    kinds = Counter("grids that are marked as solved" if record.grids() else record.solver for record in claims)
    for kind, count in kinds.items():
        yield f"{count} claims rest on the word of {kind}; --resolve solves them again"


def best_known_findings(
    instances: Iterable[Instance], known: Mapping[Key, BestKnown] | None = None
) -> tuple[int, list[str]]:
    """How many best known values belong to these instances, and all that is wrong with them, a line each."""
    by_hash = {instance.content_hash: instance for instance in instances}
    names = {instance.name: instance for instance in by_hash.values()}
    count, found = 0, []
    for entry in (best_known() if known is None else known).values():
        instance = by_hash.get(entry.instance_hash) or names.get(entry.instance)
        if instance is not None:
            count += 1
            where = f"best known value of {entry.instance}, {entry.objective}"
            found += [f"{where}: {text}" for text in _wrong(entry, instance)]
    return count, found


def _wrong(entry: BestKnown, instance: Instance) -> list[str]:
    if entry.instance_hash != instance.content_hash:
        return [f"belongs to the content {entry.instance_hash}, the instance has {instance.content_hash}"]
    if entry.cost_model_version != COST_MODEL_VERSION:
        return [f"is of cost-model version {entry.cost_model_version}, this is {COST_MODEL_VERSION}"]
    try:
        plan = plan_of(entry.plan, instance, "plan")
        goal = parse_objective(entry.objective).goal(entry.reference)
    except InputError as error:
        return [str(error)]
    checked = check(instance, plan, goal)
    if isinstance(checked, Infeasible):
        return [f"the plan is infeasible: {checked}"]
    value = goal.value(checked)
    found = []
    if abs(entry.value - value) > TOLERANCE * value:
        found.append(f"the value is {entry.value!r}, the referee says {value!r}")
    if entry.bound is not None and entry.bound > value * (1 + TOLERANCE):
        found.append(f"the bound {entry.bound!r} lies above the value {value!r}")
    if (entry.bound is None) != (entry.bound_by is None):
        found.append("a bound and who proved it go together")
    return found
