"""MLflow's database, made whole or not at all.

MLflow builds a new database by dozens of migrations in place. Two processes that start over one
storage would disturb each other's, and one killed half-way would leave a file that nobody can open.
"""

import sqlite3
import time
from contextlib import closing, suppress
from glob import escape
from pathlib import Path

from mlflow.exceptions import MlflowException
from mlflow.version import VERSION
from sqlalchemy.exc import SQLAlchemyError

from capsmodel.whole_file import write_whole
from sweeps.records.errors import BadInput
from sweeps.storage.file_lock import FileLock
from sweeps.storage.locations import user_cache
from sweeps.storage.regular_files import open_regular, opened_folder, read_descriptor
from sweeps.storage.sqlite_file import move_into_place
from sweeps.tracking.addresses import sqlite_path
from sweeps.tracking.mlflow.connection import is_missing
from sweeps.tracking.mlflow.experiment import client_for_writing, find_or_create_experiment


def template_path() -> Path:
    """Return where the template of this version of MLflow lies."""
    return user_cache() / f"mlflow-{VERSION}.db"


def copy_template(database: Path) -> bool:
    """Put a copy of the template where there is no database. Returns whether there was one."""
    path = template_path()
    with suppress(OSError, BadInput, RuntimeError), opened_folder(path.parent) as folder:
        database.write_bytes(read_descriptor(open_regular(path, folder=folder), path))
        return True
    return False


def keep_template(database: Path) -> None:
    """Keep a new database as the template, without its rows. Where that cannot be, none is kept."""
    path = template_path()
    with suppress(OSError, BadInput, RuntimeError, sqlite3.Error):
        path.parent.mkdir(parents=True, exist_ok=True)
        emptied = sqlite3.connect(":memory:")
        with closing(emptied), closing(sqlite3.connect(database)) as made:
            made.backup(emptied)
            emptied.execute("DELETE FROM experiments")
            emptied.commit()
            with opened_folder(path.parent):
                write_whole(path, emptied.serialize())


def drop_template() -> None:
    """Delete the template: MLflow could do nothing with it."""
    with suppress(OSError, RuntimeError):
        template_path().unlink(missing_ok=True)


_PATIENCE_SECONDS = 60.0


def create_database(tracking_uri: str) -> None:
    """Create the SQLite file of a tracking store beside its place and move it there.

    Does nothing for a file that is there, for a server, or where the file's folder is missing.

    Args:
        tracking_uri: Tracking uri of the store.

    Raises:
        TimeoutError: If another process has been at it for a minute.
        mlflow.exceptions.MlflowException: If MLflow cannot make it.
    """
    path = sqlite_path(tracking_uri)
    if path is None or not is_missing(path) or not path.parent.is_dir():
        return
    with FileLock(path.with_name(f"{path.name}.lock")) as lock:
        _wait_for(lock)
        if is_missing(path):
            _create(path)


def _create(path: Path) -> None:
    _remove_unfinished(path)  # of a process that was killed
    move_into_place(_of_the_template(path) or _of_mlflow_alone(path), path)


def _remove_unfinished(path: Path) -> None:
    for leftover in path.parent.glob(f"{escape(path.name)}*.unfinished*"):
        leftover.unlink(missing_ok=True)


def _of_the_template(path: Path) -> Path | None:
    """Return a database that began as a copy, None where that cannot be used."""
    unfinished = _unfinished(path)
    if not copy_template(unfinished):
        return None
    try:
        _add_experiment(unfinished)
    except (MlflowException, SQLAlchemyError):
        drop_template()
        _remove_unfinished(path)
        return None
    return unfinished


def _of_mlflow_alone(path: Path) -> Path:
    unfinished = _unfinished(path)
    _add_experiment(unfinished)
    keep_template(unfinished)
    return unfinished


def _unfinished(path: Path) -> Path:
    """Return another name each time, as MLflow takes a file of the same name for made already."""
    return path.with_name(f"{path.name}.{time.time_ns()}.unfinished")


def _add_experiment(database: Path) -> None:
    address = f"sqlite:///{database.absolute()}"
    find_or_create_experiment(client_for_writing(address), address)


def _wait_for(lock: FileLock) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not lock.acquire():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{lock.path} has been held for {_PATIENCE_SECONDS:.0f} seconds")
        time.sleep(0.05)
