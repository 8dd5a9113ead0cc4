"""Tables and figures: each kind is its table with its maker, its figure and its notes."""
