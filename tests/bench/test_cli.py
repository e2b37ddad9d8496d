"""The command line: keys, exit statuses, one JSON object on standard output and one line for what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from bench.cli.app import main
from bench.runs.isolated import Ending, Termination
from instances.files import instance_to_json, write_instance
from instances.instance import Instance
from solvers.core import registry
from solvers.core.interface import Outcome, Status
from tests.bench.folders import FAST, GOOD, NOTHING, POOR, folder_with, task
from tests.bench.misbehaving import SOLVERS
from tests.cases import DATA
from tests.editing import HAND, HAND_PLAN, edited, hand_instance

INSTANCE, PLAN = str(DATA / "hand-instance.json"), str(DATA / "hand-plan.json")
ROOT = Path(__file__).parent.parent.parent


class Answer(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one object on standard output."""
        decoded = json.loads(self.out)
        assert isinstance(decoded, dict)
        return decoded

    @property
    def complaint(self) -> str:
        """The one line on standard error, with nothing on standard output."""
        assert self.out == ""
        assert "Traceback" not in self.err
        (line,) = self.err.splitlines()
        assert line.startswith("geotrain-bench: ")
        return line.removeprefix("geotrain-bench: ")


Call = Callable[..., Answer]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Calls the command line in this process."""

    def run(*words: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["geotrain-bench", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Answer(ended.value.code, out, err)

    return run


@pytest.fixture
def misbehaving(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the solvers of `tests.bench.misbehaving` answer in this process."""

    def solve(name: str, options: object, problem: Any, budget: Any, *_: object) -> Ending:
        from solvers.core.interface import Monitor

        try:
            return Ending(SOLVERS[name]().solve(problem, budget, Monitor()), Termination.FINISHED, 0.1, 0.1, 0.1)
        except Exception as error:  # noqa: BLE001
            return Ending(Outcome(Status.ERROR), Termination.CRASHED, 0.1, None, 0.1, str(error))

    for name, kind in SOLVERS.items():
        monkeypatch.setitem(registry._FOUND, name, kind)
    monkeypatch.setattr("bench.runs.solve.IsolatedRun", lambda *asked: SimpleNamespace(wait=lambda: solve(*asked)))


def file_with(folder: Path, data: object, name: str = "file.json") -> str:
    path = folder / name
    path.write_text(json.dumps(data))
    return str(path)


def saved(folder: Path, instance: Instance) -> str:
    write_instance(folder / "instance.json", instance)
    return str(folder / "instance.json")


def crowded(folder: Path) -> str:
    """An instance into which no plan fits."""
    return saved(folder, hand_instance(groups__0__memory=1, groups__1__memory=1))


def test_figures_in_another_unit_are_pointed_out_beside_the_answer(call: Call, tmp_path: Path) -> None:
    """An 80 GB GPU that is given 80 bytes is never used: not silently."""
    path = saved(tmp_path, hand_instance(groups__1__memory=80))
    suite = (
        'name = "s"\nsummary = "s"\ninstances = [{ files = ["instance.json"] }]\nsolvers = [{ name = "megatron" }]\n'
    )
    (tmp_path / "s.toml").write_text(suite)
    words = "groups[1].memory: 80 bytes is unlikely; if GB are meant, write 8e+10"
    for asked in (
        ("solve", path, "--solver", "megatron", "--json"),
        ("evaluate", path, PLAN, "--json"),
        ("simulate", path, PLAN, "--json"),
        ("describe", path, "--json"),
    ):
        answer = call(*asked)
        assert answer.json
        assert answer.err == f"{path}: warning: {words}\n"
    assert f"two-gpus-two-layers: warning: {words}" in call("run", tmp_path / "s.toml", "--out", tmp_path / "r").err


# evaluate


def test_evaluate_says_what_a_plan_costs(call: Call) -> None:
    answer = call("evaluate", INSTANCE, PLAN, "--json")
    assert (answer.code, answer.err) == (0, "")
    found = answer.json
    assert (found["feasible"], found["reason"]) == (True, None)
    assert (found["time_s"], found["energy_j"]) == (pytest.approx(3.9), pytest.approx(705))
    assert (found["fill_s"], found["steady_s"], found["sync_s"]) == (pytest.approx(1.8), pytest.approx(2.1), 0)
    assert found["pipeline_s"] == pytest.approx(3.9)
    assert found["network_energy_j"] == pytest.approx(12)
    assert found["tokens_per_s"] == pytest.approx(200 / 3.9)
    assert (found["stages"], found["replicas"], found["micro_batch_count"]) == (2, 1, 4)
    assert [share["gpu"] for share in found["gpus"]] == ["a/0", "b/0"]
    assert set(found["gpus"][0]) == {"gpu", "busy_s", "idle_s", "energy_j", "memory", "memory_capacity"}
    assert found["cost_model_version"] == 1
    assert found["instance_hash"] == hand_instance().content_hash


def test_evaluate_gives_both_orders_of_1f1b_beside_fill_drain(call: Call) -> None:
    found = call("evaluate", INSTANCE, PLAN, "--schedule", "1f1b", "--json").json
    assert [cost["schedule"] for cost in found["schedules"]] == ["gpipe", "1f1b", "1f1b-eager"]
    assert found["schedules"][0]["time_s"] == pytest.approx(found["time_s"], rel=1e-9)
    assert [cost["in_flight"] for cost in found["schedules"]] == [[4, 4], [2, 1], [2, 1]]
    assert "schedules" not in call("evaluate", INSTANCE, PLAN, "--json").json
    assert "1f1b-eager" in call("evaluate", INSTANCE, PLAN, "--schedule", "1f1b").out
    answer = call("evaluate", INSTANCE, PLAN, "--schedule", "zero-bubble")
    assert (answer.code, answer.complaint) == (2, "--schedule zero-bubble: unknown; expected gpipe or 1f1b")


def test_evaluate_prints_the_same_for_people(call: Call) -> None:
    answer = call("evaluate", INSTANCE, PLAN)
    assert answer.code == 0
    for words in ("two-gpus-two-layers", "3.90000 s", "705.000 J", "busy [s]", "a/0", "71.00 %"):
        assert words in answer.out


def test_evaluate_of_an_infeasible_plan_is_no_with_a_reason_and_without_figures(call: Call, tmp_path: Path) -> None:
    plan = file_with(tmp_path, edited(HAND_PLAN, {"layers": [0, 2]}))
    answer = call("evaluate", INSTANCE, plan, "--json")
    assert answer.code == 1
    found = answer.json
    assert (found["feasible"], found["reason"]) == (False, "stage 0 has no layers")
    for key in ("time_s", "energy_j", "fill_s", "steady_s", "sync_s", "pipeline_s", "network_energy_j", "tokens_per_s"):
        assert found[key] is None
    assert found["gpus"] == []
    text = call("evaluate", INSTANCE, plan)
    assert (text.code, text.out.strip()) == (1, "infeasible: stage 0 has no layers")


@pytest.mark.parametrize("json_flag", [[], ["--json"]])
def test_evaluate_of_bad_input_is_one_line_that_names_the_file(
    call: Call, tmp_path: Path, json_flag: list[str]
) -> None:
    bad = file_with(tmp_path, edited(HAND, {"groups.0.flops": -1}))
    answer = call("evaluate", bad, PLAN, *json_flag)
    assert (answer.code, answer.complaint) == (2, f"{bad}: groups[0].flops: must be at least 1e-30, found -1")
    unknown = file_with(tmp_path, edited(HAND_PLAN, {"pipelines": [["a/0", "z/0"]]}))
    answer = call("evaluate", INSTANCE, unknown, *json_flag)
    assert (answer.code, answer.complaint) == (
        2,
        f"{unknown}: pipelines: unknown GPU 'z/0' of instance two-gpus-two-layers",
    )
    missing = call("evaluate", INSTANCE, tmp_path / "none.json", *json_flag)
    assert (missing.code, missing.complaint) == (
        2,
        f"{tmp_path / 'none.json'}: cannot be read: No such file or directory",
    )


# simulate, sensitivity


def test_simulate_agrees_with_the_referee_and_says_so(call: Call, tmp_path: Path) -> None:
    trace, picture = tmp_path / "trace.json", tmp_path / "line.svg"
    answer = call("simulate", INSTANCE, PLAN, "--trace", trace, "--picture", picture, "--json")
    assert (answer.code, answer.err) == (0, "")
    (row,) = answer.json["plans"]
    assert (row["time_s"], row["energy_j"]) == (pytest.approx(3.9), pytest.approx(705))
    assert (row["referee_time_s"], row["referee_energy_j"]) == (pytest.approx(3.9), pytest.approx(705))
    assert json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    assert "<svg" in picture.read_text(encoding="utf-8")
    assert "3.90000 s" in call("simulate", INSTANCE, PLAN).out


def test_simulate_ranks_several_plans_under_jitter(call: Call, tmp_path: Path) -> None:
    other = file_with(tmp_path, {**HAND_PLAN, "layers": [2], "pipelines": [["a/0"], ["b/0"]]})
    words = ("simulate", INSTANCE, PLAN, other, "--jitter", 0.1, 0.2, 0.3, "--draws", 20)
    answer = call(*words, "--json").json
    assert sum(row["fastest_in"] for row in answer["plans"]) == 20
    assert list(answer["plans"][0]["quantiles_s"]) == ["0.05", "0.5", "0.95"]
    assert 0 <= answer["pairs_in_order"] <= 1
    assert "of 20 draws" in call(*words).out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--schedule", "zero-bubble"), "--schedule zero-bubble: unknown; expected one of gpipe, 1f1b, 1f1b-eager"),
        (("--uplink", "0"), "--uplink 0: must be above 0"),
        (("--jitter", "0.1", "9", "0"), "--jitter 0.1 9 0: spreads are from 0 to 3"),
        (("--picture", "a.txt"), "a.txt: a picture is a .png, .svg or .pdf file"),
        ((PLAN, "--trace", "a.json"), "--trace and --picture: show one plan, here are several"),
    ],
)
def test_simulate_refuses_what_it_cannot_do(call: Call, words: tuple[str, ...], complaint: str) -> None:
    answer = call("simulate", INSTANCE, PLAN, *words)
    assert (answer.code, answer.complaint) == (2, complaint)


def test_simulate_of_an_infeasible_plan_is_no_with_a_reason(call: Call, tmp_path: Path) -> None:
    plan = file_with(tmp_path, edited(HAND_PLAN, {"layers": [0, 2]}))
    answer = call("simulate", INSTANCE, plan)
    assert (answer.code, answer.out) == (1, f"{plan}: infeasible: stage 0 has no layers\n")


def test_sensitivity_tells_of_a_folder(call: Call, tmp_path: Path) -> None:
    folder_with(tmp_path, [(task(), GOOD), (task("random"), POOR)])
    found = call("sensitivity", tmp_path, "--draws", 2, "--json").json
    assert {row["solver"] for row in found["costs"]} == {"megatron", "random"}
    assert len(found["ranks"]) == 5
    assert "same best solver" in call("sensitivity", tmp_path, "--draws", 2).out
    answer = call("sensitivity", tmp_path / "none")
    assert (answer.code, answer.complaint.partition(": ")[2]) == (2, "holds no run of a suite (there is no suite.json)")


def test_fidelity_scores_each_source(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The five networks take most of a minute.
    monkeypatch.setattr("bench.studies.fidelity.dtfm_scenarios.measured", lambda: [])
    picture = tmp_path / "fidelity.svg"
    found = call("fidelity", "--picture", picture, "--json").json
    assert {"CrossPipe", "Perseus, time"} < {score["source"] for score in found["scores"]}
    assert len(found["rows"]) > 100
    assert "<svg" in picture.read_text(encoding="utf-8")
    assert "The worst rows:" in call("fidelity").out


# solve


def test_solve_writes_the_plan_that_it_found(call: Call, tmp_path: Path) -> None:
    out = tmp_path / "there" / "plan.json"
    answer = call("solve", INSTANCE, "--solver", "brute", "--json", "--out", out)
    assert answer.code == 0
    found = answer.json
    assert (found["solver"], found["status"], found["ended"], found["objective"]) == (
        "brute",
        "optimal",
        "finished",
        "time",
    )
    assert (found["value"], found["gap"]) == (pytest.approx(3.9), 0)
    assert found["bound"] == found["value"] == found["time_s"]
    assert found["energy_j"] == pytest.approx(705)
    assert found["plan"] == HAND_PLAN == json.loads(out.read_text())
    for key in ("wall_s", "evaluations", "seed", "trace"):
        assert found[key] is not None
    assert call("evaluate", INSTANCE, out, "--json").json["time_s"] == found["value"]


def test_solve_over_an_infeasible_instance_is_no_with_null_metrics(call: Call, tmp_path: Path) -> None:
    path, out = crowded(tmp_path), tmp_path / "plan.json"
    for solver, status in (("brute", "infeasible"), ("megatron", "unknown")):
        answer = call("solve", path, "--solver", solver, "--json", "--out", out)
        assert answer.code == 1
        found = answer.json
        assert found["status"] == status
        for key in ("value", "bound", "gap", "plan", "time_s", "energy_j", "front"):
            assert found[key] is None
        assert not out.exists()
        assert call("solve", path, "--solver", solver).code == 1


def test_solve_the_front(call: Call) -> None:
    found = call("solve", INSTANCE, "--solver", "brute", "--objective", "front", "--json").json
    assert (found["status"], found["value"], found["bound"], found["gap"]) == ("optimal", None, None, None)
    assert [set(point) for point in found["front"]] == [{"time_s", "energy_j", "plan"}]
    assert found["front"][0]["plan"] == HAND_PLAN


def test_solve_with_and_without_a_given_reference(call: Call) -> None:
    words = ["solve", INSTANCE, "--solver", "megatron", "--json", "--objective", "weighted:0.5"]
    assert call(*words).json["value"] == pytest.approx(1)
    given = call(*words, "--reference", "7.8", "1410").json
    assert given["value"] == pytest.approx(0.5 * 3.9 / 7.8 + 0.5 * 705 / 1410)
    assert given["reference"] == {"time_s": 7.8, "energy_j": 1410}


def test_a_cap_below_every_plan_is_infeasible(call: Call) -> None:
    answer = call("solve", INSTANCE, "--solver", "brute", "--objective", "energy@0.5x", "--json")
    assert (answer.code, answer.json["status"], answer.json["plan"]) == (1, "infeasible", None)


def test_solve_without_some_gpus_answers_in_the_names_of_the_whole(call: Call, tmp_path: Path) -> None:
    path = saved(tmp_path, hand_instance(groups__0__count=3, groups__0__memory=1e9))
    words = ["solve", path, "--solver", "brute", "--json"]
    found = call(*words, "--without", "a/0", "--without", "b").json
    used = {gpu for row in found["plan"]["pipelines"] for gpu in row}
    assert used <= {"a/1", "a/2"}
    plan = file_with(tmp_path, found["plan"])
    assert call("evaluate", path, plan, "--json").json["time_s"] == found["value"]
    front = call(*words, "--without", "a/0", "--without", "b", "--objective", "front").json["front"]
    assert {gpu for point in front for row in point["plan"]["pipelines"] for gpu in row} <= {"a/1", "a/2"}


BAD_CALLS: dict[str, tuple[list[str], str]] = {
    "unknown solver": (["--solver", "gurobi"], "unknown solver 'gurobi'"),
    "unknown objective": (["--solver", "brute", "--objective", "speed"], "objective 'speed': unknown; expected time"),
    "weight above one": (["--solver", "brute", "--objective", "weighted:2"], "the weight is a number from 0 to 1"),
    "no figure": (
        ["--solver", "brute", "--objective", "carbon"],
        "sites.west.carbon: missing; the objective",
    ),
    "no front": (["--solver", "megatron", "--objective", "front"], "solver megatron has no front"),
    "negative seconds": (["--solver", "brute", "--time-limit", "-1"], "--time-limit -1.0: must be 0 or more"),
    "seconds that are none": (["--solver", "brute", "--time-limit", "nan"], "--time-limit nan: must be 0 or more"),
    "negative evaluations": (["--solver", "brute", "--evaluations", "-1"], "--evaluations -1: must be 0 or more"),
    "negative seed": (["--solver", "brute", "--seed", "-1"], "--seed -1: must be 0 or more"),
    "no threads": (["--solver", "brute", "--threads", "0"], "--threads 0: must be 1 or more"),
    "reference of zero": (
        ["--solver", "brute", "--objective", "weighted:1", "--reference", "0", "1"],
        "--reference 0.0 1.0: both must be above 0",
    ),
    "unknown option": (["--solver", "brute", "--option", "x=1"], "solver brute: unknown option 'x'"),
    "no option": (["--solver", "brute", "--option", "x"], "--option 'x': is not KEY=VALUE"),
    "option twice": (["--solver", "brute", "--option", "x=1", "--option", "x=2"], "--option x: is given twice"),
    "no start": (["--solver", "brute", "--start", PLAN], "--start: solver brute takes no start plan"),
    "unknown GPU": (["--solver", "brute", "--without", "z"], "groups: there is no 'z' to leave out"),
    "nothing left": (["--solver", "brute", "--without", "a", "--without", "b"], "no GPU is left without a, b"),
    "no solver": ([], "--solver"),
    "a number as text": (["--solver", "brute", "--seed", "x"], "--seed"),
    "unknown flag": (["--solver", "brute", "--fast"], "--fast"),
}


@pytest.mark.parametrize(("words", "reason"), BAD_CALLS.values(), ids=BAD_CALLS)
def test_a_wrong_call_of_solve_is_one_line(call: Call, words: list[str], reason: str) -> None:
    answer = call("solve", INSTANCE, *words, "--json")
    assert answer.code == 2
    assert reason in answer.complaint


def test_a_weight_needs_a_reference_where_no_uniform_plan_fits(call: Call, tmp_path: Path) -> None:
    path = saved(tmp_path, hand_instance(groups__0__memory=1))  # listed first, so every uniform plan uses it
    answer = call("solve", path, "--solver", "brute", "--objective", "weighted:0.5")
    assert (answer.code, "give --reference T E" in answer.complaint) == (2, True)
    path = saved(tmp_path, hand_instance(groups__0__memory=1, groups__1__memory=1e9))
    assert call("solve", path, "--solver", "brute", "--objective", "weighted:0.5", "--reference", 1, 1).code == 0


@pytest.mark.usefixtures("misbehaving")
def test_a_start_plan_is_checked_and_passed_on(call: Call, tmp_path: Path) -> None:
    words = ["solve", INSTANCE, "--solver", "obedient", "--json"]
    assert call(*words, "--start", PLAN).json["value"] == pytest.approx(3.9)
    unfit = file_with(tmp_path, edited(HAND_PLAN, {"layers": [2, 0]}))
    answer = call(*words, "--start", unfit)
    assert (answer.code, answer.complaint) == (2, f"{unfit}: the start plan is infeasible: stage 1 has no layers")
    capped = call(*words, "--start", PLAN, "--objective", "energy@1")
    assert (capped.code, "the cap is 1.0 s" in capped.complaint) == (2, True)
    gone = call(*words, "--start", PLAN, "--without", "a")
    assert (gone.code, "uses a GPU that --without takes away" in gone.complaint) == (2, True)


@pytest.mark.usefixtures("misbehaving")
@pytest.mark.parametrize("solver", ["crashing", "careless", "contradicting"])
def test_a_solver_that_fails_is_a_failure_and_no_result(call: Call, tmp_path: Path, solver: str) -> None:
    answer = call("solve", INSTANCE, "--solver", solver, "--json", "--out", tmp_path / "plan.json")
    assert answer.code == 3
    assert (answer.json["status"], answer.json["plan"], answer.json["value"]) == ("error", None, None)
    assert answer.json["reason"]
    assert not (tmp_path / "plan.json").exists()


@pytest.mark.usefixtures("misbehaving")
def test_a_false_claim_of_optimality_is_not_passed_on(call: Call) -> None:
    answer = call("solve", INSTANCE, "--solver", "boasting", "--json")
    assert (answer.code, answer.json["status"]) == (0, "feasible")
    assert "claims optimality" in answer.json["reason"]


def test_an_interrupted_solve_gives_what_it_has(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    ending = Ending(Outcome(Status.FEASIBLE, FAST), Termination.INTERRUPTED, 1.0, None, 0.1, "interrupted")
    monkeypatch.setattr("bench.runs.solve.IsolatedRun", lambda *_: SimpleNamespace(wait=lambda: ending))
    answer = call("solve", INSTANCE, "--solver", "memetic", "--json")
    assert answer.code == 130
    assert (answer.json["status"], answer.json["ended"], answer.json["plan"]) == ("feasible", "interrupted", HAND_PLAN)


# the rest


@pytest.mark.parametrize("command", ["solvers", "families", "suites"])
def test_what_there_is_is_listed(call: Call, command: str) -> None:
    answer = call(command, "--json")
    assert answer.code == 0
    rows = answer.json[command]
    assert rows
    assert all(row["name"] and row["summary"] for row in rows)
    text = call(command)
    assert text.code == 0
    lines = text.out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [row["name"] for row in rows], "one line each"
    assert all(row["summary"] in line for row, line in zip(rows, lines[1:], strict=True))


def test_generate_gives_the_same_bytes_for_the_same_words(call: Call, tmp_path: Path) -> None:
    words = ["generate", "dtfm", "--gpus", "5", "--seed", "3", "--option", "gpu-mix=mixed", "--json", "--out"]
    first, second = tmp_path / "1.json", tmp_path / "2.json"
    answer = call(*words, first)
    assert (answer.code, answer.json["gpus"], answer.json["file"]) == (0, 5, str(first))
    assert call(*words, second).code == 0
    assert first.read_bytes() == second.read_bytes()
    assert call("solve", first, "--solver", "megatron", "--json").code == 0


@pytest.mark.parametrize(
    "words",
    [
        ["generate", "none", "--gpus", "4", "--out", "x.json"],
        ["generate", "dtfm", "--gpus", "0", "--out", "x.json"],
        ["generate", "dtfm", "--gpus", "4", "--option", "colour=red", "--out", "x.json"],
        ["generate", "dtfm", "--gpus", "4", "--option", "scenario=moon", "--out", "x.json"],
        ["generate", "dtfm", "--gpus", "4"],
        ["run", "none"],
        ["run", "none.toml"],
        ["run", "demo", "--jobs", "0"],
        ["run", "demo", "--fresh", "--keep"],
        ["report", "none"],
        ["nonsense"],
        ["evaluate"],
        ["evaluate", INSTANCE],
    ],
    ids=" ".join,
)
def test_a_wrong_call_is_one_line(
    call: Call, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = call(*words)
    assert answer.code == 2
    assert answer.complaint
    assert list(tmp_path.iterdir()) == []


def test_without_a_command_the_help_is_shown_and_the_call_is_wrong(call: Call) -> None:
    answer = call()
    assert answer.code == 2
    assert "solve" in answer.out + answer.err
    assert call("--help").code == 0


def test_a_report_over_an_infeasible_instance_builds(call: Call, tmp_path: Path) -> None:
    unfit = hand_instance(groups__0__memory=1, groups__1__memory=1)
    folder_with(tmp_path, [(task("megatron", instance=unfit), NOTHING), (task("brute", instance=unfit), NOTHING)])
    answer = call("report", tmp_path, "--json")
    assert answer.code == 0
    assert {row["status"] for row in answer.json["rows"]} == {"unknown"}
    assert all(row["value"] is None for row in answer.json["rows"])
    assert call("report", tmp_path).code == 0


def test_a_report_over_results_that_contradict_each_other_fails(call: Call, tmp_path: Path) -> None:
    wrong = Outcome(Status.UNKNOWN, bound=4.0)
    folder_with(tmp_path, [(task("megatron"), POOR), (task("bound"), wrong), (task("memetic"), GOOD)])
    answer = call("report", tmp_path)
    assert answer.code == 3
    assert answer.complaint.startswith("contradiction: ")


def test_our_own_mistake_is_one_line_and_a_failure(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("somewhere\ndeep")

    monkeypatch.setattr("instances.referee.check.check", broken)
    answer = call("evaluate", INSTANCE, PLAN)
    assert (answer.code, "ZeroDivisionError: somewhere deep" in answer.complaint) == (3, True)


def test_describe_says_what_a_problem_is_like(call: Call) -> None:
    answer = call("describe", INSTANCE, "--objective", "energy", "--json")
    assert answer.code == 0
    assert (answer.json["described"], answer.json["problems"], answer.json["with_a_plan"]) == (INSTANCE, 1, 1)
    assert [(row["objective"], row["stages"]) for row in answer.json["rows"]] == [("energy", 2)]
    assert "1 x 2" in call("describe", INSTANCE).out


# the installed command


def command(*words: str, folder: Path = ROOT) -> Answer:
    """The command as a user runs it."""
    program = str(Path(sys.executable).parent / "geotrain-bench")
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, timeout=120)
    return Answer(done.returncode, done.stdout, done.stderr)


@pytest.mark.end_to_end
def test_a_suite_is_run_and_reported_from_any_folder(tmp_path: Path) -> None:
    for name, memory in (("fits", 200_000), ("crowded", 1)):
        instance = hand_instance(name=name, groups__0__memory=memory, groups__1__memory=memory)
        (tmp_path / f"{name}.json").write_text(json.dumps(instance_to_json(instance)))
    (tmp_path / "suite.toml").write_text(
        'name = "mine"\nsummary = "x"\n[[instances]]\nfiles = ["*.json"]\n'
        '[[solvers]]\nname = "megatron"\n[[solvers]]\nname = "brute"\n'
    )
    ran = command("run", "suite.toml", "--out", "out", "--jobs", "2", "--json", folder=tmp_path)
    assert (ran.code, ran.json["asked"], ran.json["finished"], ran.json["failed"]) == (0, 4, 4, [])
    again = command("run", "suite.toml", "--out", "out", "--json", folder=tmp_path)
    assert (again.code, again.json["finished"]) == (0, 4)
    assert len((tmp_path / "out" / "runs.jsonl").read_text().splitlines()) == 4
    made = command("report", "out", "--json", folder=tmp_path)
    assert made.code == 0
    statuses = {(row["instance"], row["solver"]): row["status"] for row in made.json["rows"]}
    assert statuses == {
        ("fits", "megatron"): "feasible",
        ("fits", "brute"): "optimal",
        ("crowded", "megatron"): "unknown",
        ("crowded", "brute"): "infeasible",
    }
    assert Path(tmp_path / made.json["report"]).is_file()


@pytest.mark.end_to_end
def test_the_command_solves_refuses_and_says_no(tmp_path: Path) -> None:
    solved = command("solve", INSTANCE, "--solver", "brute", "--json", folder=tmp_path)
    assert (solved.code, solved.err, solved.json["status"]) == (0, "", "optimal")
    refused = command("solve", "none.json", "--solver", "brute", folder=tmp_path)
    assert (refused.code, refused.complaint) == (2, "none.json: cannot be read: No such file or directory")
    no = command("solve", crowded(tmp_path), "--solver", "brute", "--json", folder=tmp_path)
    assert (no.code, no.json["status"]) == (1, "infeasible")


@pytest.mark.end_to_end
def test_a_reader_that_goes_away_is_no_error() -> None:
    program = f"{Path(sys.executable).parent / 'geotrain-bench'} evaluate {INSTANCE} {PLAN} | true"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {program}"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_front_is_written_with_its_plans_and_one_of_them_is_costed(call: Call, tmp_path: Path) -> None:
    pool, out = tmp_path / "pool.json", tmp_path / "front.json"
    assert call("generate", "cloud", "--gpus", "4", "--out", pool).code == 0
    words = ["solve", pool, "--solver", "brute", "--objective", "front", "--json", "--out", out]
    found = call(*words).json["front"]
    written = json.loads(out.read_text())
    assert (written["schema"], written["points"]) == ("geotrain-bench/front/1", found)
    assert len(found) > 1
    for number, point in enumerate(found):
        costed = call("evaluate", pool, out, "--point", number, "--json").json
        assert (costed["time_s"], costed["energy_j"]) == (point["time_s"], point["energy_j"])
    last = len(found) - 1
    for words, reason in (
        (["evaluate", pool, out], f"{out}: is a front, not one plan; its points are 0 to {last} (`evaluate --point`)"),
        (
            ["evaluate", pool, out, "--point", last + 1],
            f"{out}: points: there is no point {last + 1}; its points are 0 to {last} (`evaluate --point`)",
        ),
        (["evaluate", INSTANCE, PLAN, "--point", 0], f"{PLAN}: is not a front, so it has no point 0"),
    ):
        answer = call(*words)
        assert (answer.code, answer.complaint) == (2, reason)


@pytest.mark.parametrize(
    ("objective", "unit"), [("time", "s"), ("energy", "J"), ("energy@100", "J"), ("carbon", "gCO2e"), ("cost", "USD")]
)
def test_values_are_shown_with_their_unit(call: Call, tmp_path: Path, objective: str, unit: str) -> None:
    sites = {region: {"carbon": 100, "price": 0.2} for region in {group["region"] for group in HAND["groups"]}}
    path = file_with(tmp_path, edited(HAND, {"sites": sites}))
    lines = call("solve", path, "--solver", "brute", "--objective", objective).out.splitlines()
    for name in ("value", "bound"):
        assert [line.split()[-1] for line in lines if line.split()[:1] == [name]] == [unit]


def test_an_answer_without_a_plan_says_that_no_file_is_written(call: Call, tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    answer = call("solve", crowded(tmp_path), "--solver", "brute", "--out", out)
    assert (answer.code, answer.err) == (1, f"{out}: not written, there is no plan\n")
