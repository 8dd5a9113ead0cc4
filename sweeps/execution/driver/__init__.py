"""A launch: what there is to do, doing it, showing it, ending it."""
