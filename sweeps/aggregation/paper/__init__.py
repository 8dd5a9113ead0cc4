"""What a paper takes over from a sweep: its table, its numbers as macros, its checklist."""
