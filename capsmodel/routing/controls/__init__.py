"""Routings that look at nothing, which any claim about routing has to beat."""
