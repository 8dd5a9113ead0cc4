"""Files of MLflow's runs that a server keeps: only its own addresses are followed."""

import os
import shutil
import tempfile
import weakref
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from sweeps.records.errors import BadInput
from sweeps.storage.regular_files import refuse_irregular
from sweeps.tracking.addresses import public
from sweeps.tracking.answers import absent_artifact
from sweeps.tracking.mlflow.connection import answering

if TYPE_CHECKING:
    from mlflow.entities import FileInfo
    from mlflow.tracking import MlflowClient

ALLOWED = "CAPSWEEP_ARTIFACT_ROOTS"
_SERVED = "mlflow-artifacts"
_PORTS = {"http": 80, "https": 443}


class ServedArtifacts:
    """Files of a server's runs. Downloads lie in a scratch folder that goes with this object.

    A run says where its files lie. That is believed where it is the server itself, or begins with
    one of the addresses that the user has allowed by `CAPSWEEP_ARTIFACT_ROOTS`, separated by
    commas: of an object store that the server has its clients write to.
    """

    def __init__(self, client: "MlflowClient", address: str) -> None:
        self._client = client
        self._address = address
        self._believed: dict[str, str] = {}

    def path(self, run_id: str, name: str) -> Path:
        """Return the path of a downloaded file.

        Raises:
            BadInput: If the run does not hold it, or its address is not followed.
        """
        folder = self._scratch / run_id
        folder.mkdir(exist_ok=True)
        if self._listed(run_id, name) is None:
            raise absent_artifact(run_id, name)
        with answering(self._address):
            return Path(self._client.download_artifacts(run_id, name, str(folder)))

    def size(self, run_id: str, name: str) -> int | None:
        """Return the bytes of a file, None where the run does not hold it.

        Raises:
            BadInput: If the run's address is not followed.
        """
        listed = self._listed(run_id, name)
        return None if listed is None else listed.file_size or 0

    def location(self, run_id: str, name: str) -> str:
        """Return a file's address.

        Raises:
            BadInput: If it is not followed.
        """
        return f"{self._root(run_id).rstrip('/')}/{name}"

    def write(self, run_id: str, name: str, text: str) -> None:
        """Write a file, in place of one of that name.

        Raises:
            BadInput: If the run's address is not followed.
        """
        self._root(run_id)
        self._client.log_text(run_id, text, name)

    def upload(self, run_id: str, path: Path, folder: str = "") -> None:
        """Copy a file into a folder of the run, under its own name.

        Raises:
            BadInput: If the run's address is not followed.
        """
        self._root(run_id)
        refuse_irregular(path)
        self._client.log_artifact(run_id, str(path), folder or None)

    def delete(self, run_id: str, name: str) -> None:
        """Delete a file, if the store lets it go.

        Raises:
            BadInput: If the run's address is not followed.
            MlflowException: If the store does not delete.
        """
        from mlflow.store.artifact.artifact_repository_registry import (
            get_artifact_repository,  # here, as MLflow takes long to import
        )

        repository = get_artifact_repository(self._root(run_id), tracking_uri=self._address)
        repository.delete_artifacts(name)

    @cached_property
    def _scratch(self) -> Path:
        folder = tempfile.mkdtemp(prefix="capsweep-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)

    def _listed(self, run_id: str, name: str) -> "FileInfo | None":
        self._root(run_id)
        with answering(self._address):
            listed = self._client.list_artifacts(run_id, _folder_of(name))
        return next((file for file in listed if file.path == name and not file.is_dir), None)

    def _root(self, run_id: str) -> str:
        """Return where a run's files lie, if that is believed; asked once a run."""
        if run_id not in self._believed:
            with answering(self._address):
                said = self._client.get_run(run_id).info.artifact_uri or ""
            self._believed[run_id] = followed(said, self._address, os.environ.get(ALLOWED, ""))
        return self._believed[run_id]


def followed(said: str, address: str, allowed: str = "") -> str:
    """Return where a record says that its files lie, if it may say so.

    Args:
        said: The record's word.
        address: Of the tracking server.
        allowed: Addresses that it may begin with besides the server's own, separated by commas.

    Raises:
        BadInput: If it leads elsewhere.
    """
    is_own = _is_of_server(said, address)
    roots = [root.strip().rstrip("/") for root in allowed.split(",") if root.strip()]
    is_allowed = any(said == root or said.startswith(f"{root}/") for root in roots)
    if ".." not in said.split("/") and (is_own or is_allowed):
        return said
    raise BadInput(
        f"A record of {public(address)} says that its files lie at '{public(said)[:200]}', which "
        f"is not that server and is not followed: have the server serve its artifacts, or allow "
        f"the address by {ALLOWED}."
    )


def _is_of_server(said: str, address: str) -> bool:
    try:
        parts = urlsplit(said)
        is_its_host = not parts.netloc or _host(parts) == _server(address)
    except ValueError:  # no address at all, such as one with a port that is none
        return False
    return parts.scheme == _SERVED and is_its_host


def _host(parts: SplitResult) -> tuple[str | None, int | None]:
    return parts.hostname, parts.port


def _server(address: str) -> tuple[str | None, int | None]:
    parts = urlsplit(address)
    return parts.hostname, parts.port or _PORTS.get(parts.scheme)


def _folder_of(name: str) -> str | None:
    """Return the folder of a file below a run's own, None where it lies in that itself."""
    return name.rpartition("/")[0] or None
