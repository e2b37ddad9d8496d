"""Studies of the suite itself: what makes problems hard, ablations, proof times."""
