"""GeoTrain's memetic algorithm; see DESIGN.md beside this file."""

from solvers.memetic.algorithm import Memetic

__all__ = ["Memetic"]
