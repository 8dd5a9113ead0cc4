"""A cell's folder and what lies in it."""
