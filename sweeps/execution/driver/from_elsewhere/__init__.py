"""A launch that another process runs: its logs, and its stop."""
