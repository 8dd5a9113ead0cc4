"""Which format a storage folder is written in, so that no release mistakes another's for its own.

A folder's number is in `format.json`; one that has none, but a cell or a journal, is of format 1.
Readers take every format up to their own. What changes a folder of an earlier format first copies
all that it may rewrite: the journals and the tracking store's database. Cells and artifacts are
only ever added to, and every format reads theirs.

    1   search accounts in the journal: tables `proposals` and `verdicts`
    2   every plan's decisions in the journal: table `decisions`
"""

import json
import os
import shutil
import time
from pathlib import Path

from capsmodel.whole_file import write_whole
from sweeps.records.errors import BadInput
from sweeps.storage.file_lock import FileLock
from sweeps.storage.locations import Storage
from sweeps.storage.regular_files import open_regular, read_regular, refuse_irregular

FORMAT = 2
_FIRST = 1
_FILE = "format.json"
_PATIENCE_SECONDS = 60.0
_MOST_BYTES = 1000


def store_format(storage: Storage) -> int:
    """Return the format of a storage folder; of one that holds nothing yet it is today's.

    Raises:
        BadInput: If its number cannot be read.
    """
    path = storage.root / _FILE
    if not os.path.lexists(path):
        is_old = any(storage.cells.glob("*/")) or any(storage.journals.glob("*.db"))
        return _FIRST if is_old else FORMAT
    try:
        number = json.loads(read_regular(path, _MOST_BYTES))["format"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        number = None
    if not isinstance(number, int) or isinstance(number, bool) or number < _FIRST:
        raise BadInput(
            f'{path} does not say which format the store has: it must hold {{"format": N}}, N a '
            f"whole number from {_FIRST}. Restore the file, or choose another --storage."
        )
    return number


def refuse_newer_format(storage: Storage) -> None:
    """Refuse a storage folder that a later release has written, or that leads elsewhere.

    Raises:
        BadInput: Naming both formats, or the link in it.
    """
    _refuse_links(storage)
    number = store_format(storage)
    if number > FORMAT:
        raise BadInput(
            f"The store {storage.root} has format {number}, and this capsweep reads formats up to "
            f"{FORMAT}: use the release that wrote it or a later one, or another --storage."
        )


def use_own_format(storage: Storage) -> Path | None:
    """Make a storage folder one of today's format, before anything else in it is changed.

    Returns:
        Where the files of an earlier format were copied to, None where there were none.

    Raises:
        BadInput: If the folder is of a later format.
        TimeoutError: If another process has been at it for a minute.
    """
    refuse_newer_format(storage)
    if (storage.root / _FILE).exists() and store_format(storage) == FORMAT:
        return None
    with FileLock(storage.root / f"{_FILE}.lock") as lock:
        _wait_for(lock)
        number = store_format(storage)
        copies = _backed_up(storage, number) if number < FORMAT else None
        write_whole(storage.root / _FILE, json.dumps({"format": FORMAT}).encode() + b"\n")
        return copies


def _refuse_links(storage: Storage) -> None:
    """Refuse links in place of what a storage folder itself holds: what is written would leave it.

    Whoever wants its parts on several disks mounts them there.
    """
    for database in storage.root.glob("mlflow.db*"):
        refuse_irregular(database)
    folders = (storage.cells, storage.journals, storage.artifacts, storage.replaced, storage.logs)
    for folder in (*folders, storage.root / "backups"):
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise BadInput(
                f"{folder} is a link or no folder, and is not followed: mount the disk there, or "
                f"choose another --storage."
            )


def _backed_up(storage: Storage, number: int) -> Path:
    """Copy what a later format may rewrite. A copy that was broken off is made anew."""
    target = storage.root / "backups" / f"format-{number}"
    unfinished = target.with_name(f"{target.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    if storage.journals.is_dir():
        copies = unfinished / storage.journals.name
        shutil.copytree(storage.journals, copies, symlinks=True, copy_function=_copy_regular)
    for database in storage.root.glob("mlflow.db*"):
        _copy_regular(str(database), str(unfinished / database.name))
    if os.path.lexists(target):  # of a folder whose number was lost since
        return _kept_earlier(target, unfinished)
    return unfinished.rename(target)


def _copy_regular(source: str, target: str) -> None:
    """Copy a file, but nothing that lies behind a link."""
    with os.fdopen(open_regular(Path(source)), "rb") as file, Path(target).open("xb") as copy:
        shutil.copyfileobj(file, copy)


def _kept_earlier(target: Path, unfinished: Path) -> Path:
    number = 2
    while os.path.lexists(candidate := target.with_name(f"{target.name}-{number}")):
        number += 1
    return unfinished.rename(candidate)


def _wait_for(lock: FileLock) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not lock.acquire():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{lock.path} has been held for {_PATIENCE_SECONDS:.0f} seconds")
        time.sleep(0.05)
