"""`plan`: the recommendation is that of the solvers, its words are true of it, and what-ifs change what they say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.planning.reasons import in_words
from bench.planning.recommend import Recommendation, recommend
from bench.planning.what_ifs import variants, what_ifs
from instances.files import read_plan, write_instance
from instances.generator.family import generate
from instances.instance import Instance
from instances.plan import gpu_name
from instances.referee.evaluate import evaluate
from solvers.core.interface import Status
from tests.bench.test_cli import Call, call, command  # noqa: F401 - a fixture
from tests.random_instances import random_instance

POOL = generate("campus", 5, 0, {})


@pytest.fixture(scope="module")
def found() -> Recommendation:
    return recommend(POOL, "time", 20)


def test_a_small_pool_is_proven(found: Recommendation) -> None:
    assert found.answer.status is Status.OPTIMAL
    assert set(found.baselines) == {"megatron", "dtfm"}
    assert all(found.answer.value <= other.value for other in found.baselines.values())
    assert "proven optimal" in in_words(found)[-1]


def test_words_hold_the_figures_of_the_referee(found: Recommendation) -> None:
    plan = found.plan
    assert plan is not None
    cost = evaluate(POOL, plan)
    text = " ".join(in_words(found))
    used = plan.replicas * plan.stages
    assert f"uses {used} of {POOL.gpus} GPUs" in text
    assert f"{100 * cost.steady_s / cost.time_s:.0f} % is waiting for the slowest step" in text
    slowest = plan.pipelines[cost.slowest.number][cost.slowest.slowest_forward.stage]
    assert gpu_name(POOL, slowest) in text
    spare = {group.name for k, group in enumerate(POOL.groups) if plan_uses(plan, k) < group.count}
    assert all(name in text for name in spare)
    assert text.count("Left out") == len(spare)


def plan_uses(plan: object, group: int) -> int:
    return sum(gpu.group == group for row in plan.pipelines for gpu in row)  # type: ignore[attr-defined]


def test_a_bound_is_told_where_the_proof_is_missing(found: Recommendation) -> None:
    half = found.answer.model_copy(update={"status": Status.FEASIBLE, "gap": 0.125})
    assert in_words(replace(found, answer=half))[-1].startswith("No plan is more than 12.50 % better")


def without_room() -> Instance:
    groups = tuple(group.model_copy(update={"memory": 1e6}) for group in POOL.groups)
    return POOL.model_copy(update={"groups": groups})


def test_where_there_is_no_plan_the_limit_is_named() -> None:
    words = in_words(recommend(without_room(), "time", 5))
    assert len(words) == 1
    assert words[0].startswith("No plan: infeasible.")
    assert "needs" in words[0]
    assert "has" in words[0]


@pytest.mark.parametrize("seed", range(20))
def test_variants_are_what_they_say(seed: int) -> None:
    instance = random_instance(seed)
    for change, variant in variants(instance):
        if change.startswith("without "):
            assert change.removeprefix("without ") not in {group.region for group in variant.groups}
        elif change.startswith("links"):
            pairs = zip(instance.network.bandwidth, variant.network.bandwidth, strict=True)
            assert all(b == (None if a is None else 2 * a) for x, y in pairs for a, b in zip(x, y, strict=True))
        elif change.startswith("global batch"):
            assert 2 * variant.training.global_batch == instance.training.global_batch
        else:
            assert variant.training.recompute == change.removeprefix("recompute ")
        assert variant.content_hash != instance.content_hash


def test_what_ifs_stand_beside_the_plan_as_it_is(found: Recommendation) -> None:
    rows = what_ifs(POOL, found.answer, "time", 0.3)
    assert [row.change for row in rows] == ["as it is", *(change for change, _ in variants(POOL))]
    count = POOL.training.global_batch * POOL.model.sequence
    assert rows[0].tokens_per_s == pytest.approx(count / found.answer.time_s)
    faster = next(row for row in rows if row.change.startswith("links"))
    assert faster.more_tokens is not None
    assert faster.more_tokens >= -1e-9


def test_the_command_writes_plan_picture_and_words(tmp_path: Path, call: Call) -> None:  # noqa: F811
    pool, folder = tmp_path / "pool.json", tmp_path / "made" / "here"
    write_instance(pool, POOL)
    done = call("plan", str(pool), "--time-limit", "10", "--what-if", "0.2", "--out", str(folder), "--json")
    assert done.code == 0, done.err
    plan = read_plan(folder / "plan.json", POOL)
    assert evaluate(POOL, plan).time_s == pytest.approx(done.json["answer"]["time_s"])
    text = (folder / "plan.md").read_text(encoding="utf-8")
    assert all(line in text for line in done.json["words"])
    assert (folder / "plan.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--objective", "front"), "--objective front"),
        (("--time-limit", "-1"), "must be 0 or more"),
        (("--without", "nowhere"), "there is no 'nowhere'"),
        (("--out", "pool.json"), "cannot be written"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: Call,  # noqa: F811
    words: tuple[str, str],
    complaint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_instance("pool.json", POOL)
    done = call("plan", "pool.json", *words)
    assert done.code == 2
    assert complaint in done.complaint
