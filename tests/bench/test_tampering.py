"""Every kind of tampering with a run folder is found at its level, or docs/measuring.md says why it cannot be.

The forger is careful: keys and checksums are made anew, in suite.json too, unless that is what the row is about.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.records.record import record_of
from bench.runs.isolated import Termination
from bench.runs.store import Store
from bench.verification.folder import verify_folder
from instances.errors import InputError
from instances.objective import parse_objective
from solvers.core.interface import Problem, Status
from tests.bench.forgeries import KINDS, NEVER, OFFLINE, RESOLVE
from tests.bench.forging import (
    POOL,
    TASKS,
    Folder,
    ending,
)

DOCS = Path(__file__).parents[2] / "docs" / "measuring.md"


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = Store(tmp_path_factory.mktemp("honest"))
    with store.writing():
        store.plan("own", list(TASKS.values()))
        for name, asked in TASKS.items():
            store.append(record_of(asked, ending(name), jobs=1))
    return store.folder


def findings(folder: Path, resolve_s: float | None = None) -> list[str]:
    try:
        return verify_folder(folder, resolve_s).findings
    except InputError as error:
        return [str(error)]


@pytest.fixture
def forged(honest: Path, tmp_path: Path) -> Callable[[str], Path]:
    def forge(name: str) -> Path:
        folder = Folder(honest, tmp_path / "forged")
        KINDS[name][3](folder)
        folder.write()
        return folder.path

    return forge


def title_of(honest: Path, record: str) -> str:
    return Store(honest).records()[list(TASKS).index(record)].title


@pytest.mark.parametrize("name", [name for name, row in KINDS.items() if row[0] == OFFLINE])
def test_it_is_found_offline(honest: Path, forged: Callable[[str], Path], name: str) -> None:
    _, record, words, _ = KINDS[name]
    found = findings(forged(name))
    title = title_of(honest, record) if record else ""
    assert any(title in finding and words in finding for finding in found), found


@pytest.mark.parametrize("name", [name for name, row in KINDS.items() if row[0] == RESOLVE])
def test_it_is_found_by_solving_again(honest: Path, forged: Callable[[str], Path], name: str) -> None:
    _, record, words, _ = KINDS[name]
    assert record
    folder = forged(name)
    assert findings(folder) == [], "it should be a careful forgery"
    found = findings(folder, 60.0)
    assert any(title_of(honest, record) in finding and words in finding for finding in found), found


@pytest.mark.parametrize("name", [name for name, row in KINDS.items() if row[0] == NEVER])
def test_what_cannot_be_seen_is_not(forged: Callable[[str], Path], name: str) -> None:
    assert findings(forged(name)) == []


def test_the_docs_list_what_cannot_be_seen() -> None:
    text = DOCS.read_text(encoding="utf-8").split("### What verify cannot see")[1].split("\n## ")[0]
    listed = re.findall(r"^\| ([^|]+?) \|", text, re.MULTILINE)[1:]
    assert listed == [name for name, row in KINDS.items() if row[0] == NEVER]


def test_an_honest_folder_has_no_findings_and_every_claim_a_witness(honest: Path) -> None:
    done = verify_folder(honest, 60.0)
    assert done.findings == []
    assert [claim.record for claim in done.claims if not claim.confirmed] == []
    assert len(done.claims) == done.proofs == 7
    by = {claim.record: claim.witness for claim in done.claims}
    assert by[title_of(honest, "cpsat")] == "brute"
    assert by[title_of(honest, "front")] == "cpsat[whole]"
    trusted = verify_folder(honest, None).notes
    assert any("marked as solved" in note for note in trusted)
    assert any("the word of brute" in note for note in trusted)


def test_there_are_sixty_kinds() -> None:
    assert len(KINDS) >= 60


def test_a_distrusted_proof_is_shown(honest: Path, tmp_path: Path) -> None:
    from bench.reporting.report import make_report

    folder = Folder(honest, tmp_path / "distrusting")
    record = folder.records["cpsat"]
    record.update(status="feasible", bound=None, gap=None)
    record["details"] = {"distrusted": "two claims contradict each other"}
    folder.write()
    done = verify_folder(folder.path, None)
    assert done.findings == []
    assert any("two claims" in note for note in done.notes)
    assert any("two claims" in line for line in make_report(Store(folder.path)).problems)


def test_the_cut_off_run_is_what_it_should_be(honest: Path) -> None:
    record = Store(honest).records()[list(TASKS).index("cut")]
    assert (record.status, record.ended) == (Status.FEASIBLE, Termination.TIME_LIMIT)
    assert record.bound is not None
    assert record.grids()
    assert Problem(POOL, parse_objective("energy").goal()).value
