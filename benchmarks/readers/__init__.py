"""What it takes to read a store: a store of any size, and the commands that read it."""
