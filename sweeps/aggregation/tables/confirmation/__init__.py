"""The confirmation table of a search."""
