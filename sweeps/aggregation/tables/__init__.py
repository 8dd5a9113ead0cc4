"""Tables as values, made from results."""
