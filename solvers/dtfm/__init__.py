"""DT-FM's scheduler: its cost, its genetic algorithm and the solver `dtfm`."""

from solvers.dtfm.scheduler import Dtfm as Dtfm
