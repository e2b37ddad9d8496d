"""DT-FM's scheduler: its cost, its genetic algorithm and the solver `dtfm`."""

from solvers.dtfm.solver import Dtfm as Dtfm
