"""The problem: instances, plans and their cost. Imports no other package of the project."""
