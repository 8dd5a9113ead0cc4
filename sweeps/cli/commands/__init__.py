"""The commands, one a file: what it takes, what it calls, what it prints."""
