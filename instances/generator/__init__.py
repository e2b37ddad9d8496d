"""How instances are made: the families, and what they share."""
