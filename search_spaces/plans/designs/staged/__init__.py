"""Designs that choose by validation on seeds of their own, and compare on fresh ones."""
