"""A plan for one's own pool: what to do, why, how good it is, and what else would help."""
