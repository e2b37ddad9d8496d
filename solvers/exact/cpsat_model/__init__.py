"""The CP-SAT model of one part of a grid. Import its modules late: they load OR-Tools."""
