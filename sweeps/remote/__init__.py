"""Sweeps on other machines: a cluster is started, checked and given sweeps, all through ssh."""
