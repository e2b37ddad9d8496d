"""What every method shares: the interface, the registry, the deadline, the compiler."""
