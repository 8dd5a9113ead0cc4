"""Routing by expectation maximisation."""
