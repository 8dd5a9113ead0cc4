"""MLflow's database, made whole or not at all.

MLflow builds a new database by dozens of migrations in place. Two processes that start over one
storage would disturb each other's, and one killed half-way would leave a file that nobody can open.
"""

import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from itertools import chain, count
from pathlib import Path

from mlflow.exceptions import MlflowException
from mlflow.version import VERSION
from sqlalchemy.exc import SQLAlchemyError

from sweeps.records.errors import BadInput
from sweeps.records.plain_text import one_line
from sweeps.storage.file_lock import FileLock
from sweeps.storage.folder import PRIVATE, Folder
from sweeps.storage.locations import user_cache
from sweeps.storage.sqlite_file import make_database_file, move_into_place, open_read_only
from sweeps.tracking.addresses import sqlite_path
from sweeps.tracking.mlflow.connection import check_database, is_missing
from sweeps.tracking.mlflow.experiment import client_for_writing, find_or_create_experiment

_TEMPLATE = f"mlflow-{VERSION}.db"
"""In the user's cache: an empty database of this version of MLflow."""


def copy_template(folder: Folder, database: str) -> bool:
    """Put a copy of the template where there is no database. Returns whether there was one."""
    with suppress(OSError, BadInput, RuntimeError):
        folder.write(database, user_cache().read(_TEMPLATE))
        return True
    return False


def keep_template(database: Path) -> None:
    """Keep a new database as the template, without its rows. Where that cannot be, none is kept."""
    with suppress(OSError, BadInput, RuntimeError, sqlite3.Error):
        emptied = sqlite3.connect(":memory:")
        with closing(emptied), closing(sqlite3.connect(database)) as made:
            made.backup(emptied)
            emptied.execute("DELETE FROM experiments")
            emptied.commit()
            user_cache().make(0o700).write(_TEMPLATE, emptied.serialize(), PRIVATE)


def drop_template() -> None:
    """Delete the template: MLflow could do nothing with it."""
    with suppress(OSError, BadInput, RuntimeError):
        user_cache().remove(_TEMPLATE)


_PATIENCE_SECONDS = 60.0
_UPGRADE_SECONDS = 3600.0


def upgrade_database(path: Path, version: str) -> str:
    """Bring a database of an older MLflow up to date, and keep a copy as it was.

    A copy is brought up to date and then moved into its place, so that a kill leaves the old one.

    Args:
        path: The database.
        version: Of its schema.

    Returns:
        What was done, in a sentence.

    Raises:
        BadInput: If MLflow cannot do it. The database is then as it was.
        TimeoutError: If another process has been at it for a minute.
    """
    folder, name = Folder(path.parent), path.name
    kept = _free_name(folder, f"{name}.schema-{version}")
    with FileLock(folder, f"{name}.lock") as lock:
        _wait_for(lock)
        _remove_unfinished(folder, name)
        unfinished = _unfinished(name)
        for copy in (kept, unfinished):
            make_database_file(folder, copy)
            with (
                closing(open_read_only(folder, name)) as database,
                closing(sqlite3.connect(folder.path / copy)) as made,
            ):
                database.backup(made)
        if why := _upgrade(folder.path.absolute() / unfinished):
            _remove_unfinished(folder, name)
            folder.remove(kept)
            raise BadInput(f"MLflow cannot bring {path} up to date: {why}. It is as it was.")
        move_into_place(folder, unfinished, name)
    return (
        f"{path} was brought to the schema of MLflow {VERSION}: an older MLflow cannot read it any "
        f"more. It is kept as it was in {kept}."
    )


def _upgrade(database: Path) -> str:
    """Have MLflow bring a database up to date; return why that failed, "" if it did not."""
    command = [sys.executable, "-P", "-m", "mlflow", "db", "upgrade", f"sqlite:///{database}"]
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=_UPGRADE_SECONDS, check=False
        )
        if not ended.returncode:
            check_database(database)
            return ""
    except (subprocess.TimeoutExpired, BadInput) as error:
        return one_line(str(error)).rstrip(".")
    last = (ended.stderr.strip().splitlines() or ["it has said nothing"])[-1]
    return one_line(last)[:300].rstrip(".")


def _free_name(folder: Folder, name: str) -> str:
    taken = {*folder.names()}
    return next(
        free for free in chain([name], map(f"{name}-{{}}".format, count(2))) if free not in taken
    )


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
    folder = Folder(path.parent)
    with FileLock(folder, f"{path.name}.lock") as lock:
        _wait_for(lock)
        if is_missing(path):
            _create(folder, path.name)


def _create(folder: Folder, name: str) -> None:
    folder.check_closed()
    _remove_unfinished(folder, name)  # of a process that was killed
    made = _of_the_template(folder, name) or _of_mlflow_alone(folder, name)
    move_into_place(folder, made, name)


def _remove_unfinished(folder: Folder, name: str) -> None:
    for other in folder.names():
        if other.startswith(name) and ".unfinished" in other:
            folder.remove(other)


def _of_the_template(folder: Folder, name: str) -> str | None:
    """Return the name of a database that began as a copy, None where that cannot be used."""
    unfinished = _unfinished(name)
    if not copy_template(folder, unfinished):
        return None
    try:
        _add_experiment(folder.path / unfinished)
    except (MlflowException, SQLAlchemyError):
        drop_template()
        _remove_unfinished(folder, name)
        return None
    return unfinished


def _of_mlflow_alone(folder: Folder, name: str) -> str:
    unfinished = _unfinished(name)
    make_database_file(folder, unfinished)
    _add_experiment(folder.path / unfinished)
    keep_template(folder.path / unfinished)
    return unfinished


def _unfinished(name: str) -> str:
    """Return another name each time, as MLflow takes a file of the same name for made already."""
    return f"{name}.{time.time_ns()}.unfinished"


def _add_experiment(database: Path) -> None:
    address = f"sqlite:///{database.absolute()}"
    find_or_create_experiment(client_for_writing(address), address)


def _wait_for(lock: FileLock) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not lock.acquire():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{lock.path} has been held for {_PATIENCE_SECONDS:.0f} seconds")
        time.sleep(0.05)
