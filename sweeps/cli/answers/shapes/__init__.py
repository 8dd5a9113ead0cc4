"""The shapes of what commands answer with `--json`, the one place where they are said.

Each answer names its shape in `format`. A number behind it is raised when a field goes or means
something else; a field may be added without. NaN and infinities are the texts "NaN", "Infinity" and
"-Infinity", as JSON has no such numbers. docs/json.md is made of what stands here.
"""
