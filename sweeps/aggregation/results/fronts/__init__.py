"""What came of a search with two objectives."""
