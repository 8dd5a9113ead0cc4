"""A new file for the user, which never replaces one of theirs."""

from pathlib import Path

from sweeps.records.errors import BadInput
from sweeps.storage.folder import Folder


def check_new_file(path: Path, text: str) -> None:
    """Check that a path is free, or holds just this text, and can hold a Python file.

    Raises:
        BadInput: In one sentence, if not.
    """
    if path.suffix != ".py":
        raise BadInput(f"--out is to be the path of a Python file, x.py, got '{path}'.")
    if not path.parent.is_dir():
        raise BadInput(f"There is no folder '{path.parent}' for the file: make it first.")
    try:
        path.lstat()
        is_same = path.is_file() and not path.is_symlink() and path.read_bytes() == text.encode()
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise BadInput(f"There can be no file '{path}' ({error}): give --out.") from error
    if not is_same:
        raise BadInput(f"Another file '{path}' exists already: give --out or --name.")


def write_new(path: Path, text: str, advice: str = "give --out") -> None:
    """Write a text to a path that was checked.

    Args:
        path: A Python file that does not exist yet, or has this text.
        text: The text.
        advice: What the error says to do if the path is not writable.

    Raises:
        BadInput: If it cannot be written.
    """
    try:
        Folder(path.parent).write(path.name, text.encode())
    except OSError as error:
        raise BadInput(f"'{path}' cannot be written ({error.strerror}): {advice}.") from error
