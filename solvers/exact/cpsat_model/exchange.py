"""The gradient exchange (docs/model.md, Gradient exchange) in whole units rounded down."""

from __future__ import annotations

from functools import cached_property
from math import ceil, floor, inf

import numpy as np
from ortools.sat.python import cp_model

from solvers.exact.cpsat_model.assignment import Assignment
from solvers.exact.cpsat_model.rows import Terms, add_row, rounded


class Exchange:
    """The seconds of every holder's two ports, and the energy of the gradients moved; for several pipelines."""

    def __init__(self, assignment: Assignment) -> None:
        self._assignment, self._tables = assignment, assignment.tables

    def seconds(self, units: float, most: int) -> cp_model.IntVar:
        """A variable at least every holder's seconds of the exchange above the least, both ports."""
        assignment, tables, sub = self._assignment, self._tables, self._assignment.subproblem
        if sub.sync_high < inf:  # the range above the least may be wide: cut only where its own limit is known
            most = min(most, floor((sub.sync_high - sub.sync_low) * units * (1 + 1e-9)) + 1)
        sync = assignment.model.new_int_var(0, most, f"sync_{len(assignment.model.proto.variables)}")
        least = ceil(sub.sync_low * units)
        for s in range(assignment.stages):
            for k, held in sorted({key for r in range(assignment.replicas) for key in assignment.serve[r, s]}):
                share = self._share(s, held)
                for port in (
                    2 * (tables.latency[k] + share / tables.bandwidth[k]),
                    2 * (tables.latency[:, k] + share / tables.bandwidth[:, k]),
                ):
                    terms = [
                        (min(floor(float(port[j]) * units), most + least + 1), x)
                        for r in range(assignment.replicas)
                        for (j, count), x in assignment.serve[r, s].items()
                        if count == held and (j != k or tables.counts[k] > 1)
                    ]
                    own = min(ceil(float(port[k]) * units), most + least + 1) if tables.counts[k] > 1 else 0
                    row = add_row(assignment.model, sync, terms, -own - least)
                    row.only_enforce_if(assignment.holder(s, k, held))
        return sync

    def most_seconds(self, most_s: float) -> float:
        """Sum of the costs of the largest row of `seconds`: every slot of a stage may stand for any group."""
        assignment = self._assignment
        widest = max(len({k for k, _ in assignment.serve[0, s]}) for s in range(assignment.stages)) + 2
        return most_s * assignment.replicas * widest

    def energy(self, units: float, limit: int) -> list[cp_model.IntVar]:
        """For every stage, a variable at least the energy of its gradient exchange."""
        assignment, by_stage = self._assignment, {}
        for s, held, terms in self.pairs:
            if s not in by_stage:
                by_stage[s] = assignment.model.new_int_var(
                    0, limit, f"exchange_{s}_{len(assignment.model.proto.variables)}"
                )
            whole = rounded(terms, units, (limit + 1) / units)
            for (_, count), x in assignment.serve[0, s].items():
                if count == held:
                    add_row(assignment.model, by_stage[s], whole).only_enforce_if(x)
        return list(by_stage.values())

    @cached_property
    def pairs(self) -> list[tuple[int, int, Terms]]:
        """(stage, layers, energy of each pair of slots that may hold it), where the exchange costs energy."""
        assignment, found = self._assignment, []
        both_ways = self._tables.per_byte + self._tables.per_byte.T
        for s in range(assignment.stages) if both_ways.any() else ():
            met: list[tuple[float, cp_model.IntVar]] = []
            for r in range(assignment.replicas):
                for q in range(r + 1, assignment.replicas):
                    for k in sorted({k for k, _ in assignment.serve[r, s]}):
                        for j in sorted({j for j, _ in assignment.serve[q, s]}):
                            if both_ways[k, j] > 0:
                                # meet is 1 when stage s is on group k in pipeline r and on j in q
                                meet = assignment.model.new_bool_var(f"meet_{s}_{r}_{q}_{k}_{j}")
                                here, there = assignment.on(r, s, k), assignment.on(q, s, j)
                                assignment.model.add(sum(here) + sum(there) <= 1 + meet)
                                met.append((float(both_ways[k, j]), meet))
            for held in np.flatnonzero(assignment.subproblem.can_serve[0, s].any(axis=0)):
                share = 2 * self._share(s, int(held))
                found.append((s, int(held), [(share * cost, x) for cost, x in met]))
        return found

    def _share(self, s: int, held: int) -> float:
        """Bytes that a holder serves of a stage's gradient, G_s / R."""
        gradient = self._tables.gradient[int(s == 0), int(s == self._assignment.stages - 1), held]
        return float(gradient) / self._assignment.replicas
