"""Fields that a recorded model has gained since stores were first written with it."""

from typing import Any

from pydantic import Field


def later(default: Any) -> Any:
    """Return a field that is written only where it differs from its default.

    So a manifest, an outbox or a final record of an earlier release is written again to the same
    bytes, and an earlier release still reads what does not use the field.
    """
    return Field(default=default, exclude_if=lambda value: value == default)
