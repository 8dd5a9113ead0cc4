"""The table of a search with two objectives."""
