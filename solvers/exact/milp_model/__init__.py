"""The mixed-integer program of one subproblem; `cpsat_model` is its twin. Import its modules late: they load PuLP."""
