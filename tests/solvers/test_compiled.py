"""Compiled code is kept in the user's cache folder and nowhere else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from solvers import compiled as module

ROOT = Path(__file__).parent.parent.parent
PROGRAM = """
from kernels import double
from solvers.compiled import CACHE_FOLDER
print(double(21), CACHE_FOLDER)
"""
KERNELS = """
from solvers.compiled import compiled

@compiled
def double(number: int) -> int:
    return 2 * number
"""


def run_program(folder: Path, **environment: str) -> str:
    (folder / "kernels.py").write_text(KERNELS)
    inherited = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    path = os.pathsep.join([str(ROOT), str(folder)])
    return subprocess.run(
        [sys.executable, "-B", "-c", PROGRAM],
        env=inherited | {"PYTHONPATH": path} | environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_the_cache_lies_below_the_users_cache_folder_and_not_beside_the_source(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    answer, folder = run_program(tmp_path, XDG_CACHE_HOME=str(cache)).split()
    assert answer == "42"
    assert Path(folder).is_relative_to(cache / "geotrain-bench")
    assert list(cache.rglob("*.nbi"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "kernels.py"]


def test_code_still_compiles_where_no_cache_can_be_written(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert run_program(tmp_path, XDG_CACHE_HOME=str(blocked)).split() == ["42", "None"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "kernels.py"]


def test_the_users_own_choice_of_folder_is_kept(tmp_path: Path) -> None:
    chosen = tmp_path / "chosen"
    assert run_program(tmp_path, NUMBA_CACHE_DIR=str(chosen)).split() == ["42", str(chosen)]


def test_a_relative_cache_home_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "somewhere")
    assert module.user_cache_folder() != Path("somewhere")


def test_the_digest_follows_folders_with_compiled_code_and_only_those(tmp_path: Path) -> None:
    """numba itself misses changes in what a cached function uses from another file."""
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "moves.py").write_text("from solvers.compiled import compiled")
    before = module.source_digest(tmp_path)
    (tmp_path / "other.py").write_text("pass")
    assert module.source_digest(tmp_path) == before
    (tmp_path / "kernel" / "constants.py").write_text("NOISE = 1e-9")
    assert module.source_digest(tmp_path) != before
