"""The results of a suite in a folder: one JSON line per finished run, and the instances they belong to."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.records.record import SCHEMA, Task
from instances.errors import InputError
from instances.files import instance_from_json, read_json, write_instance, write_text
from instances.instance import Instance

PLAN_SCHEMA = "geotrain-bench/plan-of-runs/1"
ASKED_KEYS = ("key", "instance", "instance_hash", "gpus", "solver", "options", "objective", "seed")
RECORD_KEYS = (
    *("key", "instance", "instance_hash", "cost_model_version", "solver", "options", "objective", "reference", "seed"),
    *("status", "ended", "reason", "value", "bound", "gap", "plan", "front", "time_s", "energy_j", "wall_s"),
    *("trace", "details", "breakdown", "checksum", "timed_alone", "versions", "machine", "commit", "dirty"),
)


class Store:
    """A run folder: `runs.jsonl` (records), `suite.json` (what was asked for) and `instances/`.

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
            except OSError:
                raise InputError(f"{self.folder}: another run is writing to this folder") from None
            self._drop_torn_line()
            yield

    def clear(self) -> None:
        """Forget all results; files that are not ours stay."""
        self._runs.unlink(missing_ok=True)
        self._suite.unlink(missing_ok=True)
        shutil.rmtree(self._instances, ignore_errors=True)

    def plan(self, suite: str, tasks: Sequence[Task]) -> None:
        """Write down what is asked for, so that a report can say what is missing."""
        if self._suite.exists():
            other = self.asked()["suite"]
            if other != suite:
                raise InputError(f"{self.folder}: holds results of suite {other}; name another folder or use --fresh")
        rows = [
            {
                "key": task.key,
                "instance": task.instance.name,
                "instance_hash": task.instance.content_hash,
                "gpus": task.instance.gpus,
                "solver": task.solver,
                "options": dict(task.options),
                "objective": str(task.objective),
                "seed": task.budget.seed,
            }
            for task in tasks
        ]
        for instance in {task.instance.name: task.instance for task in tasks}.values():
            write_instance(self._instances / f"{instance.name}.json", instance)
        write_text(self._suite, json.dumps({"schema": PLAN_SCHEMA, "suite": suite, "runs": rows}, indent=1) + "\n")

    def asked(self) -> dict[str, Any]:
        """What was asked for: {"suite", "runs": [...]}. InputError if the folder holds no run."""
        if not self._suite.is_file():
            raise InputError(f"{self.folder}: holds no run of a suite (there is no suite.json)")
        asked = read_json(self._suite)
        if not isinstance(asked, dict) or asked.get("schema") != PLAN_SCHEMA or not isinstance(asked.get("runs"), list):
            raise InputError(f"{self._suite}: schema: is not {PLAN_SCHEMA}")
        _require(asked, ("suite",), str(self._suite))
        for number, run in enumerate(asked["runs"]):
            _require(run, ASKED_KEYS, f"{self._suite}: runs[{number}]")
        return asked

    def append(self, record: Mapping[str, Any]) -> None:
        """Add one record, whole: a single write, flushed to disk."""
        line = json.dumps(record, allow_nan=False) + "\n"
        with self._runs.open("a", encoding="utf-8") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def records(self) -> list[dict[str, Any]]:
        """All records, the last one of each key, in the order of their keys' first appearance."""
        found: dict[str, dict[str, Any]] = {}
        for number, line in enumerate(self._lines(), 1):
            where = f"{self._runs}: line {number}"
            try:
                record = json.loads(line, parse_constant=_no_constant)
            except ValueError as error:
                raise InputError(f"{where}: is not valid JSON: {error}") from None
            if not isinstance(record, dict) or record.get("schema") != SCHEMA:
                raise InputError(f"{where}: schema: is not {SCHEMA}")
            _require(record, RECORD_KEYS, where)
            found[record["key"]] = record
        return list(found.values())

    def instance(self, name: str) -> Instance:
        """An instance of this folder's runs, by name."""
        path = self._instances / f"{name}.json"
        return instance_from_json(read_json(path), str(path))

    def _lines(self) -> list[str]:
        if not self._runs.exists():
            return []
        try:
            text = self._runs.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise InputError(f"{self._runs}: is not UTF-8 text") from None
        # What follows the last newline was cut short.
        return text.split("\n")[:-1]

    def _drop_torn_line(self) -> None:
        if self._runs.exists():
            whole = "".join(line + "\n" for line in self._lines())
            if len(whole.encode()) != self._runs.stat().st_size:
                write_text(self._runs, whole)


def _require(content: Any, keys: Sequence[str], where: str) -> None:
    missing = [key for key in keys if not isinstance(content, dict) or key not in content]
    if missing:
        raise InputError(f"{where}: {missing[0]}: is missing")


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a number")
