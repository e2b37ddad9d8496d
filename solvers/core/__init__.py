"""What every method shares: the interface, the registry, the clock, the compiler."""
