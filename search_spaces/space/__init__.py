"""What may vary in a search, and the points of it."""
