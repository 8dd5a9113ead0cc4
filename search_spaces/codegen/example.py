"""Example sweep files to start from."""

from pathlib import Path

_EXAMPLES = Path(__file__).parent / "examples"
_NAME = "my_sweep"


def example_text(name: str, *, is_search: bool = False) -> str:
    """Return the text of a sweep file that runs as it is, with a comment on each thing to change.

    Args:
        name: Name of the sweep and of the file.
        is_search: Whether it is a search; otherwise a design with custom parts.
    """
    file = _EXAMPLES / ("search.py" if is_search else "design.py")
    return file.read_text(encoding="utf-8").replace(_NAME, name)
