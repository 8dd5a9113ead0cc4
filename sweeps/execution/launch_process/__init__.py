"""The process that runs a sweep: its lock, its stop from another shell, its logs."""
