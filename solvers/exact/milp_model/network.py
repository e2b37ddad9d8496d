"""Pipelines as flows through the layered network of (stage, group), with layers chosen where a group serves."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import permutations

import numpy as np
import pulp

from instances.plan import Plan
from solvers.core.deadline import Deadline
from solvers.exact.milp_model.rows import Variable, total, weighted
from solvers.exact.subproblem import MOST_ORDERED, Part


class Network:
    """Variables and rules of SPEC 1.2 for one part.

    Attributes
    ----------
    serve
        `serve[r, s][k, l]` is 1 when group k serves stage s of pipeline r with l layers.
    flow
        `flow[r, s][k, j]` is what flows from group k in stage s to group j in stage s + 1 of pipeline r. It is
        0 or 1 wherever `serve` is, so it need not be an integer variable.
    """

    def __init__(self, programme: pulp.LpProblem, part: Part, deadline: Deadline) -> None:
        self.programme, self.part = programme, part
        self.replicas, self.stages = part.costs.replicas, part.costs.stages
        self.serve: dict[tuple[int, int], dict[tuple[int, int], Variable]] = {}
        self.flow: dict[tuple[int, int], dict[tuple[int, int], Variable]] = {}
        for r in range(self.replicas):
            for s in range(self.stages):
                deadline.check()
                keys = [(int(k), int(held)) for k, held in np.argwhere(part.stay[r, s])]
                self.serve[r, s] = {key: _binary(f"serve_{r}_{s}_{key[0]}_{key[1]}") for key in keys}
                programme += total(self.serve[r, s].values()) == 1, f"one_gpu_serves_{r}_{s}"
            for s in range(self.stages - 1):
                deadline.check()
                moves = [(int(k), int(j)) for k, j in np.argwhere(part.move[r, s])]
                self.flow[r, s] = {key: pulp.LpVariable(f"flow_{r}_{s}_{key[0]}_{key[1]}", 0, 1) for key in moves}
                self._conserve(r, s)
            all_layers = [(x, held) for s in range(self.stages) for (_, held), x in self.serve[r, s].items()]
            programme += weighted(all_layers) == part.costs.tables.layers, f"all_layers_are_held_{r}"
            if r > 0:
                self._same_split(r)
                self._order(r)
        self._limit_gpus()
        self._limit_power()
        for number, plan in enumerate(part.forbidden):
            self._forbid(plan, number)

    def uses(self, k: int) -> list[Variable]:
        """The variables that put a GPU of group k anywhere."""
        return [x for served in self.serve.values() for (group, _), x in served.items() if group == k]

    def plan(self) -> Plan | None:
        """The plan of the solution; None if the values are not those of one (a back end may leave fractions)."""
        groups, layers = [], []
        for r in range(self.replicas):
            row = []
            for s in range(self.stages):
                chosen = [key for key, x in self.serve[r, s].items() if (x.varValue or 0.0) > 0.99]
                if len(chosen) != 1:
                    return None
                row.append(chosen[0])
            groups.append([k for k, _ in row])
            layers.append([held for _, held in row])
        if any(split != layers[0] for split in layers):
            return None
        return Plan.from_groups(self.part.costs.bound.grid.micro_batch, layers[0], groups)

    def _conserve(self, r: int, s: int) -> None:
        """What serves a stage sends to the next, and what arrives there serves it."""
        leaving: dict[int, list[Variable]] = defaultdict(list)
        arriving: dict[int, list[Variable]] = defaultdict(list)
        for (k, j), x in self.flow[r, s].items():
            leaving[k].append(x)
            arriving[j].append(x)
        for moved, stage, word in ((leaving, s, "leaves"), (arriving, s + 1, "reaches")):
            served: dict[int, list[Variable]] = defaultdict(list)
            for (k, _), x in self.serve[r, stage].items():
                served[k].append(x)
            for k in {*moved, *served}:
                self.programme += (
                    total(served[k]) - total(moved[k]) == 0,
                    f"flow_{word}_{r}_{stage}_{k}",
                )

    def _same_split(self, r: int) -> None:
        """Every pipeline holds the same layers in a stage as the first."""
        for s in range(self.stages):
            split: dict[int, list[tuple[Variable, float]]] = defaultdict(list)
            for row, sign in ((0, 1.0), (r, -1.0)):
                for (_, held), x in self.serve[row, s].items():
                    split[held].append((x, sign))
            for held, terms in split.items():
                self.programme += pulp.LpAffineExpression(terms) == 0, f"same_split_{r}_{s}_{held}"

    def _order(self, r: int) -> None:
        """Pipelines that may choose the same are interchangeable: the first groups rise."""
        if self.part.alike(r - 1, r):
            first, second = (weighted((x, float(k)) for (k, _), x in self.serve[row, 0].items()) for row in (r - 1, r))
            self.programme += first <= second, f"pipelines_in_order_{r}"

    def _limit_gpus(self) -> None:
        """No group gives more GPUs than it has."""
        for k, count in enumerate(self.part.costs.tables.counts):
            uses = self.uses(k)
            if uses and count < self.replicas * self.stages:
                self.programme += total(uses) <= int(count), f"gpus_of_{k}"

    def _limit_power(self) -> None:
        """The GPUs used at a site draw no more than its cap."""
        tables = self.part.costs.tables
        for site, cap in enumerate(tables.power_caps):
            here = np.flatnonzero(tables.site == site)
            if float((tables.power * tables.counts)[here].sum()) > cap:
                shares = [(x, float(tables.power[k] / cap)) for k in here for x in self.uses(int(k))]
                self.programme += weighted(shares) <= 1 + 1e-9, f"power_cap_{site}"

    def _forbid(self, plan: Plan, number: int) -> None:
        """Exclude a plan, in every order of its pipelines."""
        rows = sorted(plan.groups)
        if len(rows) > MOST_ORDERED:
            self._forbid_counts(plan, number)
            return
        for order in sorted(set(permutations(rows))):
            keys = [((r, s), (k, plan.layers[s])) for r, row in enumerate(order) for s, k in enumerate(row)]
            if all(key in self.serve[slot] for slot, key in keys):
                chosen = [self.serve[slot][key] for slot, key in keys]
                name = f"not_again_{number}_" + "_".join(str(k) for row in order for k in row)
                self.programme += total(chosen) <= len(chosen) - 1, name

    def _forbid_counts(self, plan: Plan, number: int) -> None:
        """The same for many pipelines: of some row there must be fewer than the plan has."""
        fewer = []
        for i, (row, count) in enumerate(sorted(Counter(plan.groups).items())):
            taken = []
            for r in range(self.replicas):
                keys = [((r, s), (k, plan.layers[s])) for s, k in enumerate(row)]
                if all(key in self.serve[slot] for slot, key in keys):
                    # takes_n_i_r is 1 when pipeline r is row i of the plan
                    takes = _binary(f"takes_{number}_{i}_{r}")
                    chosen = [self.serve[slot][key] for slot, key in keys]
                    self.programme += total(chosen) - takes <= len(chosen) - 1, f"row_taken_{number}_{i}_{r}"
                    taken.append(takes)
            if len(taken) < count:
                return  # the part does not have the plan
            # fewer_n_i is 1 only when fewer than `count` pipelines are row i
            fewer.append(_binary(f"fewer_{number}_{i}"))
            most = self.replicas - count + 1
            self.programme += total(taken) + most * fewer[-1] <= self.replicas, f"row_not_as_often_{number}_{i}"
        self.programme += total(fewer) >= 1, f"not_again_{number}"


def _binary(name: str) -> Variable:
    return pulp.LpVariable(name, cat=pulp.LpBinary)
