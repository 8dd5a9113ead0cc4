"""Sweep files that are written for the user."""
