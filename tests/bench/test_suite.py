"""A suite as a user writes it: what it expands to, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.records.task import Task
from bench.runs.suite import read_suite, shipped, tasks_of
from instances.errors import InputError
from instances.files import write_instance
from tests.editing import hand_instance

HEAD = 'name = "mine"\nsummary = "for a test"\n'
INSTANCES = '[[instances]]\nfiles = ["*.json"]\n'
SOLVERS = '[[solvers]]\nname = "megatron"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two instances of two GPUs and one of three."""
    sites = {"west": {"carbon": 1, "price": 1}, "east": {"carbon": 1, "price": 1}}
    write_instance(tmp_path / "a.json", hand_instance(name="a", sites=sites))
    write_instance(tmp_path / "b.json", hand_instance(name="b", sites=sites, model__vocab=50))
    write_instance(tmp_path / "c.json", hand_instance(name="c", sites=sites, groups__0__count=2))
    return tmp_path


def tasks(folder: Path, text: str) -> list[Task]:
    (folder / "suite.toml").write_text(text)
    suite, base = read_suite(str(folder / "suite.toml"))
    return tasks_of(suite, base, "suite.toml")


def test_a_suite_is_instances_times_solvers_times_objectives_times_seeds(folder: Path) -> None:
    text = HEAD + 'objectives = ["time", "energy"]\nseeds = [0, 1, 2]\n' + INSTANCES + SOLVERS
    found = tasks(folder, text + '[[solvers]]\nname = "memetic"\n')
    # megatron has no chance in it and is run once, memetic once for each seed.
    assert len(found) == 3 * 2 * (1 + 3)
    assert len({task.key for task in found}) == len(found)
    assert {task.budget.seed for task in found if task.solver == "megatron"} == {0}
    assert {task.instance.name for task in found} == {"a", "b", "c"}


def test_a_solver_may_have_limits_sizes_seeds_and_objectives_of_its_own(folder: Path) -> None:
    text = HEAD + 'objectives = ["time", "energy"]\n[budget]\nseconds = 7\nthreads = 2\n' + INSTANCES + SOLVERS
    text += '[[solvers]]\nname = "memetic"\nevaluations = 100\nseeds = [4, 5]\nobjectives = ["cost"]\nmin_gpus = 3\n'
    found = [task for task in tasks(folder, text) if task.solver == "memetic"]
    assert [(task.instance.name, str(task.objective), task.budget.seed) for task in found] == [
        ("c", "cost", 4),
        ("c", "cost", 5),
    ]
    assert {(task.budget.seconds, task.budget.evaluations, task.budget.threads) for task in found} == {(7, 100, 2)}
    assert len(tasks(folder, HEAD + INSTANCES + SOLVERS + "max_gpus = 2\n")) == 2


def test_what_gives_its_seed_to_a_library_is_run_once_or_for_each_of_its_own_seeds(folder: Path) -> None:
    text = HEAD + "seeds = [0, 1, 2]\n" + INSTANCES + SOLVERS + '[[solvers]]\nname = "cpsat"\n'
    assert {task.budget.seed for task in tasks(folder, text) if task.solver == "cpsat"} == {0}
    assert [task.budget.seed for task in tasks(folder, text + "seeds = [4, 5]\n") if task.solver == "cpsat"] == [
        4,
        5,
    ] * 3
    # What takes no seed has no use for one.
    assert {task.budget.seed for task in tasks(folder, HEAD + INSTANCES + SOLVERS + "seeds = [4, 5]\n")} == {0}


def test_a_front_is_asked_only_of_those_that_have_one(folder: Path) -> None:
    text = HEAD + 'objectives = ["front", "time"]\n' + INSTANCES + SOLVERS + '[[solvers]]\nname = "brute"\n'
    found = tasks(folder, text)
    assert {(task.solver, str(task.objective)) for task in found} == {
        ("megatron", "time"),
        ("brute", "time"),
        ("brute", "front"),
    }


def test_an_objective_that_needs_a_reference_gets_the_uniform_plan(folder: Path) -> None:
    found = tasks(folder, HEAD + 'objectives = ["weighted:0.5", "time"]\n' + INSTANCES + SOLVERS)
    assert all(task.reference is not None for task in found if task.objective.kind == "weighted")


def test_the_same_run_written_twice_is_one_run(folder: Path) -> None:
    assert len(tasks(folder, HEAD + INSTANCES + INSTANCES + SOLVERS + SOLVERS)) == 3


def test_a_family_is_combined_over_its_options_sizes_and_seeds(folder: Path) -> None:
    family = '[[instances]]\nfamily = "dtfm"\ngpus = [4, 5]\nseeds = [0, 1]\n[instances.options]\n'
    found = tasks(folder, HEAD + family + 'scenario = ["spot", "worldwide"]\ngpu-mix = "mixed"\n' + SOLVERS)
    assert len(found) == 2 * 2 * 2
    assert sorted({task.instance.gpus for task in found}) == [4, 5]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("name = ", "is not valid TOML"),
        (INSTANCES + SOLVERS, "name: field required"),
        (HEAD + SOLVERS, "instances: field required"),
        (HEAD + INSTANCES, "solvers: field required"),
        (HEAD + "colour = 1\n" + INSTANCES + SOLVERS, "colour: unknown key"),
        (HEAD + "seeds = []\n" + INSTANCES + SOLVERS, "seeds: "),
        (HEAD + "seeds = [-1]\n" + INSTANCES + SOLVERS, "seeds[0]: must be at least 0, found -1"),
        (HEAD + "[budget]\nseconds = 0\n" + INSTANCES + SOLVERS, "budget.seconds: must be at least 1e-30, found 0"),
        (HEAD + "[budget]\nseconds = inf\n" + INSTANCES + SOLVERS, "budget.seconds: is infinite"),
        (HEAD + "[budget]\nseconds = nan\n" + INSTANCES + SOLVERS, "budget.seconds: is not a number"),
        (HEAD + "[budget]\nevaluations = 0\n" + INSTANCES + SOLVERS, "budget.evaluations: must be at least 1"),
        (HEAD + 'objectives = ["speed"]\n' + INSTANCES + SOLVERS, "objective 'speed': unknown; expected time"),
        (HEAD + INSTANCES + '[[solvers]]\nname = "gurobi"\n', "unknown solver 'gurobi'"),
        (HEAD + INSTANCES + SOLVERS + "[solvers.options]\nx = 1\n", "unknown option 'x'"),
        (HEAD + '[[instances]]\nfiles = ["none*.json"]\n' + SOLVERS, "nothing matches 'none*.json'"),
        (HEAD + '[[instances]]\nfamily = "none"\ngpus = [4]\n' + SOLVERS, "none"),
        (HEAD + '[[instances]]\nfamily = "dtfm"\n' + SOLVERS, "family dtfm needs gpus"),
        (HEAD + "[[instances]]\n" + SOLVERS, "give either family or files"),
        (HEAD + '[[instances]]\nfamily = "dtfm"\nfiles = ["a.json"]\ngpus = [4]\n' + SOLVERS, "either family or files"),
        (HEAD + '[[instances]]\nfiles = ["a.json"]\ngpus = [4]\n' + SOLVERS, "gpus, seeds and options go with family"),
        (HEAD + '[[instances]]\nfiles = ["a.json"]\nseeds = [4]\n' + SOLVERS, "gpus, seeds and options go with family"),
        (HEAD + '[[instances]]\nfiles = [""]\n' + SOLVERS, "instances: files: '' is not a valid pattern"),
        (HEAD + '[[instances]]\nfiles = ["**x/a"]\n' + SOLVERS, "files: '**x/a' is not a valid pattern"),
        (
            HEAD + '[[instances]]\nfamily = "cloud"\ngpus = [4]\noptions.model = []\n' + SOLVERS,
            "suite.toml: instances[0].options.model: must have at least 1 entry",
        ),
        (HEAD + INSTANCES + SOLVERS + "min_gpus = 99\n", "no solver of the suite takes any of its instances"),
        ('name = "a/b"\nsummary = ""\n' + INSTANCES + SOLVERS, "name: "),
    ],
)
def test_a_bad_suite_is_refused_in_one_line(folder: Path, text: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        tasks(folder, text)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_carbon_objective_is_refused_before_anything_runs(folder: Path) -> None:
    write_instance(folder / "d.json", hand_instance(name="d"))
    with pytest.raises(InputError, match=r"suite.toml: d: .*sites\.west\.carbon"):
        tasks(folder, HEAD + 'objectives = ["carbon"]\n' + INSTANCES + SOLVERS)


def test_two_instances_of_one_name_are_refused(folder: Path) -> None:
    write_instance(folder / "other.json", hand_instance(name="a"))
    with pytest.raises(InputError, match="two different instances are called a"):
        tasks(folder, HEAD + INSTANCES + SOLVERS)


def test_files_are_relative_to_the_suite(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert len(tasks(folder, HEAD + INSTANCES + SOLVERS)) == 3
    assert len(tasks(folder, HEAD + f'[[instances]]\nfiles = ["{folder / "a.json"}"]\n' + SOLVERS)) == 1


def test_an_unknown_suite_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(InputError, match=r"suite 'none': unknown; expected a .toml file or one of .*demo"):
        read_suite("none")
    with pytest.raises(InputError, match="cannot be read"):
        read_suite("none.toml")


@pytest.mark.parametrize("name", list(shipped()))
def test_a_shipped_suite_is_named_like_its_file_and_summed_up(name: str) -> None:
    suite, _ = read_suite(name)
    assert suite.name == name
    assert suite.summary
