"""What the two exact methods share: branch and bound over grids, its relaxations and records, terms of leaf models."""
