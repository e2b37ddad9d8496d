"""Instance generation: the families, and what they share."""
