"""Tables of factors: their effects, means by level, shares, and which component is in which arm."""
