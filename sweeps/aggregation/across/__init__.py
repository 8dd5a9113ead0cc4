"""Sweeps across data sets: what the records of all their data sets say together."""
