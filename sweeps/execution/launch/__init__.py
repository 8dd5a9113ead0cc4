"""A launch in its stages, in the order in which they happen; `launch` reads as their table."""
