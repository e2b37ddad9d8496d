"""One module for each family of instances; a module with a `FAMILY` is found by itself."""
