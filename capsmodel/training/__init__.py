"""A training from its first step to a network that predicts."""
