"""Files of a server's final runs, downloaded once: what tables are made of, and no weights."""

import hashlib
import json
import logging
from contextlib import suppress
from pathlib import Path

from sweeps.records.errors import BadInput
from sweeps.records.trial_record import ARTIFACT_CONFIG, ARTIFACT_PREDICTIONS
from sweeps.storage.regular_files import read_regular
from sweeps.tracking.mlflow.artifacts import Artifacts
from sweeps.tracking.mlflow.kept.kept_runs import KeptRuns
from sweeps.tracking.mlflow.kept.place import drop, write_kept

_LOG = logging.getLogger(__name__)
_KEPT = frozenset({ARTIFACT_CONFIG, ARTIFACT_PREDICTIONS})
_MOST_BYTES = 16 * 2**20


class KeptArtifacts:
    """Files of runs; an `Artifacts`. Those that are kept lie in a folder that is their digest.

    Args:
        served: Who has them.
        runs: Who knows which runs are final.
    """

    def __init__(self, served: Artifacts, runs: KeptRuns) -> None:
        self._served = served
        self._runs = runs

    def path(self, run_id: str, name: str) -> Path:
        """Return the local path of a file, downloaded if need be.

        Raises:
            BadInput: If the run does not hold it, or its address is not followed.
        """
        kept = self._kept(run_id, name)
        if kept is not None:
            return kept
        path = self._served.path(run_id, name)
        folder = self._folder(run_id, name)
        if folder is not None:
            with suppress(OSError, BadInput, ValueError):
                content = read_regular(path, _MOST_BYTES)
                _refuse_unsound(name, content)
                write_kept(folder / hashlib.sha256(content).hexdigest() / name, content)
        return path

    def size(self, run_id: str, name: str) -> int | None:
        """Return the bytes of a file, None where the run does not hold it.

        Raises:
            BadInput: If the run's address is not followed.
        """
        kept = self._kept(run_id, name)
        return self._served.size(run_id, name) if kept is None else kept.stat().st_size

    def location(self, run_id: str, name: str) -> str:
        """Return a file's address.

        Raises:
            BadInput: If it is not followed.
        """
        return self._served.location(run_id, name)

    def write(self, run_id: str, name: str, text: str) -> None:
        """Write a file, in place of one of that name."""
        self._served.write(run_id, name, text)

    def upload(self, run_id: str, path: Path, folder: str = "") -> None:
        """Copy a file into a folder of the run, under its own name."""
        self._served.upload(run_id, path, folder)

    def delete(self, run_id: str, name: str) -> None:
        """Delete a file, if the store lets it go."""
        self._served.delete(run_id, name)

    def _folder(self, run_id: str, name: str) -> Path | None:
        """Return where the digests of a file lie, None where it is not kept."""
        place = self._runs.place
        is_kept = place is not None and name in _KEPT and self._runs.is_final(run_id)
        return place / "files" / run_id if place and is_kept else None

    def _kept(self, run_id: str, name: str) -> Path | None:
        """Return the kept file, None where there is no sound one."""
        folder = self._folder(run_id, name)
        for path in sorted(folder.glob(f"*/{name}")) if folder else ():
            with suppress(OSError, BadInput):
                content = read_regular(path, _MOST_BYTES)
                if hashlib.sha256(content).hexdigest() == path.parent.name:
                    return path
            _LOG.info("%s is not as it was kept, and is asked for anew", path)
            drop(path)
        return None


def _refuse_unsound(name: str, content: bytes) -> None:
    """Refuse what a repair might put another file in place of.

    Raises:
        ValueError: If it is cut off, or damaged otherwise so that it shows.
    """
    from safetensors import SafetensorError, deserialize

    if name.endswith(".json"):
        json.loads(content)
        return
    try:
        deserialize(content)
    except SafetensorError as error:
        raise ValueError(str(error)) from error
