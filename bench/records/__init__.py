"""Records of runs, where they were made, and the best known values."""
