"""Files of results: each is written whole or not at all, and never through a link."""

from pathlib import Path

from capsmodel.whole_file import write_whole
from sweeps.records.errors import BadInput
from sweeps.storage.leftover_files import remove_leftovers


def make_folder(folder: Path, name: str = "") -> Path:
    """Return the folder of that name in another one, or that one itself, without leftover files.

    It is created if it is missing.

    Raises:
        BadInput: If it cannot be made, or a link leads it elsewhere.
    """
    target = folder / name
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(target, error) from error
    check_inside(target, folder)
    remove_leftovers(target)
    return target


def check_inside(target: Path, folder: Path) -> None:
    """Check that no link leads a folder out of its parent.

    Raises:
        BadInput: If it does.
    """
    if not target.resolve().is_relative_to(folder.resolve()):
        raise BadInput(
            f"{target} leads out of {folder}: remove that link, or choose another folder."
        )


def write_result(path: Path, content: bytes) -> None:
    """Write a file whole, or leave the old one.

    Raises:
        BadInput: If it cannot be written.
    """
    try:
        write_whole(path, content)
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> BadInput:
    return BadInput(
        f"{path} cannot be written: {error.strerror}. Choose another folder, by --reports, --into "
        f"or --out."
    )
