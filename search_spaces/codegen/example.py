"""A sweep file to begin with, of one's own name."""

from pathlib import Path

_EXAMPLES = Path(__file__).parent / "examples"


_NAME = "my_sweep"


def example_text(name: str, *, is_search: bool = False) -> str:
    """Return the text of a file that runs as it is, with a comment on each thing to change.

    Args:
        name: Of its sweep, which the file is to be called by.
        is_search: Whether it is a search; else it is a design, with parts of one's own.
    """
    file = _EXAMPLES / ("search.py" if is_search else "design.py")
    return file.read_text(encoding="utf-8").replace(_NAME, name)
