"""Files that killed writers have left, told from those that somebody writes now."""

import re
import stat
import time
from contextlib import suppress
from pathlib import Path

import psutil

from capsmodel.whole_file import UNFINISHED, this_machine
from sweeps.storage.folder import Folder

_UNTOUCHED_SECONDS = 24 * 3600.0
_WRITTEN_WHOLE = re.compile(rf".+\.([0-9a-f]{{8}})-(\d{{1,9}})\.{UNFINISHED}")
_OTHERWISE = re.compile(rf".+\.{UNFINISHED}(-journal)?")  # of databases and downloads


def is_temporary(name: str) -> bool:
    """Return whether a file's name is one that it has only while it is written."""
    return bool(_WRITTEN_WHOLE.fullmatch(name) or _OTHERWISE.fullmatch(name))


def is_left_over(path: Path) -> bool:
    """Return whether a file is what a killed writer has left.

    One that this machine's process writes is left over when that process is gone. Of other
    machines nothing is known, nor who writes a file whose name does not tell: these count when
    nobody has touched them for a day.
    """
    if not is_temporary(path.name):
        return False
    try:
        status = path.lstat()
    except FileNotFoundError:  # it is in its place by now
        return False
    if not stat.S_ISREG(status.st_mode):
        return False
    writer = _WRITTEN_WHOLE.fullmatch(path.name)
    if writer and writer[1] == this_machine():
        return not psutil.pid_exists(int(writer[2]))
    return time.time() - status.st_mtime > _UNTOUCHED_SECONDS


def remove_leftovers(folder: Folder) -> None:
    """Remove what killed writers have left in a folder, as far as that is allowed."""
    for name in folder.names():
        if is_left_over(folder.path / name):
            with suppress(OSError):
                folder.remove(name)
