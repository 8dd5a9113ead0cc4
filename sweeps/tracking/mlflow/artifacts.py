"""Files of MLflow's runs. Where they lie is derived, and no address in a record is obeyed.

Whoever can edit a row of a store could otherwise have files read, written over or deleted anywhere,
or have weights sent to a host of theirs; and a copied store would write into the original. Of a
server's runs only its own addresses are followed.
"""

import logging
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import SplitResult, urlsplit

from sweeps.records.errors import BadInput, StoreRefused
from sweeps.storage.folder import MOST_BYTES, Folder, read_named_file
from sweeps.tracking.addresses import is_server, public, sqlite_path
from sweeps.tracking.mlflow.connection import REQUESTS_AT_ONCE, in_parallel, mlflow_errors_as_ours
from sweeps.tracking.validation import missing_artifact

if TYPE_CHECKING:
    from mlflow.entities import FileInfo
    from mlflow.store.artifact.artifact_repo import ArtifactRepository
    from mlflow.tracking import MlflowClient

_LOG = logging.getLogger(__name__)
ALLOWED = "CAPSWEEP_ARTIFACT_ROOTS"
_SERVED = "mlflow-artifacts"
_PORTS = {"http": 80, "https": 443}


class ServedArtifacts:
    """Files of a server's runs. Downloads lie in a scratch folder that goes with this object.

    A run says where its files lie. That is believed where it is the server itself, or begins with
    one of the addresses that the user has allowed by `CAPSWEEP_ARTIFACT_ROOTS`, separated by
    commas: of an object store that the server has its clients write to.

    Args:
        client: Client of the server.
        address: The server's own.
        artifact_uris: Run id -> where its files lie, as the server said of runs that it was asked
            for; of others it is asked here.
    """

    num_at_once = REQUESTS_AT_ONCE

    def __init__(
        self, client: "MlflowClient", address: str, artifact_uris: Mapping[str, str] | None = None
    ) -> None:
        self._client = client
        self._address = address
        self._artifact_uris = {} if artifact_uris is None else artifact_uris
        self._believed: dict[str, str] = {}

    def path(self, run_id: str, name: str) -> Path:
        """Return the path of a downloaded file. Whether it is there is asked where that fails.

        Raises:
            BadInput: If the run does not hold it, or its address is not followed.
        """
        repository, folder = self._repository(run_id), self._scratch / run_id
        folder.mkdir(exist_ok=True)
        try:
            with mlflow_errors_as_ours(self._address):
                path = Path(repository.download_artifacts(name, str(folder)))
        except StoreRefused:
            if self._listed(run_id, name) is None:
                raise missing_artifact(run_id, name) from None
            raise
        if not path.is_file():
            raise missing_artifact(run_id, name)
        return path

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

    def upload(self, run_id: str, path: Path, name: str) -> None:
        """Copy a file to one of the run, in place of one of that name.

        Raises:
            BadInput: If the run's address is not followed.
        """
        self._root(run_id)
        content = read_named_file(path, _LARGEST_UPLOAD)
        with tempfile.TemporaryDirectory(prefix="capsweep-") as folder:
            renamed = Path(folder) / Path(name).name  # MLflow takes the name of what it is given
            renamed.write_bytes(content)
            self._client.log_artifact(run_id, str(renamed), _folder_of(name))

    def delete(self, run_id: str, name: str) -> None:
        """Delete a file, if the store lets it go.

        Raises:
            BadInput: If the run's address is not followed.
            MlflowException: If the store does not delete.
        """
        self._repository(run_id).delete_artifacts(name)

    @cached_property
    def _scratch(self) -> Path:
        folder = tempfile.mkdtemp(prefix="capsweep-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)

    def _listed(self, run_id: str, name: str) -> "FileInfo | None":
        repository = self._repository(run_id)
        with mlflow_errors_as_ours(self._address):
            listed = repository.list_artifacts(_folder_of(name))
        return next((file for file in listed if file.path == name and not file.is_dir), None)

    def _repository(self, run_id: str) -> "ArtifactRepository":
        """Return a run's files as MLflow has them: its client would ask for the run each time."""
        from mlflow.store.artifact.artifact_repository_registry import (
            get_artifact_repository,  # here, as MLflow takes long to import
        )

        return get_artifact_repository(self._root(run_id), tracking_uri=self._address)

    def _root(self, run_id: str) -> str:
        """Return where a run's files lie, if that is believed; asked at most once a run."""
        if run_id not in self._believed:
            said = self._artifact_uris.get(run_id)
            if said is None:
                with mlflow_errors_as_ours(self._address):
                    said = self._client.get_run(run_id).info.artifact_uri or ""
            self._believed[run_id] = followed(said, self._address, os.environ.get(ALLOWED, ""))
        return self._believed[run_id]


def followed(said: str, address: str, allowed: str = "") -> str:
    """Return where a record says that its files lie, if it may say so.

    Args:
        said: The record's word.
        address: Address of the tracking server.
        allowed: Addresses that it may begin with besides the server's own, separated by commas.

    Raises:
        BadInput: If it leads elsewhere.
    """
    is_of_server = _is_of_server(said, address)
    roots = [root.strip().rstrip("/") for root in allowed.split(",") if root.strip()]
    is_allowed = any(said == root or said.startswith(f"{root}/") for root in roots)
    if ".." not in said.split("/") and (is_of_server or is_allowed):
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


REPORT_FOLDER = "report"
"""Where a run of a sweep holds its report."""
_MEBIBYTE = 2**20
_LARGEST = {"sweep": 256 * _MEBIBYTE, "config": _MEBIBYTE}  # by what their names begin with
_LARGEST_UPLOAD = 2**40
_RUN_ID = re.compile(r"[0-9a-f]{32}")


class Artifacts(Protocol):
    """Files of runs: named by the run's id and a path below the run's folder.

    Attributes:
        num_at_once: How many are asked for at once: several of a server, which takes its time.
    """

    num_at_once: int

    def path(self, run_id: str, name: str) -> Path:
        """Return the local path of a file, downloaded if need be.

        Raises:
            BadInput: If the run does not hold it.
        """
        ...

    def size(self, run_id: str, name: str) -> int | None:
        """Return the bytes of a file, None where the run does not hold it."""
        ...

    def location(self, run_id: str, name: str) -> str:
        """Return where a file lies: a local path where the store is one, else its address."""
        ...

    def write(self, run_id: str, name: str, text: str) -> None:
        """Write a file whole, in place of one of that name."""
        ...

    def upload(self, run_id: str, path: Path, name: str) -> None:
        """Copy a file to one of the run, in place of one of that name."""
        ...

    def delete(self, run_id: str, name: str) -> None:
        """Delete a file, if the store lets it go."""
        ...


def artifacts_of(
    client: "Callable[[], MlflowClient]",
    address: str,
    folder: Path,
    artifact_uris: Mapping[str, str] | None = None,
) -> Artifacts:
    """Return the files of a store.

    Args:
        client: Gives that of the store, where a server keeps files.
        address: The store's own.
        folder: Where files lie unless a server keeps them.
        artifact_uris: As in `ServedArtifacts`.
    """
    if is_server(address):
        return ServedArtifacts(client(), address, artifact_uris)
    database = sqlite_path(address)
    next_to_database = [database.parent / "artifacts"] if database else []
    return FolderArtifacts([folder, *next_to_database])


def publish_files(artifacts: Artifacts, run_id: str, paths: Iterable[Path]) -> None:
    """Copy a report's files to a run, under `report/`, in place of those of their names."""
    for path in paths:
        artifacts.upload(run_id, path, f"{REPORT_FOLDER}/{path.name}")


def find_paths(artifacts: Artifacts, run_ids: Collection[str], name: str) -> dict[str, Path]:
    """Return the local paths of the files of one name, by the ids of the runs that hold one.

    Those that cannot be read are left out.
    """

    def path_of(run_id: str) -> Path | None:
        try:
            return artifacts.path(run_id, name)
        except (BadInput, OSError) as error:
            _LOG.debug("no %s of run %s: %s", name, run_id, error)
            return None

    paths = in_parallel(path_of, run_ids, artifacts.num_at_once)
    return {run_id: path for run_id, path in zip(run_ids, paths, strict=True) if path}


def read_artifact(artifacts: Artifacts, run_id: str, name: str) -> bytes:
    """Return a file's content.

    Raises:
        BadInput: If the run does not hold it, or it is larger than allowed.
    """
    size = artifacts.size(run_id, name)
    if size is None:
        raise missing_artifact(run_id, name)
    _check_size(name, size)
    return read_named_file(artifacts.path(run_id, name), _largest(name))


class FolderArtifacts:
    """Files in `ROOT/RUN ID/artifacts`, whatever the store's rows say.

    Args:
        roots: Where new runs' files go, and where else a run's may already lie: beside the
            database, if that is not in the storage folder.
    """

    num_at_once = 1

    def __init__(self, roots: Iterable[Path]) -> None:
        self._roots = tuple(dict.fromkeys(roots))

    def path(self, run_id: str, name: str) -> Path:
        """Return the path of a file.

        Raises:
            BadInput: If the run does not hold it, or it leads out of the run's folder.
        """
        *folders, file = name.split("/")
        folder = self._folder(run_id, *folders)
        path = folder.path / file
        if not path.is_file():
            raise missing_artifact(run_id, name)
        folder.check_closed(file)
        return path

    def size(self, run_id: str, name: str) -> int | None:
        """Return the bytes of a file, None where the run does not hold it."""
        try:
            return self.path(run_id, name).stat().st_size
        except (BadInput, OSError):
            return None

    def location(self, run_id: str, name: str) -> str:
        """Return the path of a file, whether it is there or not."""
        return str(self._folder(run_id).path / name)

    def write(self, run_id: str, name: str, text: str) -> None:
        """Write a file whole, in place of one of that name."""
        self._write(run_id, name, text.encode())

    def upload(self, run_id: str, path: Path, name: str) -> None:
        """Copy a file to one of the run, in place of one of that name."""
        self._write(run_id, name, read_named_file(path, _LARGEST_UPLOAD))

    def delete(self, run_id: str, name: str) -> None:
        """Delete a file."""
        with suppress(BadInput):
            *folders, file = name.split("/")
            self._folder(run_id, *folders).remove(file)

    def _folder(self, run_id: str, *names: str) -> Folder:
        """Return a run's folder, or one in it.

        Raises:
            BadInput: If that is no run's id.
        """
        if not _RUN_ID.fullmatch(run_id):
            raise BadInput(f"The tracking store has a run without a proper id: {run_id[:40]!r}.")
        existing = (root for root in self._roots if os.path.lexists(root / run_id))
        root = next(existing, self._roots[0])
        return Folder(root.parent, root.name, run_id, "artifacts", *names)

    def _write(self, run_id: str, name: str, content: bytes) -> None:
        *folders, file = name.split("/")
        self._folder(run_id, *folders).make().write(file, content)


class FolderPublisher:
    """What adds a report's files to a run of an embedded store: MLflow has no part in that."""

    def __init__(self, artifacts: FolderArtifacts) -> None:
        self._artifacts = artifacts

    def publish_files(self, sweep_id: str, paths: Iterable[Path]) -> None:
        """Copy a report's files to the sweep's own run.

        Raises:
            StoreRefused: If they would lead elsewhere.
        """
        try:
            publish_files(self._artifacts, sweep_id, paths)
        except BadInput as error:
            raise StoreRefused(str(error), str(error)) from error


def _check_size(name: str, size: int) -> None:
    if size > _largest(name):
        raise BadInput(
            f"{name} is too large to be read: {size} bytes, where {_largest(name)} are allowed."
        )


def _largest(name: str) -> int:
    return next((most for start, most in _LARGEST.items() if name.startswith(start)), MOST_BYTES)
