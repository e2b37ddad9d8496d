"""What an iteration takes where speeds are not what was measured: seeded draws around the instance's speeds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.simulation.durations import Speeds
from instances.instance import Instance
from instances.seeds import seed_for


@dataclass(frozen=True)
class Jitter:
    """Spreads of log-normal factors with median 1, one for each draw of an iteration.

    A GPU has a factor on its seconds, a directed link (a pair of groups) one on its bandwidth and one on its latency.
    A draw is the same for all plans of an instance, so plans are compared under equal conditions.
    """

    compute: float = 0.0
    bandwidth: float = 0.0
    latency: float = 0.0

    def speeds(self, instance: Instance, seed: int, draw: int) -> Speeds:
        """The speeds of one draw."""
        rng = np.random.default_rng(seed_for("jitter", instance.name, seed, draw))
        exact, groups = Speeds.of(instance), len(instance.groups)
        return Speeds(
            slowdown=np.exp(self.compute * rng.standard_normal(instance.gpus)),
            bandwidth=exact.bandwidth * np.exp(self.bandwidth * rng.standard_normal((groups, groups))),
            latency=exact.latency * np.exp(self.latency * rng.standard_normal((groups, groups))),
        )
