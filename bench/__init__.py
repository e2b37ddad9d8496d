"""Runs, records and reports, and the command line."""
