"""Reads the recorded facts about DT-FM's scheduler that its tests compare with."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from solvers.dtfm.message_times import Matrix, MessageTimes

DATA = Path(__file__).parent.parent / "data"


class Problem(NamedTuple):
    """One partitioning problem; matrices (n, n) in s."""

    name: str
    stages: int
    replicas: int
    hop: Matrix
    exchange: Matrix
    whole_gradient: Matrix
    facts: dict[str, Any]


def load(name: str) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((DATA / name).read_text())
    return facts


def link_units(delay_ms: Any, bandwidth_gbps: Any) -> tuple[Matrix, Matrix]:
    """Convert DT-FM's units to latency in s and bandwidth in bytes/s (1 Gbit/s = 1.25e8 bytes/s)."""
    return np.asarray(delay_ms, dtype=float) / 1e3, np.asarray(bandwidth_gbps, dtype=float) * 1.25e8


def make_problem(facts: dict[str, Any], delay_ms: Any, bandwidth_gbps: Any, sizes_gb: Any) -> Problem:
    links = link_units(delay_ms, bandwidth_gbps)
    times = MessageTimes.of(*links, sizes_gb["activation"] * 1e9, sizes_gb["gradient"] * 1e9, facts["replicas"])
    return Problem(facts["name"], facts["stages"], facts["replicas"], *times, facts)


def tiny_problems() -> list[Problem]:
    return [
        make_problem(
            facts,
            facts["delay_ms"],
            facts["bandwidth_gbps"],
            {"gradient": facts["grad_gb"], "activation": facts["act_gb"]},
        )
        for facts in load("dtfm-tiny.json")["instances"]
    ]


def scenarios() -> list[Problem]:
    """The authors' five scenarios, 64 devices in 8 stages of 8."""
    document = load("dtfm-scenarios.json")
    return [
        make_problem(
            facts | {"stages": document["stages"], "replicas": document["replicas"]},
            spread(facts, "delay_ms"),
            spread(facts, "bandwidth_gbps"),
            document["sizes_gb"],
        )
        for facts in document["scenarios"]
    ]


def spread(facts: dict[str, Any], field: str) -> Matrix:
    """Spread a figure of the links between sites over their devices, (n, n)."""
    names = [site["name"] for site in facts["sites"]]
    default = facts["between"][field] if facts["between"] else np.nan
    between_sites = np.full((len(names), len(names)), default)
    np.fill_diagonal(between_sites, facts["inside"][field])
    for link in facts["links"]:
        i, j = (names.index(name) for name in link["between"])
        between_sites[i, j] = between_sites[j, i] = link[field]
    site_of = np.repeat(np.arange(len(names)), [site["devices"] for site in facts["sites"]])
    return between_sites[np.ix_(site_of, site_of)]
