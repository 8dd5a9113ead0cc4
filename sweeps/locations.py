"""Where things lie: the storage folder and the tracking store, from arguments or environment."""

import os
from dataclasses import dataclass
from pathlib import Path

DEFAULT_STORAGE = "capsweep-store"


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
        """The driver's journals, the recorder's queues and the locks."""
        return self.root / "journals"

    @property
    def artifacts(self) -> Path:
        """Artifacts of the default tracking store."""
        return self.root / "artifacts"

    @property
    def replaced(self) -> Path:
        """Cells that `--fresh` put aside."""
        return self.root / "replaced"

    @property
    def logs(self) -> Path:
        """What Ray and the recorder print."""
        return self.root / "logs"

    @property
    def default_tracking_uri(self) -> str:
        """The SQLite file in the storage folder."""
        return f"sqlite:///{self.root / 'mlflow.db'}"


def resolve_storage(storage: str | Path | None = None) -> Storage:
    """Return the storage folder: the argument, else `CAPSWEEP_STORAGE`, else ./capsweep-store."""
    chosen = storage or os.environ.get("CAPSWEEP_STORAGE") or DEFAULT_STORAGE
    return Storage(Path(chosen).expanduser().absolute())


def resolve_tracking_uri(tracking_uri: str | None = None, storage: str | Path | None = None) -> str:
    """Return the tracking store: the argument, else `CAPSWEEP_TRACKING_URI`, else in storage."""
    chosen = tracking_uri or os.environ.get("CAPSWEEP_TRACKING_URI")
    return chosen or resolve_storage(storage).default_tracking_uri
