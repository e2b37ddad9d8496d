"""Compiled code is kept in the user's cache folder and nowhere else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from solvers.core import compiled as module
from solvers.core.cache import cache_folder

ROOT = Path(__file__).parent.parent.parent
PROGRAM = """
from solvers.dtfm.path import path_length
import numpy as np

print(path_length(np.ones((4, 4)), np.arange(4)), path_length.stats.cache_path)
"""


def run_program(**environment: str) -> list[str]:
    """Run a compiled function in a process of its own: its answer and where numba keeps it."""
    inherited = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=inherited | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()


def test_the_cache_lies_below_the_users_cache_folder_and_not_beside_the_source(tmp_path: Path) -> None:
    answer, folder = run_program(XDG_CACHE_HOME=str(tmp_path))
    assert answer == "3.0"
    assert Path(folder).is_relative_to(tmp_path / "geotrain-bench")
    assert list(Path(folder).glob("*.nbi"))
    assert not list((ROOT / "solvers").rglob("*.nb?"))


def test_code_still_compiles_where_no_cache_can_be_written(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert run_program(XDG_CACHE_HOME=str(blocked)) == ["3.0", "None"]
    assert not list((ROOT / "solvers").rglob("*.nb?"))


def test_the_users_own_choice_of_folder_is_kept(tmp_path: Path) -> None:
    _, folder = run_program(NUMBA_CACHE_DIR=str(tmp_path))
    assert Path(folder).is_relative_to(tmp_path)


def test_a_relative_cache_home_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "somewhere")
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    assert cache_folder().is_absolute()


def test_the_digest_follows_what_a_file_uses_and_nothing_else(tmp_path: Path) -> None:
    """numba itself misses changes in what a cached function uses from another file."""
    kernel = tmp_path / "solvers" / "kernel"
    kernel.mkdir(parents=True)
    (tmp_path / "solvers" / "search.py").write_text("from solvers.kernel.moves import move\n")
    (kernel / "moves.py").write_text("import numba\n\nfrom solvers.kernel.constants import NOISE\n")
    (kernel / "constants.py").write_text("NOISE = 1e-9")

    def digest() -> str:
        module._package_digest.cache_clear()
        return module.source_digest(tmp_path / "solvers" / "search.py", tmp_path)

    before = digest()
    (kernel / "other.py").write_text("pass")
    assert digest() == before
    (kernel / "constants.py").write_text("NOISE = 1e-8")
    assert digest() != before


def test_the_digest_follows_the_modules_that_types_of_arguments_come_from(tmp_path: Path) -> None:
    """What numba kept names the classes of arguments; a cache of the time before a module was removed is not read."""
    package = tmp_path / "solvers" / "search"
    package.mkdir(parents=True)
    (package / "goals.py").write_text("import numba\n")
    (package / "loop.py").write_text("from solvers.race import Race\n")
    (tmp_path / "solvers" / "race.py").write_text("class Race: ...")

    def digest() -> str:
        module._package_digest.cache_clear()
        return module.source_digest(package / "goals.py", tmp_path)

    before = digest()
    (tmp_path / "solvers" / "race.py").unlink()
    assert digest() != before
