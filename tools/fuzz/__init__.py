"""Stores that are damaged or hostile, and the commands that read them."""
