"""Files of drawn images, which are drawn once for all processes."""

import hashlib
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from filelock import FileLock, Timeout
from jaxtyping import UInt8
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from capsmodel.data.archive import ROOT_VARIABLE, data_root
from capsmodel.data.viewpoints.drawing import Drawn, joined
from capsmodel.data.viewpoints.renderer import IMAGE_SHAPE
from capsmodel.whole_file import UNFINISHED, write_whole

_FOLDER = "viewpoints"


class PixelFile(NamedTuple):
    """Stereo pairs one after the other, a byte a pixel and nothing else.

    Attributes:
        name: Its name, with the renderer's version, so that versions stand side by side.
        num_pairs: Number of pairs.
        sha256: Checksum of its bytes.
    """

    name: str
    num_pairs: int
    sha256: str

    @property
    def num_bytes(self) -> int:
        """Its size."""
        return self.num_pairs * int(np.prod(IMAGE_SHAPE))

    def is_somewhere(self) -> bool:
        """Return whether the file exists, complete or not."""
        for folder in folders():
            with suppress(OSError):  # a folder that lets nobody in has no file for us
                if (folder / self.name).exists():
                    return True
        return False

    def mapped(self, path: Path) -> UInt8[np.ndarray, "pairs 2 48 48"]:
        """Map its pairs into memory; processes on one machine share the pages."""
        return np.memmap(path, np.uint8, mode="r", shape=(self.num_pairs, *IMAGE_SHAPE))


def folders() -> list[Path]:
    """Return the folders in which files are looked up and stored, the best one first.

    These are the data root and, as that may be read-only, the user's cache.

    Raises:
        ValueError: If the data root names a user who does not exist.
    """
    roots = [data_root()]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    with suppress(RuntimeError):  # a user without a home has the data root alone
        roots.append(cache.expanduser().resolve() / "capsweep" / "data")
    return [root / _FOLDER for root in dict.fromkeys(roots)]


def ensure(file: PixelFile, draw: Callable[[], Iterator[Drawn]]) -> Path:
    """Return the path of a file and draw it if it does not exist; other processes wait for it.

    A file with a wrong checksum is set aside under another name and drawn anew.

    Args:
        file: The file that is needed.
        draw: Gives its pairs, asked only where they have to be drawn.

    Raises:
        ValueError: If no folder can be written, or the pairs drawn are not those expected.
    """
    for folder in folders():
        with suppress(OSError):  # reported below, if the file exists nowhere else
            if _is_whole(folder / file.name, file):
                return folder / file.name
    console = Console(stderr=True, soft_wrap=True, highlight=False, emoji=False, markup=False)
    failures: list[str] = []
    for folder in folders():
        try:
            with _alone(folder, console):
                path = folder / file.name
                if not _is_whole(path, file):  # another process may have drawn it meanwhile
                    _set_aside(path, console)
                    _write(path, file, _drawn(file, draw, folder, console))
                return path
        except OSError as error:
            reason = error.strerror or str(error)
            failures.append(f"{folder}: {reason}")
            console.print(
                f"{file.name} is missing or damaged, and {folder} cannot be written ({reason})."
            )
    raise ValueError(
        f"{file.name} of viewpoints is nowhere, and can be kept nowhere ({'; '.join(failures)}): "
        f"let {ROOT_VARIABLE} name a folder that can be written, with "
        f"{file.num_bytes / 1e6:.0f} MB to spare."
    )


@contextmanager
def _alone(folder: Path, console: Console) -> Generator[None]:
    """Hold the folder's lock, which the kernel frees when its process dies."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / "draw.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        console.print("Waiting for another process that draws viewpoints.")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _is_whole(path: Path, file: PixelFile) -> bool:
    try:
        if path.stat().st_size != file.num_bytes:
            return False
        with path.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest() == file.sha256
    except FileNotFoundError:
        return False


def _set_aside(path: Path, console: Console) -> None:
    if not path.exists():
        return
    number, aside = 1, path.with_name(f"{path.name}.damaged")
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.damaged-{number}")
    path.rename(aside)
    console.print(f"{path} has a wrong checksum: it is now {aside.name}.")


def _drawn(
    file: PixelFile, draw: Callable[[], Iterator[Drawn]], folder: Path, console: Console
) -> UInt8[np.ndarray, "pairs 2 48 48"]:
    console.print(f"Drawing {file.name} of viewpoints, {file.num_bytes / 1e6:.1f} MB, to {folder}.")
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(
        *columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task(file.name, total=file.num_pairs)

        def watched() -> Iterator[Drawn]:
            for some in draw():
                yield some
                progress.advance(task, len(some.places))

        return joined(watched(), file.num_pairs)


def _write(path: Path, file: PixelFile, pairs: UInt8[np.ndarray, "pairs 2 48 48"]) -> None:
    """Write a file atomically."""
    checksum = hashlib.sha256(pairs.data).hexdigest()
    if checksum != file.sha256:
        raise ValueError(
            f"This machine draws other images for {file.name} of viewpoints, with the checksum "
            f"{checksum}, expected {file.sha256}: copy the file from another machine to "
            f"{path.parent}."
        )
    for leftover in path.parent.glob(f"{path.name}*.{UNFINISHED}"):  # of processes that were killed
        leftover.unlink()
    write_whole(path, pairs.data)
