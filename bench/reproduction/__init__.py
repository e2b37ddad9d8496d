"""The tables of the papers by one command: suites run, reported, and set against what the papers say."""
