"""The mixed-integer programme of one part of a grid. Import its modules late: they load PuLP and HiGHS."""
