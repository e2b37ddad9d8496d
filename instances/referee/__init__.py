"""The referee: whether a plan is feasible and what it costs. Every published number comes from here."""
