"""Re-checks what a run folder claims."""
