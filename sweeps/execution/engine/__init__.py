"""Who is trained next, and Ray Tune that does it."""
