"""The methods that find plans and prove bounds. Imports `instances` only."""
