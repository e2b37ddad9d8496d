"""Which source files a piece of code is made of, and a digest that changes only when what they compute may."""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
IMPORTED = re.compile(r"^\s*(?:from|import) ((?:instances|solvers)[\w.]*)", re.MULTILINE)
PLUMBING = ("solvers/core/registry.py", "solvers/core/sources.py", "solvers/core/cache.py", "solvers/core/compiled.py")
"""Finds and compiles solvers, and computes nothing itself; through the registry every solver would count for all."""


def sources_used(paths: Iterable[Path], root: Path = ROOT) -> set[Path]:
    """These files and every module below `root` that they import, directly or through others.

    Read from the text, as these imports would otherwise have to be run.
    """
    used: set[Path] = set()
    waiting = list(paths)
    while waiting:
        source = waiting.pop()
        if source in used or source.relative_to(root).as_posix() in PLUMBING or not source.is_file():
            continue
        used.add(source)
        for module in IMPORTED.findall(source.read_text(encoding="utf-8")):
            target = root.joinpath(*module.split("."))
            waiting += [target.with_suffix(".py"), target / "__init__.py"]
    return used


def solver_sources(name: str) -> set[Path]:
    """All files of ours that can change what a solver answers: its own, what it imports and calls, the referee.

    A solver from outside this project counts with the files of its own package.
    """
    from solvers.core.registry import solver_types

    solver = solver_types()[name]
    file = sys.modules[solver.__module__].__file__
    assert file is not None
    home = Path(file)
    if not home.is_relative_to(ROOT / "solvers"):
        package = solver.__module__.partition(".")[0]
        folder = sys.modules[package].__file__
        return set(Path(folder).parent.rglob("*.py")) if package != solver.__module__ and folder else {home}
    own = {home} if home.parent == ROOT / "solvers" else set(home.parent.glob("*.py"))
    return sources_used([*own, ROOT / "instances" / "referee" / "evaluate.py"]).union(
        *map(solver_sources, solver.calls)
    )


def solver_digest(name: str, options: Mapping[str, str] | None = None) -> str:
    """A digest of what a solver's sources compute: of their syntax trees, without comments and docstrings.

    Files that it names with these options count whole, as nobody knows what they hold. InputError for what does not
    fit.
    """
    from solvers.core.registry import make_solver

    files = make_solver(name, options).files() if options else ()
    contents = [path.read_bytes() for path in files]
    if not contents:
        return _digest(name)
    return hashlib.sha256(b"\0".join([_digest(name).encode(), *contents])).hexdigest()[:16]


@cache
def _digest(name: str) -> str:
    digest = hashlib.sha256()
    for source in sorted(solver_sources(name)):
        digest.update(source.name.encode() + b"\0" + _tree(source).encode() + b"\0")
    return digest.hexdigest()[:16]


def _tree(source: Path) -> str:
    tree = ast.parse(source.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            # Every bare string counts as a docstring: it computes nothing.
            node.body = [each for each in body if not _is_text(each)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
