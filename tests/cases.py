"""The tiny instances with independently enumerated truth in `tests/data/cases`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from instances.files import instance_from_json, plan_from_json
from instances.instance import Instance
from instances.plan import Plan

DATA = Path(__file__).parent / "data"
CLOSE = 1e-9
"""Relative error at which a value counts as the case's value."""


@dataclass(frozen=True)
class Case:
    """One instance and what is true of it; a key that does not apply is absent from `truth`."""

    name: str
    instance: Instance
    truth: dict[str, Any]

    @property
    def feasible(self) -> bool:
        """Whether any plan fits."""
        return bool(self.truth["feasible_plans_up_to_symmetry"])

    @property
    def power_capped(self) -> bool:
        """Whether a site's power is limited."""
        return any(site.power_cap is not None for site in (self.instance.sites or {}).values())

    def plan(self, key: str) -> Plan:
        """One of the plans of the truth."""
        return plan_from_json(self.truth[key], self.instance, f"{self.name}: {key}")


def read_case(path: Path) -> Case:
    """A case from its file."""
    data = json.loads(path.read_text(encoding="utf-8"))
    return Case(path.stem, instance_from_json(data["instance"], path.name), data["truth"])


CASES = [read_case(path) for path in sorted((DATA / "cases").glob("case-*.json"))]
FEASIBLE = [case for case in CASES if case.feasible]
INFEASIBLE = [case for case in CASES if not case.feasible]


def named(cases: list[Case]) -> dict[str, Any]:
    """Arguments of `pytest.mark.parametrize` after its first: one test for each case, called by its name."""
    return {"argvalues": cases, "ids": [case.name for case in cases]}
