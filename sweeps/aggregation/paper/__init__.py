"""A sweep's results for a paper: its table, its numbers as macros, its checklist."""
