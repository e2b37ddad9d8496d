"""The gradient exchange (docs/model.md, Gradient exchange) in whole units rounded down."""

from __future__ import annotations

from functools import cached_property
from math import ceil, floor, inf

import numpy as np
from ortools.sat.python import cp_model

from solvers.exact.cpsat_model.assignment import Network
from solvers.exact.cpsat_model.rows import Terms, add_row, rounded


class Exchange:
    """The seconds of every holder's two ports, and the energy of the gradients moved; for several pipelines."""

    def __init__(self, network: Network) -> None:
        self._network, self._tables = network, network.tables

    def seconds(self, units: float, most: int) -> cp_model.IntVar:
        """A variable at least every holder's seconds of the exchange above the least, both ports."""
        network, tables, sub = self._network, self._tables, self._network.subproblem
        if sub.sync_high < inf:  # the range above the least may be wide: cut only where its own limit is known
            most = min(most, floor((sub.sync_high - sub.sync_low) * units * (1 + 1e-9)) + 1)
        sync = network.model.new_int_var(0, most, f"sync_{len(network.model.proto.variables)}")
        least = ceil(sub.sync_low * units)
        for s in range(network.stages):
            for k, held in sorted({key for r in range(network.replicas) for key in network.serve[r, s]}):
                share = self._share(s, held)
                for port in (
                    2 * (tables.latency[k] + share / tables.bandwidth[k]),
                    2 * (tables.latency[:, k] + share / tables.bandwidth[:, k]),
                ):
                    terms = [
                        (min(floor(float(port[j]) * units), most + least + 1), x)
                        for r in range(network.replicas)
                        for (j, count), x in network.serve[r, s].items()
                        if count == held and (j != k or tables.counts[k] > 1)
                    ]
                    own = min(ceil(float(port[k]) * units), most + least + 1) if tables.counts[k] > 1 else 0
                    row = add_row(network.model, sync, terms, -own - least)
                    row.only_enforce_if(network.holder(s, k, held))
        return sync

    def most_seconds(self, most_s: float) -> float:
        """Sum of the costs of the largest row of `seconds`: every slot of a stage may stand for any group."""
        network = self._network
        widest = max(len({k for k, _ in network.serve[0, s]}) for s in range(network.stages)) + 2
        return most_s * network.replicas * widest

    def energy(self, units: float, limit: int) -> list[cp_model.IntVar]:
        """For every stage, a variable at least the energy of its gradient exchange."""
        network, by_stage = self._network, {}
        for s, held, terms in self.pairs:
            if s not in by_stage:
                by_stage[s] = network.model.new_int_var(0, limit, f"exchange_{s}_{len(network.model.proto.variables)}")
            whole = rounded(terms, units, (limit + 1) / units)
            for (_, count), x in network.serve[0, s].items():
                if count == held:
                    add_row(network.model, by_stage[s], whole).only_enforce_if(x)
        return list(by_stage.values())

    @cached_property
    def pairs(self) -> list[tuple[int, int, Terms]]:
        """(stage, layers, energy of each pair of slots that may hold it), where the exchange costs energy."""
        network, found = self._network, []
        both_ways = self._tables.per_byte + self._tables.per_byte.T
        for s in range(network.stages) if both_ways.any() else ():
            met: list[tuple[float, cp_model.IntVar]] = []
            for r in range(network.replicas):
                for q in range(r + 1, network.replicas):
                    for k in sorted({k for k, _ in network.serve[r, s]}):
                        for j in sorted({j for j, _ in network.serve[q, s]}):
                            if both_ways[k, j] > 0:
                                # meet is 1 when stage s is on group k in pipeline r and on j in q
                                meet = network.model.new_bool_var(f"meet_{s}_{r}_{q}_{k}_{j}")
                                here, there = network.on(r, s, k), network.on(q, s, j)
                                network.model.add(sum(here) + sum(there) <= 1 + meet)
                                met.append((float(both_ways[k, j]), meet))
            for held in np.flatnonzero(network.subproblem.can_serve[0, s].any(axis=0)):
                share = 2 * self._share(s, int(held))
                found.append((s, int(held), [(share * cost, x) for cost, x in met]))
        return found

    def _share(self, s: int, held: int) -> float:
        """Bytes that a holder serves of a stage's gradient, G_s / R."""
        gradient = self._tables.gradient[int(s == 0), int(s == self._network.stages - 1), held]
        return float(gradient) / self._network.replicas
