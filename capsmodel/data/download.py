"""Downloads from a mirror to a file; an interrupted transfer is resumed."""

import hashlib
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from filelock import FileLock, Timeout
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TransferSpeedColumn,
)

from capsmodel.data.archive import ROOT_VARIABLE, Archive, Archives

TIMEOUT_SECONDS = 20.0
_CHUNK_BYTES = 1 << 16
_PARTIAL_CONTENT = 206
_RANGE_NOT_SATISFIABLE = 416
Advance = Callable[[int, int | None], None]


def ensure(archives: Archives, mirrors: Callable[[], Sequence[str]]) -> None:
    """Download the missing files; if none is missing, write nothing.

    A damaged file is never replaced at once: it is renamed, and an error raised. It is missing from
    then on, so the next call downloads it. What a broken download received is kept, and the next
    request resumes from there. Other processes wait until the files exist.

    Args:
        archives: The archives that are needed.
        mirrors: Addresses that a file's name is appended to, the first to be tried first; asked
            only where something is missing.

    Raises:
        ValueError: If a file is damaged, or missing and no mirror gives it, or the folder cannot
            be written.
    """
    if not archives.lacking():
        return
    console = Console(stderr=True, soft_wrap=True, highlight=False, emoji=False, markup=False)
    damaged = archives.damaged()
    try:
        with _alone(archives, console):
            _check_undamaged(archives, damaged)
            if missing := archives.lacking():  # another process may have downloaded meanwhile
                _Download(archives, mirrors(), console).run(missing)
    except OSError as error:
        names = ", ".join(path.name for path in damaged)
        what = f"damaged ({names} with a wrong checksum)" if damaged else "not complete"
        raise ValueError(
            f"{archives.title} is {what} in {archives.folder}, which cannot be written "
            f"({error.strerror or error}): {_advice(archives)}."
        ) from None


def receive(address: str, path: Path, archive: Archive, advance: Advance) -> str:
    """Download an address into a file, after the bytes that the file already holds.

    If the file is incomplete afterwards, a part that can be continued stays for the next attempt,
    and any other is removed. A server that does not send parts sends it from the start.

    Args:
        address: Address of the file.
        path: Where to write it.
        archive: The expected file.
        advance: Called after each piece with the bytes received and the total, None if unknown.

    Returns:
        What is wrong with it, empty if nothing is.
    """
    is_continued = path.exists()
    if wrong := _append(address, path, archive, advance):
        return wrong
    with path.open("rb") as file:
        if hashlib.file_digest(file, "md5").hexdigest() == archive.md5:
            return ""
    path.unlink()
    if is_continued:  # the beginning may have been of another file
        return receive(address, path, archive, advance)
    return "it gave a file with another checksum"


def _append(address: str, path: Path, archive: Archive, advance: Advance) -> str:
    """Write until the response ends. Returns the error, empty if no byte is known to be missing."""
    num_received = path.stat().st_size if path.exists() else 0
    headers = {"User-Agent": "capsweep"} | (
        {"Range": f"bytes={num_received}-"} if num_received else {}
    )
    try:
        with urlopen(Request(address, headers=headers), timeout=TIMEOUT_SECONDS) as response:
            if response.status != _PARTIAL_CONTENT:
                num_received = 0
            total = archive.num_bytes
            if total is None and response.length is not None:
                total = num_received + response.length
            return _write(response, path, num_received, total=total, advance=advance)
    except HTTPError as error:
        if num_received and error.code == _RANGE_NOT_SATISFIABLE:  # there is no more than was kept
            return ""
        return f"it answers {error.code} {error.reason}"
    except (OSError, HTTPException) as error:
        return str(error.reason if isinstance(error, URLError) else error)


def _write(
    response: HTTPResponse, path: Path, num_received: int, *, total: int | None, advance: Advance
) -> str:
    num_bytes = num_received
    with path.open("ab" if num_received else "wb") as file:
        while (total is None or num_bytes <= total) and (chunk := response.read(_CHUNK_BYTES)):
            file.write(chunk)
            num_bytes += len(chunk)
            advance(num_bytes, total)
        file.flush()
        os.fsync(file.fileno())
    if total is None or num_bytes == total:
        return ""
    if num_bytes < total:
        return f"it gave less than the {total} bytes expected"
    path.unlink()
    return f"it gave more than the {total} bytes expected"


@contextmanager
def _alone(archives: Archives, console: Console) -> Generator[None]:
    """Hold the folder's lock, which the kernel frees when its process dies."""
    archives.folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(archives.folder / "download.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        console.print(f"Waiting for another process that downloads {archives.title}.")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _check_undamaged(archives: Archives, seen: Sequence[Path]) -> None:
    """Set damaged files aside and raise an error that names them.

    Args:
        archives: All archives.
        seen: Files that were already known to be damaged before this process waited for others.

    Raises:
        ValueError: If there is any, also if another process has set it aside just before.
    """
    damaged = [*archives.damaged(), *(path for path in seen if not path.exists())]
    if damaged:
        names = ", ".join(f"{path.name} (set aside as {_set_aside(path).name})" for path in damaged)
        raise ValueError(
            f"{archives.title} is damaged in {archives.folder}, with a wrong checksum of {names}: "
            f"run the same command again to download the damaged files again, or put complete "
            f"files there."
        )


def _set_aside(path: Path) -> Path:
    """Set a file aside under a new name; files that were set aside earlier stay."""
    number, newest = 1, path.with_name(f"{path.name}.damaged")
    aside = newest
    while aside.exists():
        number, newest = number + 1, aside
        aside = path.with_name(f"{path.name}.damaged-{number}")
    return path.rename(aside) if path.exists() else newest


class _Download:
    """The files that one process downloads under the lock, and the progress that it prints."""

    def __init__(self, archives: Archives, mirrors: Sequence[str], console: Console) -> None:
        self._archives = archives
        self._folder = archives.folder
        self._mirrors = mirrors
        self._console = console

    def run(self, missing: Sequence[Archive]) -> None:
        self._console.print(
            f"Downloading {self._archives.title}: {len(missing)} of "
            f"{len(self._archives.files)} files{_size(missing)}, to {self._folder}."
        )
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
        with Progress(
            *columns,
            TransferSpeedColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        ) as progress:
            for archive in missing:
                task = progress.add_task(archive.name, total=archive.num_bytes)
                advance = partial(_show, progress, task)
                num_bytes = self._fetch(archive, advance)
                if progress.disable:
                    self._console.print(f"Downloaded {archive.name}, {_megabytes(num_bytes)}.")

    def _fetch(self, archive: Archive, advance: Advance) -> int:
        """Download the file and return its size."""
        unfinished = self._folder / f"{archive.name}.unfinished"
        failures: list[str] = []
        for mirror in self._mirrors:
            address = mirror + archive.name
            if not (wrong := receive(address, unfinished, archive, advance)):
                return unfinished.replace(self._folder / archive.name).stat().st_size
            failures.append(f"{address}: {wrong}")
        remedy = "connect to the network"
        if unfinished.exists():
            received = _megabytes(unfinished.stat().st_size)
            remedy = f"run the same command again, which resumes after the {received} received"
        raise ValueError(
            f"{archive.name} of {self._archives.title} could not be downloaded "
            f"({'; '.join(failures)}): {remedy}, or {_advice(self._archives)}."
        )


def _show(progress: Progress, task: TaskID, num_bytes: int, total: int | None) -> None:
    progress.update(task, completed=num_bytes, total=total)


def _advice(archives: Archives) -> str:
    names = ", ".join(file.name for file in archives.lacking())
    return (
        f"put {names} into {archives.folder} by hand, or let {ROOT_VARIABLE} name a folder "
        f"with {archives.title}/raw in it"
    )


def _size(archives: Sequence[Archive]) -> str:
    sizes = [archive.num_bytes for archive in archives if archive.num_bytes is not None]
    return f", {_megabytes(sum(sizes))}" if len(sizes) == len(archives) else ""


def _megabytes(num_bytes: int) -> str:
    return f"{num_bytes / 1e6:.1f} MB"
