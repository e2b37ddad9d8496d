"""Runs: suites, tasks, isolated processes, the judge and the store."""
