"""What the command `verify` does: all offline checks of a run folder, then, if asked, every proof once more."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import track

from bench.records.best_known import BestKnown, Key, best_known
from bench.reporting.frames import runs_table, with_truth
from bench.reporting.metrics import ContradictionError
from bench.runs.store import Store
from bench.verification.checks import verify_record
from bench.verification.resolve import is_proof, resolve
from instances.errors import InputError
from instances.files import plan_of
from instances.instance import COST_MODEL_VERSION, Instance
from instances.objective import parse_objective
from instances.referee.check import Infeasible, check
from solvers.core.gap import TOLERANCE


@dataclass(frozen=True)
class Verification:
    """The answer of `verify`: counts, and all that is wrong, a line each."""

    folder: str
    records: int
    proofs: int
    resolved: int | None  # proofs that were solved again; None if that was not asked
    witnesses: dict[str, int]  # how many proofs each witness solved again
    findings: list[str]


def verify_folder(folder: Path, resolve_s: float | None) -> Verification:
    """Check a run folder; `resolve_s` is the limit for each proof that is solved again, None for none."""
    store = Store(folder)
    records = store.records()
    findings = verify_store(store)
    if not findings:  # then every record's instance is there
        by_content = {record.instance_hash: record for record in records}
        findings += best_known_findings(store.instance(record) for record in by_content.values())[1]
    proofs = [record for record in records if is_proof(record)]
    witnesses: Counter[str] = Counter()
    if resolve_s is not None and not findings:
        console = Console(file=sys.stderr)
        for record in track(proofs, "solving again", console=console, disable=not sys.stderr.isatty()):
            done = resolve(record, store.instance(record), resolve_s)
            witnesses[done.witness] += done.repeated
            findings += [f"{record.title}: {finding}" for finding in done.findings]
    repeated = None if resolve_s is None else witnesses.total()
    return Verification(str(folder), len(records), len(proofs), repeated, dict(+witnesses), findings)


def verify_store(store: Store) -> list[str]:
    """All that is wrong in a run folder, a line each; empty if every claim holds."""
    records = store.records()
    found = [f"{record.title}: {finding}" for record in records for finding in verify_record(record, store)]
    try:
        with_truth(runs_table(store.asked().runs, records))
    except (ContradictionError, InputError) as error:
        found.append(str(error))
    return found


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
