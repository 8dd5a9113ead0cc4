"""One trial in its process."""
