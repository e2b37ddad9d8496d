"""What the documentation names exists: paths, functions, fields, commands, options, links; its examples are valid."""

from __future__ import annotations

import ast
import importlib
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

import geotrain_bench
from bench.cli.app import app
from bench.runs.store import Store
from bench.runs.suite import read_suite, tasks_of
from bench.verification.folder import verify_folder
from instances.files import FrontFile, instance_from_json, model_from_json, plan_from_json, plan_of, write_instance
from instances.referee.violations import violations
from solvers.core.registry import solver_types

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
HAND = ROOT / "tests" / "data" / "hand-instance.json"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
SUFFIXES = "py|md|toml|json|jsonl|csv|lock|yml|ipynb|html"
PATH = re.compile(rf"(?P<path>[\w./-]*(?:/|\w\.(?:{SUFFIXES})))(?::(?P<name>[A-Za-z_][\w.]*))?")
MODULE = re.compile(r"(?:instances|solvers|bench|scripts|tests|geotrain_bench)(?:\.[A-Za-z_]\w*)+")
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
SOURCE_ROOMS = ("instances", "solvers", "bench", "scripts", "tests", "results/reference")
MADE = ("results/demo/", "my_planner/", "./planner")
"""What only exists after the commands that the pages tell of."""
SECTIONS = [
    *("Instance", "Workload", "Plan and feasibility", "Tolerances", "Schedule", "Iteration time", "Gradient exchange"),
    *("Energy", "Objectives", "Gaps", "Baselines", "Uniform", "DT-FM", "What the model leaves out"),
]


def prose(text: str) -> str:
    """A page without its code blocks."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return "\n".join(line for line in text.splitlines() if not line.startswith("    "))


def spans(text: str) -> Iterator[str]:
    """All that stands in backticks outside of code blocks."""
    yield from (" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose(text)))


def commands(text: str) -> Iterator[str]:
    """Every call of ours, in backticks or on a line of a code block."""
    lines = [line.strip() for line in text.splitlines() if line.startswith("    ")]
    for call in [*spans(text), *lines]:
        found = re.match(r"(?:\S*/bin/)?(geotrain-bench .*)", call.partition("  #")[0])
        if found:
            yield found[1]


@cache
def command_line() -> dict[str, Any]:
    group: Any = typer.main.get_command(app)
    return dict(group.commands)


def options_of(command: str) -> set[str]:
    return {"--help", *(word for param in command_line()[command].params for word in param.opts)}


def tracked() -> list[Path]:
    """Files of the project, without what was installed or cached."""
    rooms = ("instances", "solvers", "bench", "scripts", "tests", "docs", "results", ".ci", ".github")
    inside = [path for room in rooms for path in (ROOT / room).rglob("*") if "__pycache__" not in path.parts]
    return [path for path in [*inside, *ROOT.glob("*")] if path.is_file()]


@cache
def file_names() -> set[str]:
    return {path.name for path in tracked()}


@cache
def words_of_the_sources() -> set[str]:
    sources = [
        path
        for path in tracked()
        if path.suffix in (".py", ".toml", ".csv", ".jsonl", ".j2") or path.name == "Makefile"
    ]
    sources = [path for path in sources if path.name not in ("test_docs.py",)]
    return {word for path in sources for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def defines(path: Path, name: str) -> bool:
    """Whether a module has a function, class, constant or, after a dot, a member of a class."""
    body: list[ast.stmt] = tree_of(path).body
    for part in name.split("."):
        found = next((node for node in body if part in _names(node)), None)
        if found is None:
            return False
        body = found.body if isinstance(found, ast.ClassDef) else []
    return True


def _names(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {leaf.id for target in targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name)}


def importable(name: str) -> bool:
    """Whether a dotted name leads to a module or to something in one."""
    head, *rest = name.split(".")
    thing = importlib.import_module(head)
    path = head
    for part in rest:
        path += f".{part}"
        if not hasattr(thing, part):
            try:
                importlib.import_module(path)
            except ModuleNotFoundError:
                return False
        thing = getattr(thing, part)
    return True


def unknown_call(call: str) -> str | None:
    """What is wrong with a call of the command line, if anything."""
    words = shlex.split(call)[1:]
    if words[0] not in command_line():
        return f"{call!r}: there is no such command"
    known = options_of(words[0])
    wrong = [word for word in words if word.startswith("--") and word not in known]
    return f"{call!r}: {words[0]} has no {wrong[0]}" if wrong else None


def unknown_span(span: str) -> str | None:
    """What is wrong with something in backticks, if anything."""
    path = PATH.fullmatch(span)
    if path and not span.startswith(MADE):
        file = ROOT / path["path"]
        if not file.exists() and ("/" in path["path"] or path["path"] not in file_names()):
            return f"{span!r}: there is no such file"
        if path["name"] and not defines(file, path["name"]):
            return f"{span!r}: the file has no {path['name']}"
    elif MODULE.fullmatch(span):
        if not importable(span):
            return f"{span!r}: cannot be imported"
    elif span.startswith("--"):
        option = re.split(r"[ =]", span)[0]
        if not any(option in options_of(command) for command in command_line()):
            return f"{span!r}: no command has it"
    elif span.startswith("make "):
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        wrong = [word for word in span.split()[1:] if word not in targets]
        return f"{span!r}: there is no target {wrong[0]}" if wrong else None
    elif re.fullmatch(r"[\w=.-]+", span):
        wrong = [word for word in WORD.findall(span) if word not in words_of_the_sources()]
        return f"{span!r}: {wrong[0]} occurs nowhere in the sources" if wrong else None
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    calls = [unknown_call(call) for call in commands(text) if "|" not in call.split()[1]]
    assert [found for found in [*map(unknown_span, spans(text)), *calls] if found] == []


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)]+)\)", prose(page.read_text(encoding="utf-8"))):
        if link.startswith("https://"):
            continue
        target, _, anchor = link.partition("#")
        file = page.parent / target if target else page
        assert file.exists(), link
        assert not anchor or anchor in anchors(file), link


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize(
    ("span", "fine"),
    [
        ("instances/plan.py:Plan.stages", True),
        ("instances/plan.py:Plan.depth", False),
        ("instances/plans.py", False),
        ("instances/objective.py:CAP_SLACK", True),
        ("solvers.core.registry.make_solver", True),
        ("solvers.core.registry.make_planner", False),
        ("--time-limit", True),
        ("--time-limits", False),
        ("make readme", True),
        ("make coffee", False),
        ("default_evaluations", True),
        ("boredom_of_cats", False),
    ],
)
def test_a_name_that_does_not_exist_is_noticed(span: str, fine: bool) -> None:
    assert (unknown_span(span) is None) == fine


def test_a_call_that_does_not_exist_is_noticed() -> None:
    calls = list(commands("text `geotrain-bench solve x --solver y`\n\n    geotrain-bench fly --high  # comment\n"))
    assert [unknown_call(call) is None for call in calls] == [True, False]


def test_the_model_has_the_sections_that_the_sources_cite() -> None:
    titles = re.findall(r"^##+ (.+)$", (ROOT / "docs" / "model.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert titles[: len(SECTIONS)] == SECTIONS
    for path in (path for path in tracked() if path.suffix == ".py" and path.name != "test_docs.py"):
        for cited in re.findall(r"docs/model\.md, ([A-Z][\w-]*(?: [a-z]+)*)", path.read_text(encoding="utf-8")):
            assert any(cited.startswith(title) for title in titles), f"{path}: {cited}"


def test_every_solver_and_option_is_documented_with_its_default() -> None:
    text = (ROOT / "docs" / "solvers.md").read_text(encoding="utf-8")
    documented: dict[str, dict[str, str]] = {}
    names: list[str] = []
    for line in text.splitlines():
        if line.startswith("## `"):
            names = re.findall(r"`(\w+)`", line)
        elif re.match(r"`\w+` \(`solvers/", line):  # the tables of two solvers under one heading
            names = re.findall(r"^`(\w+)`", line)
        row = re.match(r"\| `(\w+)` \| (\S+) \|", line)
        for name in names:
            documented.setdefault(name, {})
            if row:
                documented[name][row[1]] = row[2]
    expected = {
        name: {
            field.name: (str(field.default) or "none").replace("True", "true").replace("False", "false")
            for field in fields(solver)
        }
        for name, solver in solver_types().items()
    }
    assert documented == expected


def test_the_table_of_solvers_says_what_they_say() -> None:
    text = (ROOT / "docs" / "solvers.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \| (\w+) \| (\w+) \| (\w+) \|$", text, re.MULTILINE)
    yes = {True: "yes", False: "no"}
    seed = {(True, False): "yes", (False, True): "library", (False, False): "no"}
    assert {name: tuple(rest) for name, *rest in rows} == {
        name: (solver.proves.value, seed[solver.random, solver.takes_seed], yes[solver.fronts], yes[solver.takes_start])
        for name, solver in solver_types().items()
    }


def tour() -> list[str]:
    """The code cells of the notebook."""
    notebook = json.loads((ROOT / "docs" / "tour.ipynb").read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_the_tour_has_ten_cells_and_calls_what_there_is() -> None:
    cells = tour()
    assert len(cells) == 10
    calls = [
        node.attr
        for cell in cells
        for node in ast.walk(ast.parse(cell))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "gb"
    ]
    assert set(calls) <= set(geotrain_bench.__all__)
    assert {"generate", "solve", "compare", "draw"} <= set(calls)


@pytest.mark.wide
def test_the_tour_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    names: dict[str, Any] = {}
    for number, cell in enumerate(tour()):
        exec(compile(cell, f"cell {number}", "exec"), names)
    assert names["proof"].status == "optimal"
    assert names["memetic"].value <= names["launch"].value
    assert names["rest"].value >= names["proof"].value


FORMATS = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
MODELS = re.findall(r"^### .*\(`([\w/]+)\.py:(\w+)`\)$", FORMATS, re.MULTILINE)


def examples(kind: str) -> list[str]:
    """The examples of the page on formats, `json` or `toml`, in order."""
    return re.findall(rf"^```{kind}\n(.*?)^```", FORMATS, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(("module", "name"), MODELS)
def test_every_field_of_a_format_is_documented(module: str, name: str) -> None:
    model = getattr(importlib.import_module(module.replace("/", ".")), name)
    section = FORMATS.partition(f"`{module}.py:{name}`)\n")[2].partition("\n#")[0]
    rows = {row[0]: row[1] for row in re.findall(r"^\| `(\w+)` \| [^|]* \| ([^|]*) \|", section, re.MULTILINE)}
    fields_of = {field.alias or key: field for key, field in model.model_fields.items()}
    assert set(rows) == set(fields_of)
    for key, field in fields_of.items():
        assert (rows[key] == "required") == field.is_required(), key


def test_the_example_of_an_instance_and_of_its_plan_are_read() -> None:
    instance = instance_from_json(json.loads(examples("json")[0]), "example")
    plan = plan_from_json(json.loads(examples("json")[1]), instance, "example")
    assert violations(instance, plan) == []
    front = model_from_json(FrontFile, json.loads(examples("json")[2]), "example")
    assert [violations(instance, plan_of(point.plan, instance, "example")) for point in front.points] == [[]]
    given = {key for group in instance.groups for key in group.model_fields_set}
    assert given == set(type(instance.groups[0]).model_fields), "the example shows every field"
    assert instance.sites
    assert instance.network.energy_per_byte


def test_the_example_of_a_suite_is_read(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(examples("toml")[0], encoding="utf-8")
    (tmp_path / "pools").mkdir()
    write_instance(tmp_path / "pools" / "a.json", instance_from_json(json.loads(examples("json")[0]), "example"))
    suite, folder = read_suite(str(tmp_path / "mine.toml"))
    tasks = tasks_of(suite, folder, "mine")
    assert {task.solver for task in tasks} == {"megatron", "memetic", "cpsat"}
    # Two sizes and two scenarios with two objectives, and one file with one; three seeds of the random solver.
    assert len(tasks) == 9 * (1 + 3 + 1)


def test_the_examples_of_a_run_folder_are_read_and_hold(tmp_path: Path) -> None:
    *_, asked, record = examples("json")
    instance = instance_from_json(json.loads(HAND.read_text(encoding="utf-8")), "hand")
    (tmp_path / "instances").mkdir()
    write_instance(tmp_path / "instances" / f"{instance.name}.json", instance)
    (tmp_path / "suite.json").write_text(asked, encoding="utf-8")
    (tmp_path / "runs.jsonl").write_text(json.dumps(json.loads(record)) + "\n", encoding="utf-8")
    assert verify_folder(tmp_path, None).findings == []
    (found,) = Store(tmp_path).records()
    assert found.key == found.run_key == Store(tmp_path).asked().runs[0].key


def test_an_entry_of_the_best_known_values_has_the_documented_fields() -> None:
    line = (ROOT / "results" / "best_known.jsonl").read_text(encoding="utf-8").splitlines()[0]
    assert ("bench/records/best_known", "BestKnown") in MODELS
    assert all(f"| `{key}` |" in FORMATS for key in json.loads(line))
