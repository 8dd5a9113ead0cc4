"""Intervals, tests and powers: arrays in, numbers out. Nothing here knows of sweeps or records."""
