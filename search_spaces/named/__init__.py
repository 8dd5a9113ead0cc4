"""The named sweeps, one a file; `quickstart` stands above, as it is what others begin with."""
