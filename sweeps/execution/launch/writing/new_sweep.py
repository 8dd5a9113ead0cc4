"""`new`: a sweep file to start from, in the current folder."""

import importlib.util
from pathlib import Path
from typing import Literal

from search_spaces.catalogue import named_sweeps
from sweeps.execution.launch.writing.new_file import write_new
from sweeps.records.errors import BadInput
from sweeps.records.trial_record import SLUG, SLUG_WORDS

_EXAMPLES = Path(__file__).parent / "examples"
_NAME_IN_EXAMPLES = "my_sweep"


Example = Literal["design", "search", "model"]


def example_text(name: str, example: Example = "design") -> str:
    """Return the text of a sweep file that runs as it is, with a comment on each thing to change.

    Args:
        name: Name of the sweep and of the file.
        example: A design with custom parts, a search, or a design with a network of one's own.
    """
    file = _EXAMPLES / f"{example}.py"
    return file.read_text(encoding="utf-8").replace(_NAME_IN_EXAMPLES, name)


def new_sweep(name: str, example: Example = "design") -> Path:
    """Write a commented sweep file that runs as it is.

    Args:
        name: The name of the sweep; the file is `NAME.py` in the current folder.
        example: As of `example_text`.

    Raises:
        BadInput: In one sentence, if the name is not valid or the file exists. Nothing was
            written.
    """
    _check_name(name)
    path = Path(f"{name}.py")
    if path.exists() or path.is_symlink():
        raise BadInput(f"The file '{path}' exists already: give another name, or move it away.")
    _check_package(name)
    write_new(path, example_text(name, example), advice="choose another folder")
    return path


def _check_name(name: str) -> None:
    if not SLUG.fullmatch(name):
        raise BadInput(f"'{name}' is not a sweep's name: {SLUG_WORDS}, such as my_sweep.")
    if name in {entry.name for entry in named_sweeps()}:
        raise BadInput(
            f"'{name}' is a sweep of the package, whose records yours would meet: give it another "
            f"name, such as my_{name}."
        )


def _check_package(name: str) -> None:
    """Check that the file would not shadow a Python package."""
    if importlib.util.find_spec(name) is not None:
        raise BadInput(
            f"'{name}' is a Python package, which a file '{name}.py' would hide: give it another "
            f"name, such as my_{name}."
        )
