"""Rows of a design that came out as one arm."""

from collections.abc import Iterator

from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line, shortened

_MOST_NAMED = 3


def same_row_notes(manifest: Manifest) -> Iterator[str]:
    """Say which arms stand for rows of the design that are the same configuration."""
    same = manifest.design.same if manifest.design else {}
    for name, rows in list(same.items())[:_MOST_NAMED]:
        yield shortened(
            f"{one_line(name)} stands for {' and '.join(map(one_line, rows))} of the design, which "
            f"{'is' if len(rows) == 1 else 'are'} the same configuration.",
            400,
        )
    if (more := len(same) - _MOST_NAMED) > 0:
        word = "arms stand" if more > 1 else "arm stands"
        yield f"{more} more {word} for rows of the design that are the same configuration."
