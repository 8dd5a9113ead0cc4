"""Sweeps as the text of Python files, as a person would write them."""
