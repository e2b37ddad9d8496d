"""THE PROBLEM: what is given, what an answer is, what it costs. Imports none of our other packages."""
