"""Sweep files to begin with: read as texts, imported by nobody."""
