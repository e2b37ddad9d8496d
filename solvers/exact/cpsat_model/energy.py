"""Energy above a base, in whole units rounded down (SPEC 1.4), with idle power times time linearised exactly."""

from __future__ import annotations

from math import floor, inf

import numpy as np
from ortools.sat.python import cp_model

from solvers.exact.cpsat_model.network import Choices
from solvers.exact.cpsat_model.rows import Terms, add_choices, add_row, rounded
from solvers.exact.cpsat_model.time import Seconds
from solvers.exact.subproblem import Part


class Joules:
    """The terms of the energy, not yet scaled; `row(units, most)` adds them to the model in some unit.

    Every used GPU idles for the base time at least: that is part of its slot's cost. For the rest,
    idle power times the time above the base is a variable per idle power, which counts once for each used
    GPU of that power: the product of a 0-1 variable and a time, with no rounding but the rows' own.
    """

    def __init__(self, choices: Choices, part: Part, seconds: Seconds) -> None:
        self.choices, self.part, self.seconds = choices, part, seconds
        costs, stages = part.costs, part.costs.stages
        node = costs.above_idle + (costs.tables.idle * seconds.base)[None, :, None]
        self.base = 0.0
        self.choices_cost: list[Terms] = []  # of every stage and hop above the cheapest
        for r in range(costs.replicas):
            for s in range(stages):
                last = int(s == stages - 1)
                slots = [(float(node[last, k, n]), x) for (k, n), x in choices.hold[r, s].items()]
                self._add(slots)
                if not last:
                    self._add([(float(costs.hop_energy[k, j]), x) for (k, j), x in choices.ride[r, s].items()])
        self.pairs = self._exchange_pairs()
        used = part.stay.any(axis=3)  # [r, s, k]
        idle_w = costs.tables.idle
        self.least_idle_w = float(np.where(used, idle_w, np.inf).min(axis=2).sum())  # of all slots together
        self.most_idle_w = float(idle_w[used.any(axis=0).any(axis=0)].max())  # of one GPU

    def time_limit(self, most: float) -> float:
        """Seconds within which a plan must end if its energy is to be at most `most`: its GPUs idle at least."""
        room = (most - self.base) / self.least_idle_w if self.least_idle_w > 0 else inf
        return (self.seconds.base + room) * (1 + 1e-12)

    def row_sums(self, most: float, most_s: float) -> list[float]:
        """Sums of the costs of each row to come, for choosing the units."""
        cut = most - self.base
        times = [self.most_idle_w * cost for cost in self.seconds.row_sums(most_s)]
        exchange = [sum(min(cost, cut) for cost, _ in terms) for _, _, terms in self.pairs]
        own = [sum(min(cost, cut) for cost, _ in terms) for terms in self.choices_cost]
        return [*own, *times, *exchange]

    def most(self, most_s: float) -> float:
        """More energy than any plan needs that takes no longer than `most_s`."""
        dearest = sum(max((cost for cost, _ in terms), default=0.0) for terms in self.choices_cost)
        idle = self.most_idle_w * self.choices.replicas * self.choices.stages
        exchange = sum(cost for _, _, terms in self.pairs for cost, _ in terms)
        # With room for rounding: all these together may be less than the last digit of the base.
        return (self.base + dearest + exchange + idle * (most_s - self.seconds.base)) * (1 + 1e-9)

    def row(self, units: float, most: float, most_s: float) -> cp_model.IntVar:
        """A variable at least the energy above the base, and at most `most` in all, for times up to `most_s`."""
        model = self.choices.model
        limit = max(-1, floor((most - self.base) * units * (1 + 1e-9)))
        if limit < 0:
            model.add_bool_or([])  # no plan is that frugal
            return model.new_constant(0)
        energy = model.new_int_var(0, limit, f"joules_{len(model.proto.variables)}")
        waits = self._waits(units, most_s)
        exchange = self._exchange(units, limit)
        whole = add_choices(model, self.choices_cost, units, most - self.base + 2 / units, limit + 2)
        add_row(model, energy, whole + [(1, x) for x in [*waits, *exchange]])
        return energy

    def _add(self, terms: Terms) -> None:
        """Exactly one of these is chosen: the cheapest goes into the base."""
        least = min(cost for cost, _ in terms)
        self.base += least
        self.choices_cost.append([(cost - least, x) for cost, x in terms])

    def _waits(self, units: float, most_s: float) -> list[cp_model.IntVar]:
        """For every GPU that may be used, its idle power times the time above the base; 0 if it is not used."""
        model, tables = self.choices.model, self.part.costs.tables
        by_power: dict[float, cp_model.IntVar] = {}
        waits = []
        for k in range(len(tables.counts)):
            uses = self.choices.uses(k)
            power = float(tables.idle[k])
            if not uses or power == 0:
                continue
            if power not in by_power:
                by_power[power] = self.seconds.row(units * power, most_s)
            most = floor(max(0.0, most_s - self.seconds.base) * units * power * (1 + 1e-9))
            levels: list[cp_model.IntVar] = []
            for number in range(min(int(tables.counts[k]), len(self.choices.hold))):
                # used_k_i is 1 when at least i + 1 GPUs of group k are used; wait_k_i is what the (i + 1)th pays
                used = model.new_bool_var(f"used_{k}_{number}")
                wait = model.new_int_var(0, most, f"wait_{k}_{number}_{len(model.proto.variables)}")
                model.add(wait >= by_power[power]).only_enforce_if(used)
                if levels:
                    model.add_implication(used, levels[-1])
                levels.append(used)
                waits.append(wait)
            model.add(sum(uses) == sum(levels))
        return waits

    def _exchange_pairs(self) -> list[tuple[int, int, Terms]]:
        """(stage, layers, energy of each pair of slots that may hold it), where the exchange costs energy."""
        costs, choices = self.part.costs, self.choices
        per_byte = costs.tables.per_byte
        if costs.replicas == 1 or not per_byte.any():
            return []
        model = choices.model
        found = []
        for s in range(costs.stages):
            both: dict[tuple[int, int, int, int], cp_model.IntVar] = {}
            for r in range(costs.replicas):
                for q in range(r + 1, costs.replicas):
                    for k in sorted({k for k, _ in choices.hold[r, s]}):
                        for j in sorted({j for j, _ in choices.hold[q, s]}):
                            if per_byte[k, j] + per_byte[j, k] > 0:
                                # both_s_r_q_k_j is 1 when stage s is on group k in pipeline r and on j in q
                                both[r, q, k, j] = model.new_bool_var(f"both_{s}_{r}_{q}_{k}_{j}")
                                here, there = choices.on(r, s, k), choices.on(q, s, j)
                                model.add(sum(here) + sum(there) <= 1 + both[r, q, k, j])
            for held in np.flatnonzero(self.part.stay[0, s].any(axis=0)):
                gradient = costs.tables.gradient[int(s == 0), int(s == costs.stages - 1), held]
                share = 2 * float(gradient) / costs.replicas
                terms = [(share * float(per_byte[k, j] + per_byte[j, k]), x) for (_, _, k, j), x in both.items()]
                found.append((s, int(held), terms))
        return found

    def _exchange(self, units: float, limit: int) -> list[cp_model.IntVar]:
        """For every stage, a variable at least the energy of its gradient exchange."""
        model, choices = self.choices.model, self.choices
        by_stage: dict[int, cp_model.IntVar] = {}
        for s, held, terms in self.pairs:
            if s not in by_stage:
                by_stage[s] = model.new_int_var(0, limit, f"exchange_{s}_{len(model.proto.variables)}")
            cut = [(min(cost, (limit + 1) / units), x) for cost, x in terms]
            holds = [x for (_, count), x in choices.hold[0, s].items() if count == held]
            for x in holds:
                add_row(model, by_stage[s], rounded(cut, units)).only_enforce_if(x)
        return list(by_stage.values())
