"""Code compiled by numba. Import its modules late: loading numba takes a second."""
