"""A launch that is refused after all, as only its engine or its store could, takes back its traces.

Whatever can be known before is refused before anything is written. The rest is known only when a
cluster has been joined or a store opened, for which folders, a lock and a journal have to be there.
"""

import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from sweeps.execution.driver.launch_guards import make_folders, only_driver
from sweeps.records.errors import BadInput, SweepError
from sweeps.storage.locations import Storage

_PATIENCE_SECONDS = 4.0
_CLIENT_PORT = 10001
_FOUND_BY_RAY = {"auto", "local"}


def refuse_absent_cluster(address: str) -> None:
    """Return if somebody listens at the address of a Ray cluster, or only Ray can tell.

    Raises:
        BadInput: If it is no address, or nobody does.
    """
    if address in _FOUND_BY_RAY:
        return
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        port = parts.port or (_CLIENT_PORT if parts.scheme == "ray" else None)
        host = parts.hostname if parts.scheme in {"", "ray"} else None
    except ValueError:
        host, port = None, None
    if not host or not port:
        raise BadInput(
            f"'{address}' is no address of a Ray cluster: give HOST:PORT, ray://HOST:PORT or auto, "
            f"or leave it out to start Ray here."
        )
    try:
        socket.create_connection((host, port), timeout=_PATIENCE_SECONDS).close()
    except (OSError, UnicodeError) as error:
        raise BadInput(
            f"No Ray cluster at {address} answers ({error}): start it, or leave --address out to "
            f"start Ray here."
        ) from error


@contextmanager
def sole_launch(sweep: str, storage: Storage) -> Generator[None]:
    """Make a launch's folders and be its one driver; take back what is empty if it is refused.

    Args:
        sweep: Its name.
        storage: Where it trains.

    Raises:
        BadInput: If another process is its driver, or the folders cannot be written to.
    """
    own = [storage.journals / f"{sweep}.{end}" for end in ("db", "db-journal")]
    own += [storage.logs / f"{sweep}.log"]
    if not storage.journals.exists():
        own += [storage.journals / f"{sweep}.lock", storage.root / "format.json"]
        own += [storage.root / "format.json.lock"]
    new = [path for path in own if not path.exists()]
    folders = [path for path in _folders(storage) if not path.exists()]
    try:
        make_folders(storage)
        with only_driver(sweep, storage), _unlinked_if_refused(new, storage):
            yield
    except SweepError:
        for folder in folders:
            with suppress(OSError):  # somebody has put something there
                folder.rmdir()
        raise


@contextmanager
def _unlinked_if_refused(files: list[Path], storage: Storage) -> Generator[None]:
    try:
        yield
    except SweepError:
        if not any(storage.cells.iterdir()):  # else a journal may tell of what was trained
            for path in files:
                path.unlink(missing_ok=True)
        raise


def _folders(storage: Storage) -> tuple[Path, ...]:
    """Return the folders that a launch makes, the inner ones first."""
    inner = (storage.cells, storage.journals, storage.artifacts, storage.logs)
    return (*inner, storage.root, *storage.root.parents)
