"""Which trials are meant: conditions on settings, metrics and columns, parsed and never run."""
