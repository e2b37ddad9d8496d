"""The rooms of the house: who may import whom, and what must not load before it is needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("instances", "solvers", "bench")
MAY_IMPORT = {"instances": {"instances"}, "solvers": {"instances", "solvers"}, "bench": set(ROOMS)}
HEAVY = {"numba", "ortools", "pulp", "highspy", "pandas", "matplotlib", "seaborn", "scipy", "jinja2", "moocore"}
SOURCES = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports anywhere, `from x import y` as `x.y` too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide where they lead"
            assert node.module
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_solver(path: Path) -> bool:
    """Whether a file registers a solver."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return any(isinstance(mark, ast.Name) and mark.id == "register" for node in classes for mark in node.decorator_list)


def homes() -> dict[str, str]:
    """The module of each solver, or the package it lies in, which is its own."""
    found = {}
    for path in SOURCES:
        name = module_name(path)
        if name.startswith("solvers.") and is_solver(path):
            found[name] = ".".join(name.split(".")[:2])
    return found


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_imports_go_one_way_only(path: Path) -> None:
    allowed = MAY_IMPORT[module_name(path).split(".")[0]]
    used = {name.split(".")[0] for name in imports(path)}
    assert used & {*ROOMS, "tests"} <= allowed


def test_no_solver_imports_another_solver() -> None:
    solvers = set(homes().values())
    assert {"solvers.megatron", "solvers.brute"} <= solvers
    for path in SOURCES:
        own = module_name(path)
        if own.split(".")[0] != "solvers":
            continue
        for name in imports(path):
            home = ".".join(name.split(".")[:2])
            assert home not in solvers or own == home or own.startswith(f"{home}."), f"{own} imports {name}"


def test_the_simulator_shares_no_cost_with_the_referee() -> None:
    """It takes what is given from the problem, and nothing that computes with it but FLOPs and bytes of the model."""
    given = {f"instances.{module}" for module in ("instance", "plan", "workload", "seeds")}
    allowed = {*given, "solvers.core.compiled", "bench.simulation"}
    sources = sorted((ROOT / "bench" / "simulation").glob("*.py"))
    assert len(sources) > 5
    for path in sources:
        for name in imports(path):
            ours = name.split(".")[0] in ROOMS and name not in ROOMS
            assert not ours or any(name == each or name.startswith(f"{each}.") for each in allowed), f"{path}: {name}"


def loaded(program: str) -> set[str]:
    """The top-level packages in memory after a program, in a fresh interpreter."""
    program += "\nimport sys; print(*sorted({name.split('.')[0] for name in sys.modules}), sep='\\n', file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def test_the_registry_loads_nothing_heavy() -> None:
    assert not loaded("from solvers.core.registry import solver_types; solver_types()") & HEAVY


def test_the_problem_loads_nothing_heavy() -> None:
    modules = ("files", "referee.evaluate", "objective", "reduce", "generator.family")
    program = "import " + ", ".join(f"instances.{module}" for module in modules)
    assert not loaded(program) & HEAVY


@pytest.mark.parametrize("words", ["['--help']", "['solve', '--help']", "['run', '--help']"])
def test_help_loads_next_to_nothing(words: str) -> None:
    program = f"from bench.cli.app import app\napp({words}, standalone_mode=False)"
    assert not loaded(program) & {*HEAVY, "numpy", "solvers"}


def test_evaluating_a_plan_loads_no_solver_library() -> None:
    files = [str(ROOT / "tests" / "data" / f"hand-{kind}.json") for kind in ("instance", "plan")]
    program = f"from bench.cli.app import app\nassert app({['evaluate', *files, '--json']}, standalone_mode=False) == 0"
    assert not loaded(program) & HEAVY
