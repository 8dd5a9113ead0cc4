"""A new file for the user, which never replaces one of theirs."""

from pathlib import Path

from sweeps.execution.launch.writing.options import FileOptions
from sweeps.records.errors import BadInput
from sweeps.storage.folder import Folder


def write_sweep(text: str, name: str, options: FileOptions) -> Path:
    """Write a sweep's file to `--out`, else to its name in the current folder.

    Raises:
        BadInput: In one sentence, if the path is taken, or cannot hold a Python file.
    """
    path = Path(f"{name}.py" if options.out is None else options.out)
    if path.suffix != ".py":
        raise BadInput(f"--out is to be the path of a Python file, x.py, got '{path}'.")
    if not path.parent.is_dir():
        raise BadInput(f"There is no folder '{path.parent}' for the file: make it first.")
    try:
        path.lstat()
        is_same = path.is_file() and not path.is_symlink() and path.read_bytes() == text.encode()
    except FileNotFoundError:
        is_same = True
    except (OSError, ValueError) as error:
        raise BadInput(f"There can be no file '{path}' ({error}): give --out.") from error
    if not is_same:
        raise BadInput(f"Another file '{path}' exists already: give --out or --name.")
    write_new(path, text)
    return path


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
