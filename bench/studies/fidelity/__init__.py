"""What others measured on real clusters, and what the cost model and the simulator say of the same runs."""
