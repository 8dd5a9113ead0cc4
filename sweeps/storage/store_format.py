"""Which format a storage folder is written in, so that no release mistakes another's for its own.

The number is in `format.json`, which is written before anything else in a new folder. A folder that
has cells or queues but no such file was written before there was one: it is of format 1. A store
of another format than today's is refused and left untouched.
"""

import json
import os

from sweeps.records.errors import BadInput
from sweeps.storage.folder import Folder
from sweeps.storage.locations import Storage

FORMAT = 3
_FIRST = 1
_FILE = "format.json"
_MAX_BYTES = 1000


def store_format(storage: Storage) -> int:
    """Return the format of a storage folder; today's for a folder without cells and queues.

    Raises:
        BadInput: If its number cannot be read.
    """
    path = storage.root / _FILE
    if not os.path.lexists(path):
        is_old = any(storage.cells.glob("*/")) or any(storage.journals.glob("*.db"))
        return _FIRST if is_old else FORMAT
    try:
        number = json.loads(Folder(storage.root).read(_FILE, _MAX_BYTES))["format"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        number = None
    if not isinstance(number, int) or isinstance(number, bool) or number < _FIRST:
        raise BadInput(
            f'{path} does not say which format the store has: it must hold {{"format": N}}, N a '
            f"whole number from {_FIRST}. Restore the file, or choose another --storage."
        )
    return number


def check_format(storage: Storage) -> None:
    """Check that a storage folder has today's format and leads nowhere else.

    Raises:
        BadInput: Naming both formats, or the link in it.
    """
    _check_links(storage)
    number = store_format(storage)
    if number != FORMAT:
        raise BadInput(
            f"The store {storage.root} has format {number}, and this capsweep reads format "
            f"{FORMAT} only: use the release that wrote it, or choose another --storage."
        )


def write_format(storage: Storage) -> None:
    """Write today's format into a storage folder that does not say its format yet."""
    path = storage.root / _FILE
    if not os.path.lexists(path):
        Folder(storage.root).write(_FILE, json.dumps({"format": FORMAT}).encode() + b"\n")


def _check_links(storage: Storage) -> None:
    """Check that no part of a storage folder is a link, by which a write would leave the folder.

    Whoever wants its parts on several disks mounts them there.
    """
    root = Folder(storage.root)
    for database in storage.root.glob("mlflow.db*"):
        root.check_files(database.name)
    folders = (storage.cells, storage.journals, storage.artifacts, storage.replaced, storage.logs)
    for folder in folders:
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise BadInput(
                f"{folder} is a link or not a folder, and is not followed: mount the disk there, "
                f"or "
                f"choose another --storage."
            )
