"""What commands answer with `--json`: shapes that are documented in docs/json.md."""
