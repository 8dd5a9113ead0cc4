"""Runs the cells of a sweep and records them."""
