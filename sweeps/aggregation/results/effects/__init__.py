"""From arms of crossed factors to what each factor does, and each two of them together."""
