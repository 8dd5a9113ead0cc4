"""Files of a data set: where they lie, and which of them are whole."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

ROOT_VARIABLE = "CAPSWEEP_DATA"


class Archive(NamedTuple):
    """A file as its publisher gives it.

    Attributes:
        name: Its name, the same on every mirror.
        md5: Checksum of its bytes.
        num_bytes: Its size.
    """

    name: str
    md5: str
    num_bytes: int


@dataclass(frozen=True)
class Archives:
    """The files of one data set, laid out below the data root as torchvision does.

    Attributes:
        title: The data set's name, in messages and in the folder.
        files: All that loading needs.
    """

    title: str
    files: tuple[Archive, ...]

    @property
    def folder(self) -> Path:
        """Where the files lie."""
        return data_root() / self.title / "raw"

    @property
    def fingerprint(self) -> str:
        """Hash of the checksums of all files."""
        return hashlib.sha256("\n".join(file.md5 for file in self.files).encode()).hexdigest()

    def lacking(self) -> list[Archive]:
        """Return the files that are missing or not whole.

        Raises:
            ValueError: If a file is there and cannot be read.
        """
        return [file for file in self.files if not _is_whole(self.folder / file.name, file)]


def data_root() -> Path:
    """Return the folder of all data sets: `CAPSWEEP_DATA`, else one in the user's cache.

    A relative path counts from the working directory.

    Raises:
        ValueError: If the path names a user who is not there.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    chosen = os.environ.get(ROOT_VARIABLE) or cache / "capsweep" / "data"
    try:
        return Path(chosen).expanduser().resolve()
    except RuntimeError as error:
        raise ValueError(
            f"'{chosen}' cannot hold data sets ({error}): let {ROOT_VARIABLE} name another folder."
        ) from None


def _is_whole(path: Path, archive: Archive) -> bool:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "md5").hexdigest() == archive.md5
    except FileNotFoundError:
        return False
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read ({error.strerror}): make it readable, or let {ROOT_VARIABLE} "
            f"name another folder."
        ) from None
