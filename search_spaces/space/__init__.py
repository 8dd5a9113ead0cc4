"""The space of a search: what may vary, and the points of it."""
