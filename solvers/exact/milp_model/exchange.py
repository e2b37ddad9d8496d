"""Who averages gradients with whom: a transport between the holders of a stage, one for each two pipelines."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pulp

from instances.tables import Floats
from solvers.core.deadline import Deadline
from solvers.exact.milp_model.network import Network
from solvers.exact.milp_model.rows import Variable, total

Meeting = tuple[int, int, int, int, int, int]  # stage, pipelines r < q, group in r, group in q, layers


class Exchange:
    """`meet[s, r, q, k, j, l]` is 1 when stage s has l layers, on group k in pipeline r and on group j in q.

    As a transport between `serve` of the two pipelines it is 0 or 1 wherever those are, and bounds far better
    than a row for each pair would. Pairs whose exchange alone is too long are left out.
    """

    def __init__(self, network: Network, most_sync_s: float, deadline: Deadline) -> None:
        self._network = network
        self.meet: dict[Meeting, Variable] = {}
        stages, replicas = network.stages, network.replicas
        counts = network.part.costs.tables.counts
        for s in range(stages):
            cost = self._pair_seconds(s)
            for r in range(replicas):
                for q in range(r + 1, replicas):
                    deadline.check()
                    ours, theirs = defaultdict(list), defaultdict(list)
                    for k, held in network.serve[r, s]:
                        for j, count in network.serve[q, s]:
                            if count != held or (k == j and counts[k] < 2) or cost[k, j, held] > most_sync_s:
                                continue
                            x = pulp.LpVariable(f"meet_{s}_{r}_{q}_{k}_{j}_{held}", 0, 1)
                            self.meet[s, r, q, k, j, held] = x
                            ours[k, held].append(x)
                            theirs[j, held].append(x)
                    for row, met, word in ((r, ours, "first"), (q, theirs, "second")):
                        for key, x in network.serve[row, s].items():
                            name = f"meets_{word}_{s}_{r}_{q}_{key[0]}_{key[1]}"
                            network.programme += total(met[key]) - x == 0, name

    def ports(self) -> dict[tuple[int, int, str], list[tuple[Variable, float]]]:
        """Seconds of every slot's (r, s) out-port and in-port, both rounds (out_r, in_r doubled)."""
        found: dict[tuple[int, int, str], list[tuple[Variable, float]]] = defaultdict(list)
        for (s, r, q, k, j, held), x in self.meet.items():
            there, back = self._seconds(s, k, j, held), self._seconds(s, j, k, held)
            for row, out, into in ((r, there, back), (q, back, there)):
                found[row, s, "out"].append((x, 2 * out))
                found[row, s, "in"].append((x, 2 * into))
        return found

    def energy(self) -> list[tuple[Variable, float]]:
        """Energy of all gradients moved."""
        tables = self._network.part.costs.tables
        return [
            (x, 2 * self._share(s, held) * float(tables.per_byte[k, j] + tables.per_byte[j, k]))
            for (s, _, _, k, j, held), x in self.meet.items()
        ]

    def _share(self, s: int, held: int) -> float:
        """Bytes that a holder serves of a stage's gradient, G_s / R."""
        stages = self._network.stages
        gradient = self._network.part.costs.tables.gradient[int(s == 0), int(s == stages - 1), held]
        return float(gradient) / self._network.replicas

    def _seconds(self, s: int, k: int, j: int, held: int) -> float:
        """From a GPU of group k to one of group j, one round."""
        tables = self._network.part.costs.tables
        return float(tables.latency[k, j]) + self._share(s, held) / float(tables.bandwidth[k, j])

    def _pair_seconds(self, s: int) -> Floats:
        """[k, j, layers] the longer way between two groups, both rounds."""
        tables, width = self._network.part.costs.tables, self._network.part.costs.width
        shares = np.array([self._share(s, held) for held in range(width)])
        one_way = tables.latency[:, :, None] + shares / tables.bandwidth[:, :, None]
        longer: Floats = 2 * np.maximum(one_way, one_way.transpose(1, 0, 2))
        return longer
