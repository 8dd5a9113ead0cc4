"""Fields that settings and records have gained since they were first written."""

from typing import Any

from pydantic import Field


def later(default: Any) -> Any:
    """Return a field that is written only where it differs from its default.

    So settings, a manifest, an outbox or a final record of an earlier release are written again to
    the same bytes, and an earlier release still reads what does not use the field.
    """
    return Field(default=default, exclude_if=lambda value: value == default)
