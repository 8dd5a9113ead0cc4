"""Sweeps written as the Python files that a person would have written."""
