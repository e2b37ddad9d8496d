"""Shared by all methods: the interface, the registry, the deadline, the compiler."""
