"""`import` on the command line: the template's files become an instance, and every slip is one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from instances.files import read_instance
from tests.bench.test_cli import Call, call  # noqa: F401 - a fixture


def test_the_template_becomes_an_instance_that_has_plans(tmp_path: Path, call: Call) -> None:  # noqa: F811
    folder, out = tmp_path / "files", tmp_path / "pool.json"
    assert "geotrain-bench import --gpus" in call("import", "--template", folder).out
    words = ("--gpus", folder / "gpus.csv", "--links", folder / "links.csv", "--model", folder / "config.json")
    done = call("import", *words, "--sequence", 4096, "--batch", 256, "--out", out, "--explain")
    assert done.code == 0, done.err
    assert "8,029,995,008 parameters" in done.out
    instance = read_instance(out)
    assert (instance.gpus, instance.name, instance.model.sequence) == (20, "pool", 4096)
    solved = call("solve", out, "--solver", "contiguous", "--json")
    assert solved.json["status"] == "feasible"


def test_the_commands_of_the_readme_lead_to_a_plan(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: Call,  # noqa: F811
) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    line = next(line.strip() for line in readme.splitlines() if "import --gpus" in line)
    call("import", "--template", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert call(*line.split()[1:]).code == 0
    assert call("solve", "mine.json", "--solver", "contiguous", "--json").json["status"] == "feasible"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "--gpus: is missing; --template DIR"),
        (("--gpus", "nowhere.csv", "--links", "l.csv", "--model", "gpt2-medium"), "nowhere.csv: cannot be read"),
        (("--gpus", "gpus.csv", "--links", "links.csv", "--model", "gpt-9"), "model 'gpt-9': is no file"),
        (("--gpus", "gpus.csv", "--links", "links.csv", "--model", "gpt2-medium", "--reserve", "x"), "--reserve 'x'"),
        (("--gpus", "gpus.csv", "--links", "links.csv", "--model", "gpt2-medium", "--recompute", "x"), "--recompute"),
        (
            ("--gpus", "gpus.csv", "--links", "links.csv", "--model", "gpt2-medium", "--micro-batches", "1,1"),
            "--micro-batches '1,1'",
        ),
        (("--gpus", "gpus.csv", "--links", "links.csv", "--model", "gpt2-medium", "--out", "."), "cannot be written"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: Call,  # noqa: F811
    words: tuple[str, ...],
    complaint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    call("import", "--template", ".")
    done = call("import", *words)
    assert done.code == 2
    assert complaint in done.complaint
