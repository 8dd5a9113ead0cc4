"""Where things lie: the storage folder and the tracking store, from arguments or environment."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from sweeps.records.errors import BadInput
from sweeps.records.plain_text import is_utf8, one_line
from sweeps.storage.folder import Folder

DEFAULT_STORAGE = "capsweep-store"
DEFAULT_FILE = "mlflow.db"
"""The default tracking store in a storage folder."""
_SQLITE = "sqlite:///"


@dataclass(frozen=True)
class Storage:
    """The folder that holds cells, journals and, by default, the tracking store.

    Attributes:
        root: The folder, absolute.
    """

    root: Path

    @property
    def cells(self) -> Path:
        """One folder a trial key."""
        return self.root / "cells"

    @property
    def journals(self) -> Path:
        """The sweeps' logs, the recorder's queues and the locks."""
        return self.root / "journals"

    @property
    def artifacts(self) -> Path:
        """Artifacts of the default tracking store."""
        return self.root / "artifacts"

    @property
    def replaced(self) -> Path:
        """Cells that `--retrain` archived."""
        return self.root / "replaced"

    @property
    def states(self) -> Path:
        """Trainings that longer ones go on from."""
        return self.root / "states"

    @property
    def gpu_memory(self) -> Path:
        """What trainings of each shape need of a GPU's memory."""
        return self.root / "gpu-memory.jsonl"

    @property
    def logs(self) -> Path:
        """What Ray and the recorder print."""
        return self.root / "logs"

    @property
    def default_tracking_uri(self) -> str:
        """The SQLite file in the storage folder.

        Raises:
            BadInput: If the folder's path has a character that means something else in a URI.
        """
        path = str(self.root / DEFAULT_FILE)
        if forbidden := next((character for character in "?%" if character in path), None):
            raise BadInput(
                f"The storage folder {self.root} cannot hold the tracking store, as its path has a "
                f"'{forbidden}': choose another, --storage, or another store, --tracking-uri."
            )
        return _SQLITE + path


def resolve_storage(storage: str | Path | None = None) -> Storage:
    """Return the storage folder: the argument, else `CAPSWEEP_STORAGE`, else ./capsweep-store.

    Two ways to write one folder give the same, so that its locks are the same.

    Raises:
        BadInput: If the path is empty, names a user who is not there, or is no text.
    """
    if storage == "":
        raise BadInput("The storage folder is '': name one, or leave --storage out.")
    chosen = storage or os.environ.get("CAPSWEEP_STORAGE") or DEFAULT_STORAGE
    if re.match(r"\w+:/", str(chosen)):  # Path has made one slash of two
        raise BadInput(
            f"The storage folder is '{chosen}': give a folder on a disk with locks, as buckets and "
            f"other addresses have none."
        )
    try:
        root = Path(chosen).expanduser().resolve()
    except (RuntimeError, ValueError) as error:
        raise BadInput(
            f"'{chosen}' cannot be a storage folder ({error}): choose another."
        ) from None
    if not is_utf8(str(root)):  # as databases and addresses hold it
        raise BadInput(
            f"'{one_line(str(chosen))}' cannot be a storage folder, as its path is not valid "
            f"UTF-8: choose another."
        )
    return Storage(root)


def resolve_tracking_uri(tracking_uri: str | None = None, storage: str | Path | None = None) -> str:
    """Return the tracking store: the argument, else `CAPSWEEP_TRACKING_URI`, else in storage.

    Raises:
        BadInput: If the argument is empty.
    """
    if tracking_uri == "":
        raise BadInput("The tracking store is '': name one, or leave --tracking-uri out.")
    chosen = tracking_uri or os.environ.get("CAPSWEEP_TRACKING_URI")
    if not chosen:
        return resolve_storage(storage).default_tracking_uri
    if chosen.startswith(_SQLITE) and not chosen.startswith(_SQLITE + ":"):
        return _SQLITE + str(Path(chosen.removeprefix(_SQLITE)).resolve())
    return chosen.rstrip("/")


def user_cache() -> Folder:
    """Return the user's folder for what is derived, and may be deleted at any time.

    Raises:
        RuntimeError: If the user has no home.
    """
    return Folder(Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser(), "capsweep")


def bytes_below(folder: Path | str) -> int | None:
    """Return what the files below a folder take, None where there is no such folder."""
    try:
        with os.scandir(folder) as entries:
            return sum(
                (bytes_below(entry.path) or 0)
                if entry.is_dir(follow_symlinks=False)
                else entry.stat(follow_symlinks=False).st_size
                for entry in entries
            )
    except OSError:  # not there, or gone since it was listed
        return None
