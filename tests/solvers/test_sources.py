"""Which code a solver's answers come from: what counts as a change, and what does not."""

from pathlib import Path

import pytest

from solvers.core import sources
from solvers.core.sources import ROOT, solver_digest, solver_sources


def names(solver: str) -> set[str]:
    return {path.relative_to(ROOT).as_posix() for path in solver_sources(solver)}


def test_a_solver_is_made_of_its_own_files_what_these_import_and_the_referee() -> None:
    assert {"solvers/memetic/search.py", "solvers/kernel/evaluation.py", "instances/referee/evaluate.py"} <= names(
        "memetic"
    )
    assert {"solvers/megatron.py", "instances/referee/evaluate.py", "instances/workload.py"} <= names("megatron")


def test_other_solvers_do_not_count_unless_they_are_called() -> None:
    assert not any("memetic" in name or "cpsat" in name for name in names("megatron"))
    assert names("memetic") <= names("cpsat") | {"solvers/memetic/__init__.py"}


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ('"""Says one thing."""\nX = 1\n', '"""Says another."""\nX = 1  # and why\n', True),
        ("def f():\n    return 1\n", 'def f():\n    """One."""\n\n    return 1\n', True),
        ("X = 1\n", "X = 2\n", False),
        ("def f(x=1):\n    return x\n", "def f(x=2):\n    return x\n", False),
        ("X = 'text'\n", "X = 'other'\n", False),
    ],
)
def test_comments_and_docstrings_do_not_count(tmp_path: Path, before: str, after: str, same: bool) -> None:
    file = tmp_path / "module.py"
    trees = []
    for text in (before, after):
        file.write_text(text)
        trees.append(sources._tree(file))
    assert (trees[0] == trees[1]) is same


def test_solvers_of_different_code_have_different_digests() -> None:
    assert len({solver_digest(name) for name in ("megatron", "memetic", "cpsat", "milp", "dtfm")}) == 5
