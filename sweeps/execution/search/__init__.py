"""A search as a plan: what is proposed next, what is stopped early, what is confirmed."""
