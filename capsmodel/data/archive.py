"""Files of a data set: where they are stored, and which of them are complete."""

import hashlib
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from capsmodel.launch_folder import from_launch_folder

ROOT_VARIABLE = "CAPSWEEP_DATA"


class Archive(NamedTuple):
    """A file as it is published.

    Attributes:
        name: Its name, the same on every mirror; that of a compressed file ends in ".gz".
        md5: Checksum of its bytes.
        num_bytes: Its size; None if the publisher does not give it.
        unpacked_md5: Checksum of what is in it, where that may lie there in its place, under the
            name without ".gz".
    """

    name: str
    md5: str
    num_bytes: int | None = None
    unpacked_md5: str | None = None


@dataclass(frozen=True)
class Archives:
    """The files of one data set, laid out below the data root as torchvision does.

    Attributes:
        title: The data set's name, in messages and in the folder.
        files: The files that loading needs.
    """

    title: str
    files: tuple[Archive, ...]

    @property
    def folder(self) -> Path:
        """The folder that holds the files."""
        return data_root() / self.title / "raw"

    @property
    def fingerprint(self) -> str:
        """Hash of the checksums of all files."""
        return hashlib.sha256("\n".join(file.md5 for file in self.files).encode()).hexdigest()

    def lacking(self) -> list[Archive]:
        """Return the files that are missing or incomplete.

        Raises:
            ValueError: If an existing file cannot be read.
        """
        return [file for file in self.files if not self._stored_copy(file).is_whole]

    def damaged(self) -> list[Path]:
        """Return the files that exist but are incomplete.

        Raises:
            ValueError: If an existing file cannot be read.
        """
        copies = [self._stored_copy(file) for file in self.files]
        return [copy.path for copy in copies if copy.path is not None and not copy.is_whole]

    def path(self, name: str) -> Path:
        """Return the path of a complete file, packed or unpacked.

        Args:
            name: Its name as its publisher gives it.
        """
        file = next(file for file in self.files if file.name == name)
        path = self._stored_copy(file).path
        assert path is not None
        return path

    def _stored_copy(self, file: Archive) -> "_StoredCopy":
        packed = self.folder / file.name
        if file.unpacked_md5 is not None and (md5 := md5_of(packed.with_suffix(""))) is not None:
            return _StoredCopy(packed.with_suffix(""), md5 == file.unpacked_md5)
        md5 = md5_of(packed)
        return _StoredCopy(None if md5 is None else packed, md5 == file.md5)


class _StoredCopy(NamedTuple):
    path: Path | None
    is_whole: bool


def data_root() -> Path:
    """Return the folder of all data sets: `CAPSWEEP_DATA`, else one in the user's cache.

    A relative path counts from the folder of the launch, else from the working directory.

    Raises:
        ValueError: If the path names a user who does not exist.
    """
    chosen = os.environ.get(ROOT_VARIABLE) or cache_folder() / "data"
    try:
        return from_launch_folder(chosen).resolve()
    except RuntimeError as error:
        raise ValueError(
            f"'{chosen}' cannot hold data sets ({error}): let {ROOT_VARIABLE} name another folder."
        ) from None


def cache_folder() -> Path:
    """Return this library's folder in the user's cache; "~" stands for the home folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "capsweep"


def md5_of(path: Path) -> str | None:
    """Return the checksum of a file, or None if the file does not exist.

    Raises:
        ValueError: If it cannot be read.
    """
    try:
        facts = path.stat()
        return _md5_as_of(path, facts.st_size, facts.st_mtime_ns)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read ({error.strerror}): make it readable, or let {ROOT_VARIABLE} "
            f"name another folder."
        ) from None


@cache
def _md5_as_of(path: Path, size: int, changed: int) -> str:
    """Read a file once per process while it does not change: some files take a second."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()
