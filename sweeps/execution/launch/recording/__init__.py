"""The tracking store opened for a launch, what was put aside in it, and what it lacks."""
