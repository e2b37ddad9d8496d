"""RUN, RECORD, REPORT: suites, the store, the tables and the command line."""
