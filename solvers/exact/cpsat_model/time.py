"""The iteration time above a base, in whole units rounded down (SPEC 1.3)."""

from __future__ import annotations

from math import ceil, floor, inf

import numpy as np
from ortools.sat.python import cp_model

from instances.tables import Floats
from solvers.exact.cpsat_model.network import Choices
from solvers.exact.cpsat_model.rows import Terms, add_choices, add_row, rounded
from solvers.exact.propagation import least_by_stage
from solvers.exact.subproblem import Part


class Seconds:
    """The terms of the time, not yet scaled; `row(units, most)` adds them to the model in some unit.

    `base` (s) is in every plan's time: some pipeline's cheapest choice of each stage and hop, its least slowest
    steps and the least exchange. The terms are what a choice costs above that.
    """

    def __init__(self, choices: Choices, part: Part) -> None:
        self.choices, self.part = choices, part
        costs, stages = part.costs, part.costs.stages
        compute = costs.forward + costs.backward
        self._least_sync = part.sync_low
        self.bases: list[float] = []  # [r] s in the time of pipeline r and the exchange, whatever is chosen
        # [r] what the first micro-batch takes above the least, for each stage and hop
        self.fills: list[list[Terms]] = []
        for r in range(costs.replicas):
            least_compute = least_by_stage(compute, part.stay[r])
            least_hop = [float(costs.hop[flags].min()) for flags in part.move[r]]
            steady = costs.repeats * float(part.low[r].sum())
            self.bases.append(float(least_compute.sum()) + sum(least_hop) + steady + self._least_sync)
            fill: list[Terms] = []
            for s in range(stages):
                last, least = int(s == stages - 1), float(least_compute[s])
                fill.append([(float(compute[last, k, n]) - least, x) for (k, n), x in choices.hold[r, s].items()])
                if not last:
                    hops = choices.ride[r, s].items()
                    fill.append([(float(costs.hop[k, j]) - least_hop[s], x) for (k, j), x in hops])
            self.fills.append(fill)
        self.base = max(self.bases)
        # [r][direction] one list of terms for each stage and hop: what it does to the slowest step, M - 1 times
        self.paces: list[list[list[Terms]]] = [
            [
                self._pace(r, costs.forward, costs.send, float(part.low[r, 0])),
                self._pace(r, costs.backward, costs.send.T, float(part.low[r, 1])),
            ]
            for r in range(costs.replicas)
        ]

    def row_sums(self, most_s: float) -> list[float]:
        """Sums of the costs of each row to come, for choosing the units."""
        paces = [terms for pair in self.paces for direction in pair for terms in direction]
        fills = [terms for fill in self.fills for terms in fill]
        cut = most_s - min(self.bases)
        sums = [sum(min(cost, cut) for cost, _ in terms) for terms in [*fills, *paces]]
        if self.part.costs.replicas > 1:
            # In an exchange row every slot of a stage may stand for any group; costs are cut at the limit.
            widest = max(len({k for k, _ in self.choices.hold[0, s]}) for s in range(self.part.costs.stages)) + 2
            sums.append((most_s - self.base + self._least_sync) * self.part.costs.replicas * widest)
        return sums

    def row(self, units: float, most_s: float) -> cp_model.IntVar:
        """A variable at least the time above the base, and at most `most_s` in all."""
        model = self.choices.model
        most = max(-1, floor((most_s - self.base) * units * (1 + 1e-9)))
        if most < 0:
            model.add_bool_or([])  # no plan is that fast
            return model.new_constant(0)
        time = model.new_int_var(0, most, f"seconds_{len(model.proto.variables)}")
        sync = self._sync(units, most)
        for r, fill in enumerate(self.fills):
            parts = [self._slowest(rows, units, most_s - self.bases[r]) for rows in self.paces[r]]
            # A pipeline that needs less than the base may spend the difference; beyond that it breaks the limit.
            cut = most_s - self.bases[r] + 2 / units
            whole = add_choices(model, fill, units, cut, floor(cut * units))
            terms = whole + [(1, x) for x in [*parts, sync] if x is not None]
            add_row(model, time, terms, floor((self.bases[r] - self.base) * units))
        return time

    def most(self) -> float:
        """More seconds than any plan of the part takes."""
        costs, part = self.part.costs, self.part
        compute = np.where(part.stay.any(axis=(0, 1)), (costs.forward + costs.backward).max(axis=0), 0.0).max()
        hop = float(np.where(part.move.any(axis=(0, 1)), costs.hop, 0.0).max()) if part.move.shape[1] else 0.0
        worst_sync = 0.0
        if costs.replicas > 1:
            share = float(costs.tables.gradient[..., : costs.width].max()) / costs.replicas
            pair = costs.tables.latency + share / costs.tables.bandwidth
            worst_sync = 2 * costs.replicas * float(pair.max())
        worst = float(costs.stages * (compute + hop)) + costs.repeats * float(part.high.sum(axis=1).max()) + worst_sync
        return max(worst, self.base) * (1 + 1e-9)  # with room for rounding

    def _pace(self, r: int, table: Floats, send: Floats, least: float) -> list[Terms]:
        costs, stages = self.part.costs, self.part.costs.stages
        rows: list[Terms] = []
        for s in range(stages):
            last = int(s == stages - 1)
            choices = [(float(table[last, k, n]), x) for (k, n), x in self.choices.hold[r, s].items()]
            rows.append([(costs.repeats * (step - least), x) for step, x in choices if step > least])
            if not last:
                hops = [(float(send[k, j]), x) for (k, j), x in self.choices.ride[r, s].items()]
                rows.append([(costs.repeats * (step - least), x) for step, x in hops if step > least])
        return [row for row in rows if row]

    def _slowest(self, rows: list[Terms], units: float, most_s: float) -> cp_model.IntVar | None:
        """A variable at least every stage's and hop's slowest step above the least, M - 1 times."""
        most_s += 2 / units
        whole = [row for row in (rounded(terms, units, most_s) for terms in rows) if row]
        if not whole:
            return None
        model = self.choices.model
        slowest = model.new_int_var(0, floor(most_s * units), f"slowest_{len(model.proto.variables)}")
        for row in whole:
            add_row(model, slowest, row)
        return slowest

    def _gradient(self, s: int, held: int) -> float:
        tables, stages = self.part.costs.tables, self.part.costs.stages
        return float(tables.gradient[int(s == 0), int(s == stages - 1), held]) / self.part.costs.replicas

    def _sync(self, units: float, most: int) -> cp_model.IntVar | None:
        """A variable at least every holder's seconds of the gradient exchange above the least, both ports."""
        part, costs, choices, model = self.part, self.part.costs, self.choices, self.choices.model
        if costs.replicas == 1:
            return None
        # The range above the least may be wide: it is only cut where the part's own limit is known.
        most = (
            min(most, floor((part.sync_high - part.sync_low) * units * (1 + 1e-9)) + 1)
            if part.sync_high < inf
            else most
        )
        sync = model.new_int_var(0, most, f"sync_{len(model.proto.variables)}")
        floor_units = ceil(self._least_sync * units)
        for s in range(costs.stages):
            for k, held in sorted({key for r in range(costs.replicas) for key in choices.hold[r, s]}):
                here = choices.holder(s, k, held)
                share = self._gradient(s, held)
                out = 2 * (costs.tables.latency[k] + share / costs.tables.bandwidth[k])
                into = 2 * (costs.tables.latency[:, k] + share / costs.tables.bandwidth[:, k])
                for port in (out, into):
                    terms = []
                    for r in range(costs.replicas):
                        for (j, count), x in choices.hold[r, s].items():
                            if count == held and (j != k or costs.tables.counts[k] > 1):
                                terms.append((min(floor(float(port[j]) * units), most + floor_units + 1), x))
                    own = ceil(float(port[k]) * units) if costs.tables.counts[k] > 1 else 0
                    own = min(own, most + floor_units + 1)
                    add_row(model, sync, terms, -own - floor_units).only_enforce_if(here)
        return sync
