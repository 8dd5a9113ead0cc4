"""Which arms a sweep has: declared in full, or proposed by a search."""
