"""MLflow's database, made whole or not at all.

MLflow builds a new database by dozens of migrations in place. Two processes that start over one
storage would disturb each other's, and one killed half-way would leave a file that nobody can open.
"""

import time
from pathlib import Path

from sweeps.storage.file_lock import FileLock
from sweeps.tracking.addresses import sqlite_path
from sweeps.tracking.mlflow.experiment import find_or_create_experiment, writing_client

_PATIENCE_SECONDS = 60.0


def create_database(tracking_uri: str) -> None:
    """Create the SQLite file of a tracking store beside its place and move it there.

    Does nothing for a file that is there, for a server, or where the file's folder is missing.

    Args:
        tracking_uri: Of the store.

    Raises:
        TimeoutError: If another process has been at it for a minute.
        mlflow.exceptions.MlflowException: If MLflow cannot make it.
    """
    path = sqlite_path(tracking_uri)
    if path is None or path.exists() or not path.parent.is_dir():
        return
    with FileLock(path.with_name(f"{path.name}.lock")) as lock:
        _wait_for(lock)
        if not path.exists():
            _create(path)


def _create(path: Path) -> None:
    unfinished = path.with_name(f"{path.name}.unfinished")
    for leftover in (unfinished, unfinished.with_name(f"{unfinished.name}-journal")):
        leftover.unlink(missing_ok=True)  # of a process that was killed
    address = f"sqlite:///{unfinished.absolute()}"
    find_or_create_experiment(writing_client(address), address)
    unfinished.replace(path)


def _wait_for(lock: FileLock) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not lock.acquire():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{lock.path} has been held for {_PATIENCE_SECONDS:.0f} seconds")
        time.sleep(0.05)
