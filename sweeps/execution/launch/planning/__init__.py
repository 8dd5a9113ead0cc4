"""Planning seeds: what a difference takes, what that costs, and into the sweep's file."""
