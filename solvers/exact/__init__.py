"""What the two exact methods share: relaxations, parts of grids, the search over them and its records."""
