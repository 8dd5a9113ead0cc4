"""Where records are kept: what a store is, its members, and the way from an address to one."""
