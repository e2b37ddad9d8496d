"""The solver `random`: the best of many random feasible plans."""

from solvers.random_search.solver import RandomSearch as RandomSearch
