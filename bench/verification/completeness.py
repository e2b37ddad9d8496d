"""Whether a run folder holds the runs that were asked for: each of them, once, and no others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from bench.records.record import Record
from bench.records.task import Named
from bench.runs.known_hashes import known_hashes
from bench.runs.store import AskedSuite, Store
from bench.runs.suite import read_suite, shipped, tasks_of

Identity = tuple[object, ...]


def check_completeness(store: Store) -> Iterator[str]:
    """Missing, repeated and foreign records; runs of a shipped suite that the folder was not asked for."""
    asked, written = store.asked(), store.written()
    if not asked.runs:
        yield f"{store.folder}: suite.json asks for no run"
    yield from (f"{title}: suite.json asks for it twice" for title in _repeated([(r.key, r.title) for r in asked.runs]))
    yield from _second_records(written)
    yield from _against_asked(asked, store.records())
    yield from _other_contents(asked)
    if asked.suite in shipped():
        yield from _against_shipped(asked, store.records())


def _second_records(written: Sequence[Record]) -> Iterator[str]:
    """A run with a result is not run again: what follows under its key came from elsewhere."""
    done: set[str] = set()
    for record in written:
        if record.key in done:
            yield f"{record.title}: a second record of a run that already had a result"
        if record.final:
            done.add(record.key)


def _against_asked(asked: AskedSuite, records: Sequence[Record]) -> Iterator[str]:
    """Every run has its record, and every record was asked for; a result of other code stands for one of today's."""
    by_key = {record.key: record for record in records}
    stand_ins = {_identity(record): record for record in records if record.final}
    wanted = {run.key for run in asked.runs} | set(asked.former)
    for run in asked.runs:
        record = by_key.get(run.key) or stand_ins.get(_identity(run))
        if record is None or (record.key != run.key and record.code == run.code):
            yield f"{run.title}: is missing: suite.json asks for it, runs.jsonl has no record of it"
        elif _identity(record) != _identity(run) or record.gpus != run.gpus:
            yield f"{record.title}: its key belongs to another run in suite.json: {run.title}"
        wanted |= {record.key} if record else set()
    # A failed run of older code is left behind when the code was mended.
    for record in records:
        if record.final and record.key not in wanted:
            yield f"{record.title}: has a record, but suite.json does not ask for it and never did"


def _against_shipped(asked: AskedSuite, records: Sequence[Record]) -> Iterator[str]:
    """The runs that the shipped suite of this name is made of, limits and threads included."""
    suite, folder = read_suite(asked.suite)
    runs = {_identity(run) for run in asked.runs}
    made = {_identity(record): record.key_without_code for record in records}
    tasks = [task.asked for task in tasks_of(suite, folder, asked.suite)]
    for task in tasks:
        if _identity(task) not in runs:
            yield f"{task.title}: is missing: the shipped suite {asked.suite} asks for it, suite.json does not"
        elif made.get(_identity(task), task.key_without_code) != task.key_without_code:
            yield f"{task.title}: was run with other limits or threads than the shipped suite {asked.suite} has"
    own = {_identity(task) for task in tasks}
    for run in asked.runs:
        if _identity(run) not in own:
            yield f"{run.title}: suite.json asks for it, the shipped suite {asked.suite} does not"


def _other_contents(asked: AskedSuite) -> Iterator[str]:
    """Instances of shipped suites have the content that comes with this version."""
    for name, content in dict.fromkeys((run.instance, run.instance_hash) for run in asked.runs):
        if known_hashes().get(name, content) != content:
            yield f"{name}: has another content than the instance of this name in the shipped suites"


def _identity(run: Named) -> Identity:
    """What names a run for a reader; of several limits of one run a suite can have only one."""
    options = tuple(sorted(run.options.items()))
    return run.instance, run.instance_hash, run.objective, run.solver, options, run.seed


def _repeated(runs: Sequence[tuple[str, str]]) -> list[str]:
    counts = Counter(key for key, _ in runs)
    return list(dict.fromkeys(title for key, title in runs if counts[key] > 1))
