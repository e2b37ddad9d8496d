"""The results of a suite in a folder: one JSON line per finished run, and the instances they belong to."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pydantic import Field

from bench.records.record import Record
from bench.records.task import Named, Task
from instances.disk import read_json, read_text, remove, write_text
from instances.errors import InputError
from instances.files import FileModel, model_from_json, model_from_text, read_instance, write_instance
from instances.instance import Instance


class AskedRun(Named):
    """One run of a suite; `key` is that of its record."""

    key: str
    gpus: int


class AskedSuite(FileModel):
    """The file `suite.json`: the runs that are asked for, in order, and the keys of those that once were."""

    schema_: Literal["geotrain-bench/plan-of-runs/1"] = Field(alias="schema")
    suite: str
    runs: tuple[AskedRun, ...]
    former: tuple[str, ...] = ()


class Store:
    """A run folder: `runs.jsonl` (records), `suite.json` (what was asked for), `instances/`, and `logs/`.

    Instances are stored by content, so that one that was edited since leaves the records of its old content valid.
    Only one process writes, a whole line at a time; a line that a crash cut short is dropped and its run
    is done again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._runs = folder / "runs.jsonl"
        self._suite = folder / "suite.json"
        self._instances = folder / "instances"

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the folder for one writer. InputError if another run writes to it or it cannot be made."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = open(self.folder / ".lock", "w", encoding="utf-8")  # noqa: SIM115 - held until the end
        except OSError as error:
            raise InputError(f"{self.folder}: cannot be written: {error.strerror}") from None
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(
                    f"{self.folder}: another run is writing to this folder; wait for its end or name another with --out"
                ) from None
            except OSError as error:
                raise InputError(
                    f"{self.folder}: cannot be locked: {error.strerror or error}; "
                    "name a folder on a local disk with --out"
                ) from None
            self._drop_torn_line()
            yield

    def log_file(self, key: str) -> Path:
        """Where what a run prints is kept. InputError if there can be no such file."""
        folder = self.folder / "logs"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: cannot be written: {error.strerror}") from None
        return folder / f"{key[:16]}.txt"

    def clear(self) -> None:
        """Forget all results; files that are not ours stay."""
        remove(self._runs)
        remove(self._suite)
        for folder in (self._instances, self.folder / "logs"):
            shutil.rmtree(folder, ignore_errors=True)

    def plan(self, suite: str, tasks: Sequence[Task], kept: Mapping[str, Record] | None = None) -> None:
        """Write down what is asked for, so that a report can say what is missing.

        `kept` holds, by a task's key, the record of other code that stands for it (`other_code`).
        """
        before = self.asked() if self._suite.exists() else None
        if before and before.suite != suite:
            raise InputError(
                f"{self.folder}: holds results of suite {before.suite}; name another folder or use --fresh"
            )
        runs = tuple(
            AskedRun(
                key=kept[task.key].key if kept and task.key in kept else task.key,
                gpus=task.instance.gpus,
                **task.asked.model_dump(include=set(Named.model_fields)),
            )
            for task in tasks
        )
        for run, instance in {task.key: (task.asked, task.instance) for task in tasks}.values():
            write_instance(self._instance_file(run), instance)
        wanted = {run.key for run in runs}
        earlier = dict.fromkeys([*before.former, *(run.key for run in before.runs)] if before else [])
        former = tuple(key for key in earlier if key not in wanted)
        content = AskedSuite(schema="geotrain-bench/plan-of-runs/1", suite=suite, runs=runs, former=former)
        write_text(self._suite, json.dumps(content.model_dump(mode="json", by_alias=True), indent=1) + "\n")

    def asked(self) -> AskedSuite:
        """What was asked for. InputError if the folder holds no run."""
        if not self._suite.is_file():
            raise InputError(f"{self.folder}: holds no run of a suite (there is no suite.json)")
        return model_from_json(AskedSuite, read_json(self._suite), str(self._suite))

    def append(self, record: Record) -> None:
        """Add one record, whole and flushed to disk, or nothing. InputError if it cannot be written."""
        line = (json.dumps(record.to_json(), allow_nan=False) + "\n").encode("utf-8")
        try:
            with self._runs.open("ab", buffering=0) as file:  # what a buffer holds back would be written when it closes
                before = file.tell()
                try:
                    written = 0
                    while written < len(line):
                        written += file.write(line[written:])
                    os.fsync(file.fileno())
                except OSError:
                    file.truncate(before)
                    raise
        except OSError as error:
            raise InputError(
                f"{self._runs}: cannot be written: {error.strerror or error}; "
                "earlier results are kept, and the same command goes on"
            ) from None

    def records(self) -> list[Record]:
        """All records, the last one of each key, in the order of their keys' first appearance."""
        return list({record.key: record for record in self.written()}.values())

    def written(self) -> list[Record]:
        """Every line, also those that a later one of the same key replaces."""
        return [
            model_from_text(Record, line, f"{self._runs}: line {number}")
            for number, line in enumerate(self._lines(), 1)
        ]

    def other_code(self, tasks: Sequence[Task]) -> dict[str, Record]:
        """By key of each task that has no result yet: the result of the same run by other code, if there is one."""
        final = [record for record in self.records() if record.final]
        done = {record.key for record in final}
        same = {record.key_without_code: record for record in final}
        asked = {task.key: task.asked.key_without_code for task in tasks if task.key not in done}
        return {key: same[run] for key, run in asked.items() if run in same}

    def instance(self, run: Named) -> Instance:
        """The instance of a run. InputError if it is not there; what its content is, is not checked here."""
        path = self._instance_file(run)
        old = self._instances / f"{run.instance}.json"  # where folders have it that older versions made
        for file in (path, old):
            if os.path.isfile(file):  # False for a name that is too long for a file
                return read_instance(file)
        raise InputError(f"{self._instances}: has no instance {run.instance} with the content hash {run.instance_hash}")

    def _instance_file(self, run: Named) -> Path:
        """Named for readers and by content; letters that some file system may refuse are left out."""
        words = re.sub(r"[^A-Za-z0-9._-]+", "_", run.instance)[:60]
        return self._instances / f"{words}.{run.instance_hash[:16]}.json"

    def _lines(self) -> list[str]:
        if not self._runs.exists():
            return []
        # What follows the last newline was cut short.
        return read_text(self._runs).split("\n")[:-1]

    def _drop_torn_line(self) -> None:
        if self._runs.exists():
            whole = "".join(line + "\n" for line in self._lines())
            if len(whole.encode()) != self._runs.stat().st_size:
                write_text(self._runs, whole)


def older_content(run: Named, asked: Sequence[AskedRun]) -> bool:
    """Whether the run's instance is asked for with another content: it was edited after the run."""
    return any(other.instance == run.instance and other.instance_hash != run.instance_hash for other in asked)
