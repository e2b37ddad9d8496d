"""THE METHODS: every way to find or to prove a plan. Imports `instances` only."""
