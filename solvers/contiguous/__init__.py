"""The solver `contiguous`: what one does by hand, site by site."""

from solvers.contiguous.solver import Contiguous as Contiguous
