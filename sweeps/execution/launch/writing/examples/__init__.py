"""Sweep files to begin with: templates that are Python too, imported by nobody."""
