"""Objectives of the command line, and the scalar form that solvers see."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as pydantic_dataclass

from instances.errors import InputError
from instances.instance import Positive
from instances.rates import Metric
from instances.referee.evaluate import Evaluation

CAP_SLACK = 1e-9
"""Relative slack of caps on time or energy, and of points of a front that count as one (docs/model.md, Tolerances)."""
LEAST_WEIGHT = 1e-30
"""Least weight of time above 0: what is smaller counts for nothing and only underflows."""
FORMS = "time, energy, weighted:W, energy@T, time@E, energy@0.8x, time@0.8x, carbon, cost or front"


@pydantic_dataclass(frozen=True, config=ConfigDict(strict=True, extra="forbid"))
class Reference:
    """T_ref (s) and E_ref (J): by default those of the best uniform plan. ValueError unless both are above 0."""

    time_s: Positive
    energy_j: Positive


@dataclass(frozen=True)
class Goal:
    """Minimise time_weight * T + energy_weight * E subject to caps, with E in the unit of `metric`.

    With `front` the weights are ignored: all nondominated (T, E) are asked for.
    """

    metric: Metric = "energy"
    time_weight: float = 0.0
    energy_weight: float = 0.0
    time_cap: float | None = None  # s
    energy_cap: float | None = None  # J
    front: bool = False

    def value(self, evaluation: Evaluation) -> float:
        """The objective value of a plan, caps aside."""
        # A weight of 0 must not ask for a metric that the instance may lack.
        time = self.time_weight * evaluation.time_s if self.time_weight else 0.0
        energy = self.energy_weight * evaluation.energy_as(self.metric) if self.energy_weight else 0.0
        return time + energy

    def cap_violations(self, evaluation: Evaluation) -> list[str]:
        """The caps that a plan breaks by more than CAP_SLACK, as sentences."""
        found = []
        if self.time_cap is not None and evaluation.time_s > self.time_cap * (1 + CAP_SLACK):
            found.append(f"the plan takes {evaluation.time_s!r} s, the cap is {self.time_cap!r} s")
        if self.energy_cap is not None and evaluation.energy_j > self.energy_cap * (1 + CAP_SLACK):
            found.append(f"the plan takes {evaluation.energy_j!r} J, the cap is {self.energy_cap!r} J")
        return found


@dataclass(frozen=True)
class Objective:
    """A parsed objective; `str()` gives the form that reads back to it."""

    kind: str  # time, energy, weighted, energy@, time@, carbon, cost, front
    number: float | None = None  # W, or the cap
    relative: bool = False  # the cap is a multiple of the reference

    def __str__(self) -> str:
        number = "" if self.number is None else f"{self.number!r}".removesuffix(".0")
        colon = ":" if self.kind == "weighted" else ""
        return f"{self.kind}{colon}{number}{'x' if self.relative else ''}"

    @property
    def unit(self) -> str:
        """Of its values; none for a weighted sum."""
        return {"time": "s", "energy@": "J", "energy": "J", "time@": "s", "carbon": "gCO2e", "cost": "USD"}.get(
            self.kind, ""
        )

    @property
    def needs_reference(self) -> bool:
        """Whether a reference plan or `--reference T E` is needed."""
        return self.kind == "weighted" or self.relative

    def goal(self, reference: Reference | None = None) -> Goal:
        """The scalar form. InputError if a reference is needed and there is none."""
        if self.number is None:
            return _PLAIN[self.kind]
        if self.needs_reference and reference is None:
            raise InputError(f"objective {self}: the instance has no uniform plan to refer to; give --reference T E")
        unit = reference if reference and self.needs_reference else Reference(1.0, 1.0)
        if self.kind == "weighted":
            return Goal(time_weight=self.number / unit.time_s, energy_weight=(1 - self.number) / unit.energy_j)
        if self.kind == "energy@":
            return Goal(energy_weight=1.0, time_cap=self.number * unit.time_s)
        return Goal(time_weight=1.0, energy_cap=self.number * unit.energy_j)


_PLAIN = {
    "time": Goal(time_weight=1.0),
    "energy": Goal(energy_weight=1.0),
    "carbon": Goal(metric="carbon", energy_weight=1.0),
    "cost": Goal(metric="cost", energy_weight=1.0),
    "front": Goal(front=True),
}
_NUMBER = r"(?P<number>[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?|[0-9]+\.)"


def parse_objective(text: str) -> Objective:
    """Read an objective, `weighted:0.5` say (docs/model.md, Objectives). InputError names what is wrong."""
    if text in _PLAIN:
        return Objective(text)
    match = re.fullmatch(rf"(?P<kind>weighted:|energy@|time@){_NUMBER}(?P<relative>x?)", text)
    if match is None:
        raise InputError(f"objective {text!r}: unknown; expected {FORMS}")
    number, relative = float(match["number"]), bool(match["relative"])
    if match["kind"] == "weighted:":
        if relative or not 0 <= number <= 1:
            raise InputError(f"objective {text!r}: the weight is a number from 0 to 1")
        if 0 < number < LEAST_WEIGHT:
            raise InputError(f"objective {text!r}: a weight above 0 is at least {LEAST_WEIGHT:g}")
        return Objective("weighted", number)
    if not 1e-30 <= number <= 1e30:
        raise InputError(f"objective {text!r}: the cap must be above 0 and finite")
    return Objective(match["kind"], number, relative)
