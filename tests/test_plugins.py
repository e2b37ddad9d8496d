"""The examples of docs/plugins.md and README.md as printed: taken out of the page, installed, and checked."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bench.runs.store import Store
from instances.files import write_instance
from instances.generator.family import generate

ROOT = Path(__file__).parent.parent
PLUGINS = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"<!-- example: (?P<name>\S+) -->\n(?P<code>(?:    .*\n|\n)+)")
EXAMPLES = {
    match["name"]: "\n".join(line[4:] for line in match["code"].rstrip().split("\n")) + "\n"
    for match in EXAMPLE.finditer(PLUGINS)
}
# The awk example ends where the command begins.
EXAMPLES["planner.awk"] = EXAMPLES["planner.awk"].partition("\ngeotrain-bench ")[0].rstrip() + "\n"
for name in ("my_planner.py", "my_pools.py"):
    EXAMPLES[name] = re.split(r"\n(?:pip|geotrain-bench) ", EXAMPLES[name])[0].rstrip() + "\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the package of the page is installed."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    for name in ("pyproject.toml", "my_planner.py", "my_pools.py"):
        (source / name).write_text(EXAMPLES[name], encoding="utf-8")
    words = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(target)]
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *words, str(source)]
    subprocess.run(command, check=True, timeout=120)
    return target


def command(*words: str, site: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """The command line with one more folder of packages."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(site)])}
    program = [sys.executable, "-m", "bench.cli.app", *words]
    return subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


def test_examples_are_short() -> None:
    assert {"planner.awk", "pyproject.toml", "my_planner.py", "my_pools.py"} <= set(EXAMPLES)
    assert all(len(code.splitlines()) <= 40 for code in EXAMPLES.values())
    assert len(EXAMPLES["planner.awk"].splitlines()) < 30


def test_a_solver_of_a_package_is_listed_and_keeps_the_contract(installed: Path, tmp_path: Path) -> None:
    listed = command("solvers", site=installed, folder=tmp_path)
    assert "shuffle" in listed.stdout
    assert "(my-planner 1.0)" in listed.stdout
    checked = command("check-solver", "shuffle", "--json", site=installed, folder=tmp_path)
    assert checked.returncode == 0, checked.stdout
    assert json.loads(checked.stdout)["broken"] == 0


def test_a_family_of_a_package_makes_instances_and_keeps_the_contract(installed: Path, tmp_path: Path) -> None:
    checked = command("check-family", "twins", site=installed, folder=tmp_path)
    assert checked.returncode == 0, checked.stdout
    made = command("generate", "twins", "--gpus", "6", "--out", "pool.json", site=installed, folder=tmp_path)
    assert made.returncode == 0, made.stderr
    content = json.loads((tmp_path / "pool.json").read_text(encoding="utf-8"))
    assert content["provenance"]["package"] == "my-planner 1.0"
    assert sum(group["count"] for group in content["groups"]) == 6


def test_suites_records_and_verify_know_the_package(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "suite.toml").write_text(
        'name = "mine"\nsummary = "x"\nseeds = [0, 1]\n[[instances]]\nfamily = "twins"\ngpus = [4]\n'
        '[[solvers]]\nname = "megatron"\n[[solvers]]\nname = "shuffle"\noptions.tries = 50\n',
        encoding="utf-8",
    )
    done = command("run", "suite.toml", "--out", "out", site=installed, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    records = {record.solver: record for record in Store(tmp_path / "out").records()}
    assert records["shuffle"].versions["my-planner"] == "1.0"
    assert records["shuffle"].status == "feasible"
    assert "my-planner" not in records["megatron"].versions
    assert records["shuffle"].code != records["megatron"].code
    assert command("verify", "out", site=installed, folder=tmp_path).returncode == 0
    # Another code of the package is another code of the runs.
    site = tmp_path / "site"
    shutil.copytree(installed, site)
    module = site / "my_planner.py"
    module.write_text(module.read_text(encoding="utf-8").replace("draw.choice(grids)", "grids[0]"), encoding="utf-8")
    again = command("run", "suite.toml", "--out", "out", site=site, folder=tmp_path)
    assert again.returncode == 2
    assert "shuffle" in again.stderr


def test_a_broken_package_is_named_and_harms_nobody(installed: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    shutil.copytree(installed, site)
    (site / "my_planner.py").write_text("import nothing_of_that_name\n", encoding="utf-8")
    done = command("solvers", site=site, folder=tmp_path)
    assert done.returncode == 0
    assert "megatron" in done.stdout
    assert "shuffle" not in done.stdout
    (line,) = done.stderr.splitlines()
    assert "my-planner 1.0: geotrain_bench.solvers: shuffle: left out: ModuleNotFoundError" in line


def test_a_package_may_not_take_a_name_of_ours(installed: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    shutil.copytree(installed, site)
    module = site / "my_planner.py"
    module.write_text(module.read_text(encoding="utf-8").replace('= "shuffle"', '= "memetic"'), encoding="utf-8")
    done = command("solvers", site=site, folder=tmp_path)
    assert done.returncode == 0
    assert "two solvers are called memetic: solvers.memetic" in done.stderr
    assert "my_planner.Shuffle" in done.stderr


@pytest.mark.skipif(shutil.which("awk") is None, reason="awk is missing: the example in awk is NOT tested")
def test_the_planner_in_awk_plans(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "planner.awk").write_text(EXAMPLES["planner.awk"], encoding="utf-8")
    write_instance(tmp_path / "pool.json", generate("cloud", 6, 1, {}))
    option = "command=awk -v plan={plan} -f planner.awk {instance}"
    assert option.removeprefix("command=") in PLUGINS
    words = ("solve", "pool.json", "--solver", "exec", "--option", option, "--json")
    done = command(*words, site=installed, folder=tmp_path)
    assert done.returncode == 0, done.stdout
    answer = json.loads(done.stdout)
    assert answer["status"] == "feasible"
    assert sum(answer["plan"]["layers"]) == 24
    assert answer["evaluations"] == 1
