"""Whether any file of some folders may have changed, told without reading one."""

import hashlib
import os
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

_TOO_NEW_NS = 3 * 10**9  # file systems tell times by steps of up to two seconds


def state_of(paths: Iterable[Path], passed_over: Collection[str] = ()) -> str | None:
    """Return a digest of name, place on the disk, size and times of files and all files below.

    Equal digests mean that no file was written, added or removed in between.

    Args:
        paths: Files and folders; what is not there counts as such.
        passed_over: Names of folders that are not looked into.

    Returns:
        None where something has changed within the last seconds: another change may bear the same
        time. So it is where it changes while it is looked at.
    """
    hashed = hashlib.sha256()
    newest = 0
    try:
        for place in paths:
            for path, status in _files(str(place), passed_over):
                times = (status.st_mtime_ns, status.st_ctime_ns)
                hashed.update(repr((path, status.st_ino, status.st_size, *times)).encode())
                newest = max(newest, *times)
    except OSError:
        return None
    return hashed.hexdigest() if newest < time.time_ns() - _TOO_NEW_NS else None


def _files(path: str, passed_over: Collection[str]) -> Iterator[tuple[str, os.stat_result]]:
    """Yield what is no folder, links below it as themselves, in the order of their names."""
    try:
        entries = sorted(os.scandir(path), key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        yield path, Path(path).stat()  # of what is read, should a link lead to it
        return
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            yield entry.path, entry.stat(follow_symlinks=False)
        elif entry.name not in passed_over:
            yield from _files(entry.path, passed_over)
