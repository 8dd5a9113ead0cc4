"""Downloads that end whole or not at all, whoever else downloads the same."""

import hashlib
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from filelock import FileLock, Timeout
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from capsmodel.data.archive import ROOT_VARIABLE, Archive, Archives

TIMEOUT_SECONDS = 20.0
_CHUNK_BYTES = 1 << 16

Advance = Callable[[int], None]


def ensure(archives: Archives, mirrors: Callable[[], Sequence[str]]) -> None:
    """Download what the folder lacks; where it lacks nothing, nothing is written.

    A file that is not whole is set aside under another name. Other processes wait until the
    files are there.

    Args:
        archives: What has to be there.
        mirrors: Addresses that a file's name is appended to, the first to be tried first; asked
            only where something is lacking.

    Raises:
        ValueError: If a file is lacking and no mirror gives it, or the folder cannot be written.
    """
    if not archives.lacking():
        return
    console = Console(stderr=True, soft_wrap=True, highlight=False, emoji=False, markup=False)
    try:
        with _alone(archives, console):
            if lacking := archives.lacking():  # another process may have downloaded meanwhile
                _Download(archives, mirrors(), console).run(lacking)
    except OSError as error:
        raise ValueError(
            f"{archives.title} is not complete in {archives.folder}, which cannot be written "
            f"({error.strerror or error}): {_advice(archives)}."
        ) from None


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


class _Download:
    """The files that one process fetches, under the lock, and what it tells of them."""

    def __init__(self, archives: Archives, mirrors: Sequence[str], console: Console) -> None:
        self._archives = archives
        self._folder = archives.folder
        self._mirrors = mirrors
        self._console = console
        self._set_asides: dict[str, str] = {}

    def run(self, lacking: Sequence[Archive]) -> None:
        for archive in lacking:
            self._set_aside(self._folder / archive.name)
        self._console.print(
            f"Downloading {self._archives.title}: {len(lacking)} of "
            f"{len(self._archives.files)} files, {_megabytes(lacking)}, to {self._folder}."
        )
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
        with Progress(
            *columns,
            TransferSpeedColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        ) as progress:
            for archive in lacking:
                task = progress.add_task(archive.name, total=archive.num_bytes)
                self._fetch(archive, lambda done, task=task: progress.update(task, completed=done))
                if progress.disable:
                    self._console.print(f"Downloaded {archive.name}, {_megabytes([archive])}.")

    def _set_aside(self, path: Path) -> None:
        if not path.exists():
            return
        number, aside = 1, path.with_name(f"{path.name}.damaged")
        while aside.exists():
            number += 1
            aside = path.with_name(f"{path.name}.damaged-{number}")
        path.rename(aside)
        self._set_asides[path.name] = aside.name
        self._console.print(f"{path} has a wrong checksum: it is now {aside.name}.")

    def _fetch(self, archive: Archive, advance: Advance) -> None:
        unfinished = self._folder / f"{archive.name}.unfinished"
        failures: list[str] = []
        try:
            for mirror in self._mirrors:
                address = mirror + archive.name
                if not (wrong := _receive(address, unfinished, archive, advance)):
                    unfinished.replace(self._folder / archive.name)
                    return
                failures.append(f"{address}: {wrong}")
        finally:
            unfinished.unlink(missing_ok=True)
        aside = self._set_asides.get(archive.name)
        before = f" (what was there is damaged, and now {aside})" if aside else ""
        raise ValueError(
            f"{archive.name} of {self._archives.title}{before} could not be downloaded "
            f"({'; '.join(failures)}): connect to the network, or {_advice(self._archives)}."
        )


def _receive(address: str, path: Path, archive: Archive, advance: Advance) -> str:
    """Write what an address gives. Returns what is wrong with it, empty if nothing is."""
    digest, num_bytes = hashlib.md5(usedforsecurity=False), 0
    request = Request(address, headers={"User-Agent": "capsweep"})
    try:
        with urlopen(request, timeout=TIMEOUT_SECONDS) as response, path.open("wb") as file:
            while num_bytes <= archive.num_bytes and (chunk := response.read(_CHUNK_BYTES)):
                file.write(chunk)
                digest.update(chunk)
                num_bytes += len(chunk)
                advance(num_bytes)
            file.flush()
            os.fsync(file.fileno())
    except HTTPError as error:
        return f"it answers {error.code} {error.reason}"
    except (OSError, HTTPException) as error:
        return str(error.reason if isinstance(error, URLError) else error)
    if num_bytes != archive.num_bytes:
        more = "more" if num_bytes > archive.num_bytes else "less"
        return f"it gave {more} than the {archive.num_bytes} bytes expected"
    return "" if digest.hexdigest() == archive.md5 else "it gave a file with another checksum"


def _advice(archives: Archives) -> str:
    names = ", ".join(file.name for file in archives.lacking())
    return (
        f"put {names} into {archives.folder} by hand, or let {ROOT_VARIABLE} name a folder "
        f"with {archives.title}/raw in it"
    )


def _megabytes(archives: Sequence[Archive]) -> str:
    return f"{sum(archive.num_bytes for archive in archives) / 1e6:.1f} MB"
