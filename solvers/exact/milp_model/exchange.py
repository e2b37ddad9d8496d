"""The gradient exchange (docs/model.md, Gradient exchange): a transport between the holders of a stage."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from instances.tables import Floats
from solvers.core.deadline import Deadline
from solvers.exact.milp_model.assignment import Assignment
from solvers.exact.milp_model.rows import Terms, Variable, total

Meeting = tuple[int, int, int, int, int, int]  # stage, pipelines r < q, group in r, group in q, layers


class Exchange:
    """`meet[s, r, q, k, j, l]` is 1 when stage s has l layers, on group k in pipeline r and on group j in q.

    As a transport between `serve` of the two pipelines it is 0 or 1 wherever those are, and bounds far better
    than a row for each pair would. Pairs whose exchange alone is too long are left out.
    """

    def __init__(self, assignment: Assignment, deadline: Deadline) -> None:
        self._assignment, self._tables = assignment, assignment.tables
        self.meet: dict[Meeting, Variable] = {}
        for s in range(assignment.stages):
            cost = self._pair_seconds(s)
            for r in range(assignment.replicas):
                for q in range(r + 1, assignment.replicas):
                    deadline.check()
                    self._join(s, r, q, cost)

    def ports(self) -> dict[tuple[int, int, str], Terms]:
        """Seconds of every slot's (r, s) out-port and in-port, both rounds (out_r, in_r doubled)."""
        found: dict[tuple[int, int, str], Terms] = defaultdict(list)
        for (s, r, q, k, j, held), x in self.meet.items():
            there, back = self._seconds(s, k, j, held), self._seconds(s, j, k, held)
            for row, out, into in ((r, there, back), (q, back, there)):
                found[row, s, "out"].append((x, 2 * out))
                found[row, s, "in"].append((x, 2 * into))
        return found

    def energy(self) -> Terms:
        """Energy of all gradients moved."""
        per_byte = self._tables.per_byte
        return [
            (x, 2 * self._share(s, held) * float(per_byte[k, j] + per_byte[j, k]))
            for (s, _, _, k, j, held), x in self.meet.items()
        ]

    def _join(self, s: int, r: int, q: int, cost: Floats) -> None:
        """Every holder of stage s in pipeline r meets the one in pipeline q."""
        assignment, counts, linked = self._assignment, self._tables.counts, self._tables.linked
        ours, theirs = defaultdict(list), defaultdict(list)
        for k, held in assignment.serve[r, s]:
            for j, count in assignment.serve[q, s]:
                quick = cost[k, j, held] <= assignment.subproblem.sync_high
                if count == held and quick and linked[k, j] and (k != j or counts[k] > 1):
                    meet = assignment.model.add_variable(f"meet_{s}_{r}_{q}_{k}_{j}_{held}", 0, 1)
                    self.meet[s, r, q, k, j, held] = meet
                    ours[k, held].append(meet)
                    theirs[j, held].append(meet)
        for row, met, word in ((r, ours, "first"), (q, theirs, "second")):
            for key, x in assignment.serve[row, s].items():
                assignment.model += total(met[key]) - x == 0, f"meets_{word}_{s}_{r}_{q}_{key[0]}_{key[1]}"

    def _share(self, s: int, held: int) -> float:
        """Bytes that a holder serves of a stage's gradient, G_s / R."""
        gradient = self._tables.gradient[int(s == 0), int(s == self._assignment.stages - 1), held]
        return float(gradient) / self._assignment.replicas

    def _seconds(self, s: int, k: int, j: int, held: int) -> float:
        """From a GPU of group k to one of group j, one round."""
        return float(self._tables.latency[k, j]) + self._share(s, held) / float(self._tables.bandwidth[k, j])

    def _pair_seconds(self, s: int) -> Floats:
        """[k, j, layers] the longer way between two groups, both rounds."""
        shares = np.array([self._share(s, held) for held in range(self._assignment.subproblem.costs.width)])
        one_way = self._tables.latency[:, :, None] + shares / self._tables.bandwidth[:, :, None]
        longer: Floats = 2 * np.maximum(one_way, one_way.transpose(1, 0, 2))
        return longer
