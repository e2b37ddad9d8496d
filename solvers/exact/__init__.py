"""Shared by the two exact methods: branch and bound over grids, relaxations, records, costs of the leaf models."""
