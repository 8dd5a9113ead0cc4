"""Settings and parts: kinds, profiles, and messages about both."""
