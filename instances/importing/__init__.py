"""One's own pool from what one has: lists of GPUs, measured links, and a model's configuration."""
