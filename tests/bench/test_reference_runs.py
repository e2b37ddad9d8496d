"""The runs kept in results/reference, from which README.md's tables come, stand up to `verify`."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.runs.store import Store
from bench.verification.folder import verify_store

REFERENCE = Path(__file__).parent.parent.parent / "results" / "reference"
FOLDERS = sorted(suite.parent for suite in REFERENCE.rglob("suite.json"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(REFERENCE)))
def test_kept_runs_are_complete_and_verified(folder: Path) -> None:
    store = Store(folder)
    assert {run.key for run in store.asked().runs} == {record.key for record in store.records()}
    assert verify_store(store) == []
    assert not any(record.dirty for record in store.records())
