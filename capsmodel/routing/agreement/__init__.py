"""Routing by agreement: its rounds, its softmaxes, and what the logits begin with."""
