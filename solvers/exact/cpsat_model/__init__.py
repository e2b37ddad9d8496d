"""The CP-SAT model of one subproblem; `milp_model` is its twin. Import its modules late: they load OR-Tools."""
