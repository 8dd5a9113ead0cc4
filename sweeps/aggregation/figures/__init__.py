"""Figures as bytes, made from results."""
