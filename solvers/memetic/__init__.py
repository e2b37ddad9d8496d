"""GeoTrain's memetic algorithm; see docs/memetic.md."""

from solvers.memetic.algorithm import Memetic

__all__ = ["Memetic"]
