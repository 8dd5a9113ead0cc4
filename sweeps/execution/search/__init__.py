"""A search as a plan: proposals, early stopping, confirmation."""
