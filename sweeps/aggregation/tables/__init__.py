"""Tables and figures: one file a kind with its maker, values and notes, one with its figure."""
