"""Files of MLflow runs: found where they lie or downloaded, never larger than allowed."""

import tempfile
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from sweeps.records.errors import BadInput
from sweeps.tracking.answers import absent_artifact
from sweeps.tracking.mlflow.connection import answering
from sweeps.tracking.mlflow.runs import artifacts_of

if TYPE_CHECKING:
    from mlflow.entities import FileInfo, Run
    from mlflow.tracking import MlflowClient

_MEBIBYTE = 2**20
_LARGEST = {"manifest": 64 * _MEBIBYTE, "config": _MEBIBYTE}  # by what their names begin with


class ArtifactReader:
    """Reads files of runs. Downloads lie in a scratch folder that goes with this object."""

    def __init__(self, client: "MlflowClient", tracking_uri: str) -> None:
        self._client = client
        self._tracking_uri = tracking_uri

    def read(self, run: "Run", name: str) -> bytes:
        """Return an artifact's content.

        Raises:
            BadInput: If the run does not hold it, or it is larger than allowed.
        """
        path = self.path(run, name)
        _check_size(name, path.stat().st_size)
        return path.read_bytes()

    def holds(self, run: "Run", name: str) -> bool:
        """Return whether a run has a file of that name."""
        folder = _local_folder(artifacts_of(run))
        if folder is not None:
            return (folder / name).is_file()
        return self._listed(run, name) is not None

    def path(self, run: "Run", name: str) -> Path:
        """Return the local path of an artifact, downloaded if need be.

        Raises:
            BadInput: If the run does not hold it, or it leads out of the run's folder.
        """
        folder = _local_folder(artifacts_of(run))
        if folder is None:
            return self._download(run, name)
        path = (folder / name).resolve()
        if not path.is_file() or not path.is_relative_to(folder.resolve()):
            raise absent_artifact(run.info.run_id, name)
        return path

    def location(self, run: "Run", name: str) -> str:
        """Return where an artifact lies: a local path where the store is one, else its address."""
        uri = artifacts_of(run)
        folder = _local_folder(uri)
        return str(folder / name) if folder else f"{uri.rstrip('/')}/{name}"

    @cached_property
    def _scratch(self) -> "tempfile.TemporaryDirectory[str]":
        return tempfile.TemporaryDirectory(prefix="capsweep-")

    def _download(self, run: "Run", name: str) -> Path:
        folder = Path(self._scratch.name) / run.info.run_id
        folder.mkdir(exist_ok=True)
        listed = self._listed(run, name)
        if listed is None:
            raise absent_artifact(run.info.run_id, name)
        _check_size(name, listed.file_size or 0)
        with answering(self._tracking_uri):
            return Path(self._client.download_artifacts(run.info.run_id, name, str(folder)))

    def _listed(self, run: "Run", name: str) -> "FileInfo | None":
        with answering(self._tracking_uri):
            listed = self._client.list_artifacts(run.info.run_id)
        return next((file for file in listed if file.path == name and not file.is_dir), None)


def _local_folder(uri: str) -> Path | None:
    parts = urlsplit(uri)
    if parts.scheme == "file" and parts.netloc in {"", "localhost"}:
        return Path(unquote(parts.path))
    return None if parts.scheme else Path(uri)


def _check_size(name: str, size: int) -> None:
    largest = next((most for start, most in _LARGEST.items() if name.startswith(start)), size)
    if size > largest:
        raise BadInput(
            f"{name} is too large to be read: {size} bytes, where {largest} are allowed."
        )
