"""Commands on what was launched: what differs, its logs, its stop from elsewhere, its deletion."""
