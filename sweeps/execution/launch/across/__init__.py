"""Launches of a sweep across data sets: one after the other, the sweep of each data set."""
