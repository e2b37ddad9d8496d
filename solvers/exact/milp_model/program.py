"""The programme of one part: the network, its time and energy (SPEC 1.3, 1.4), and what is minimised.

Time and energy are counted above what every plan of the part costs, in thousandths of the range to the target:
no row mixes large and small numbers, and a solver's tolerance stays far below the gaps that are claimed.
"""

from __future__ import annotations

from math import inf

import numpy as np
import pulp

from instances.tables import Floats
from solvers.core.deadline import Deadline
from solvers.exact.milp_model.exchange import Exchange
from solvers.exact.milp_model.network import Network
from solvers.exact.milp_model.rows import FORBIDDING, LARGEST, NARROWEST, UNITS, Variable, total, weighted
from solvers.exact.subproblem import Part

ROOM = 1e-3
"""Units by which limits are wider than they need be: a solver's tolerance must not lose a plan at the limit."""


class Programme:
    """`build` once, hand `problem` to a solver, then read `plan` and `value`."""

    def __init__(self, part: Part, target: float, deadline: Deadline) -> None:
        self._part, self._costs, self._goal, self._deadline = part, part.costs, part.costs.goal, deadline
        self.problem = pulp.LpProblem("part", pulp.LpMinimize)
        self.network = Network(self.problem, part, deadline)
        self._exchange = Exchange(self.network, part.sync_high, deadline) if part.costs.replicas > 1 else None
        self._set_time_base(target)
        self._set_energy_base()
        goal = self._goal
        self._least = goal.time_weight * self._base_s + goal.energy_weight * self._base_energy
        # The objective in units: the time above its base where energy does not count.
        self._per_unit = goal.time_weight / self._per_second
        if goal.energy_weight:
            width = target - self._least if target < inf else goal.energy_weight * self._worst_energy()
            self._per_unit = max(width, NARROWEST * self._least) / UNITS
        time = self._time()
        objective = [(time, 1.0)]
        if goal.energy_cap is not None:
            self._cap_energy(time)
        if goal.energy_weight:
            # energy is at least the figure above its base, in units of the objective
            energy = pulp.LpVariable("energy", 0)
            scale = goal.energy_weight / self._per_unit
            self._add_energy(energy, time, scale, "energy_of_all")
            objective = [(energy, 1.0)]
            if goal.time_weight:
                objective.append((time, goal.time_weight / self._per_second / self._per_unit))
            if target < inf:
                limit = (target - self._least) / self._per_unit + ROOM
                self.problem += weighted(objective) <= limit, "below_the_target"
        self.problem += weighted(objective)

    def value(self, units: float) -> float:
        """The objective value behind one in units."""
        return self._least + units * self._per_unit

    @property
    def size(self) -> tuple[int, int]:
        """Variables and rows."""
        return self.problem.numVariables(), self.problem.numConstraints()

    @property
    def entries(self) -> int:
        """Entries of the matrix."""
        return sum(len(row) for row in self.problem.constraints.values())

    def _set_time_base(self, target: float) -> None:
        """What every plan of the part takes, how much more any may take, and the unit between them."""
        part, costs = self._part, self._costs
        self._least_compute = np.array(
            [[self._cheapest(r, s, "seconds") for s in range(costs.stages)] for r in range(costs.replicas)]
        )
        self._least_hop = np.array([[float(costs.hop[flags].min()) for flags in rows] for rows in part.move])
        steady = costs.repeats * part.low.sum(axis=1)
        fills = (
            self._least_compute.sum(axis=1) + self._least_hop.sum(axis=1)
            if costs.stages > 1
            else self._least_compute[:, 0]
        )
        self._own = fills + steady + part.sync_low  # [r]
        self._base_s = float(self._own.max())
        steps = costs.repeats * part.high.sum(axis=1) if costs.repeats else 0.0  # nothing repeats: no limit counts
        worst = float(np.max(costs.stages * self._dearest() + steps))
        worst += min(part.sync_high, self._slowest_exchange())
        self._most_s = min(costs.time_limit(target), max(worst, self._base_s))
        width = max(self._most_s - self._base_s, NARROWEST * self._base_s)
        self._per_second = UNITS / width

    def _slowest_exchange(self) -> float:
        """More seconds than any gradient exchange takes."""
        if self._exchange is None:
            return 0.0
        longest = [sum(cost for _, cost in terms) for terms in self._exchange.ports().values()]
        return max(longest, default=0.0)

    def _dearest(self) -> float:
        """The most that a stage and a hop can take."""
        costs, part = self._costs, self._part
        compute = np.where(part.stay.any(axis=(0, 1)), (costs.forward + costs.backward).max(axis=0), 0.0).max()
        hop = np.where(part.move.any(axis=(0, 1)), costs.hop, 0.0).max() if costs.stages > 1 else 0.0
        return float(compute + hop)

    def _slot(self, s: int, k: int, held: int, what: str) -> float:
        """Seconds of a slot's first micro-batch, or its energy while the base time lasts."""
        costs, last = self._costs, int(s == self._costs.stages - 1)
        if what == "seconds":
            return float(costs.forward[last, k, held] + costs.backward[last, k, held])
        busy = (costs.repeats + 1) * float(costs.forward[last, k, held] + costs.backward[last, k, held])
        tables = costs.tables
        return float(tables.active[k] * busy + tables.idle[k] * (self._base_s - busy))

    def _cheapest(self, r: int, s: int, what: str) -> float:
        return min(self._slot(s, k, held, what) for k, held in self.network.serve[r, s])

    def _time(self) -> Variable:
        """`time` is at least every pipeline's time and the exchange above the base, in units."""
        part, costs, per = self._part, self._costs, self._per_second
        most = max(0.0, (self._most_s - self._base_s) * per) + ROOM
        time = pulp.LpVariable("time", 0, most)
        # sync is at least every holder's seconds of the exchange above the least
        sync = self._sync(per, most)
        for r in range(costs.replicas):
            self._deadline.check()
            fill = []
            for s in range(costs.stages):
                least = self._least_compute[r, s]
                fill += [
                    (x, (self._slot(s, k, n, "seconds") - least) * per)
                    for (k, n), x in self.network.serve[r, s].items()
                ]
                if s < costs.stages - 1:
                    least = self._least_hop[r, s]
                    fill += [
                        (x, (float(costs.hop[k, j]) - least) * per) for (k, j), x in self.network.flow[r, s].items()
                    ]
            # A pipeline that needs less than the base may spend the difference on its slowest steps.
            shortfall = (self._base_s - float(self._own[r])) * per
            # slowest_* is at least M - 1 times every forward (backward) step above the least
            slowest = [
                self._slowest(r, "forward", costs.forward, costs.send, float(part.low[r, 0]), most, shortfall),
                self._slowest(r, "backward", costs.backward, costs.send.T, float(part.low[r, 1]), most, shortfall),
            ]
            terms = weighted(fill, _cut(shortfall)) + total(slowest) + (total([sync]) if sync is not None else 0)
            self.problem += time - terms >= -shortfall, f"time_of_pipeline_{r}"
        return time

    def _slowest(
        self, r: int, name: str, table: Floats, send: Floats, least: float, most: float, shortfall: float
    ) -> Variable:
        costs = self._costs
        scale = costs.repeats * self._per_second
        slowest = pulp.LpVariable(f"slowest_{name}_{r}", 0, most + shortfall)
        for s in range(costs.stages):
            last = int(s == costs.stages - 1)
            steps = [(x, float(table[last, k, n]) - least) for (k, n), x in self.network.serve[r, s].items()]
            self._at_least(slowest, steps, scale, _cut(shortfall), f"{name}_step_{r}_{s}")
            if not last:
                hops = [(x, float(send[k, j]) - least) for (k, j), x in self.network.flow[r, s].items()]
                self._at_least(slowest, hops, scale, _cut(shortfall), f"{name}_send_{r}_{s}")
        return slowest

    def _at_least(
        self, variable: Variable, costs: list[tuple[Variable, float]], scale: float, most: float, name: str
    ) -> None:
        """One of these is chosen; the variable is at least its cost, where that is above 0."""
        terms = [(x, cost * scale) for x, cost in costs if cost > 0]
        if terms:
            self.problem += variable - weighted(terms, most) >= 0, name

    def _sync(self, per_second: float, most: float) -> Variable | None:
        if self._exchange is None:
            return None
        sync = pulp.LpVariable("sync", 0, most)
        least = self._part.sync_low * per_second
        cut = _cut(least)
        for (r, s, port), terms in self._exchange.ports().items():
            seconds = weighted([(x, cost * per_second) for x, cost in terms], cut)
            self.problem += sync - seconds >= -least, f"exchange_{port}_{r}_{s}"
        return sync

    def _set_energy_base(self) -> None:
        """What every plan of the part costs in energy, if all its GPUs were idle or busy for the base time."""
        costs = self._costs
        self._base_energy = 0.0
        for r in range(costs.replicas):
            for s in range(costs.stages):
                self._base_energy += self._cheapest(r, s, "energy")
                if s < costs.stages - 1:
                    self._base_energy += float(costs.hop_energy[self._part.move[r, s]].min())

    def _worst_energy(self) -> float:
        """More energy than any plan needs above the base."""
        most = sum(max(cost for _, cost in terms) for terms in self._energy_choices())
        exchange = sum(cost for _, cost in self._exchange.energy()) if self._exchange else 0.0
        waits = self._costs.replicas * self._costs.stages * float(self._costs.tables.idle.max())
        return most + exchange + waits * (self._most_s - self._base_s)

    def _energy_choices(self) -> list[list[tuple[Variable, float]]]:
        """For every stage and hop the energy of its choices above the cheapest."""
        costs, found = self._costs, []
        for r in range(costs.replicas):
            for s in range(costs.stages):
                least = self._cheapest(r, s, "energy")
                found.append(
                    [(x, self._slot(s, k, n, "energy") - least) for (k, n), x in self.network.serve[r, s].items()]
                )
                if s < costs.stages - 1:
                    cheapest = float(costs.hop_energy[self._part.move[r, s]].min())
                    found.append(
                        [(x, float(costs.hop_energy[k, j]) - cheapest) for (k, j), x in self.network.flow[r, s].items()]
                    )
        return found

    def _cap_energy(self, time: Variable) -> None:
        """Keep the cap on energy, in units of its own."""
        room = self._costs.energy_limit() - self._base_energy
        scale = UNITS / max(room, NARROWEST * self._base_energy)
        capped = pulp.LpVariable("capped_energy", 0, max(0.0, room * scale) + ROOM)
        self._add_energy(capped, time, scale, "energy_cap")
        if room < 0:
            self.problem += total([capped]) <= -1, "base_energy_above_the_cap"

    def _add_energy(self, energy: Variable, time: Variable, scale: float, name: str) -> None:
        """`energy` is at least the energy above the base: choices, links, and idle power times extra time."""
        self._deadline.check()
        tables = self._costs.tables
        terms = [(x, cost * scale) for choice in self._energy_choices() for x, cost in choice]
        if self._exchange is not None:
            terms += [(x, cost * scale) for x, cost in self._exchange.energy()]
        most = time.upBound
        for k, count in enumerate(tables.counts):
            uses = self.network.uses(k)
            if not uses:
                continue
            levels: list[Variable] = []
            for number in range(min(int(count), len(self.network.serve))):
                # used_k_i is 1 when more than i GPUs of group k are used; wait_k_i is then at least the extra time
                kind = pulp.LpContinuous if count == 1 else pulp.LpBinary  # a single GPU's use is a sum of serve
                used = pulp.LpVariable(f"used_{name}_{k}_{number}", 0, 1, kind)
                wait = pulp.LpVariable(f"wait_{name}_{k}_{number}", 0, most)
                self.problem += wait - time - most * used >= -most, f"idle_while_used_{name}_{k}_{number}"
                if levels:
                    self.problem += used <= levels[-1], f"used_in_order_{name}_{k}_{number}"
                levels.append(used)
                terms.append((wait, float(tables.idle[k]) / self._per_second * scale))
            self.problem += total(uses) - total(levels) == 0, f"gpus_used_{name}_{k}"
        self.problem += total([energy]) - weighted(terms, FORBIDDING) >= 0, name


def _cut(spare: float) -> float:
    """Where costs are cut of which `spare` is free; cut lower, they only count for less."""
    return min(FORBIDDING + spare, LARGEST)
