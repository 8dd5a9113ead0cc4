"""A client of MLflow that says in one sentence, and soon, why it cannot be used.

The one place where MLflow's exceptions become ours: for readers and launches a sentence, for the
recorder with MLflow's own reason besides.
"""

import logging
import os
import re
import socket
import sqlite3
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import cache
from importlib.metadata import version as installed
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from sweeps.records.errors import BadInput, StoreRefused, StoreUnreachable
from sweeps.records.suggested_command import SuggestedCommand
from sweeps.storage.folder import Folder
from sweeps.storage.sqlite_file import open_read_only
from sweeps.tracking.addresses import public, sqlite_path
from sweeps.tracking.proxies import address_and_proxy, bypass_proxies_on_loopback

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

_LOG = logging.getLogger(__name__)
PATIENCE_SECONDS = 4.0
REQUESTS_AT_ONCE = 8  # fewer than the ten connections that MLflow's client keeps open
Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
_KNOCKS = 3
_FOLLOWS = re.compile(r"^down_revision = \(?((?:[\"'][0-9a-f]+[\"'],? ?)+)", re.MULTILINE)
_TABLES = {
    "alembic_version",
    "experiments",
    "experiment_tags",
    "latest_metrics",
    "metrics",
    "params",
    "runs",
    "tags",
}  # MLflow would build those that are missing anew, and fail half-way
_PORTS = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}
# a database that was deleted is seen to be gone: a pool would go on with the deleted file
UNPOOLED = {"MLFLOW_SQLALCHEMYSTORE_POOLCLASS": "NullPool"}
_SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_CONFIGURE_LOGGING": "false",  # its own way to the terminal: rows' text commands it
    **UNPOOLED,
}
# MLflow's own: what a server could not answer is asked again, at once, then after 2 and 4 seconds
PATIENCE = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_REQUEST_BACKOFF_JITTER": "0.25",
}


def connect(tracking_uri: str) -> "MlflowClient":
    """Return an MLflow client of a store that is there and answers; nothing is created.

    Raises:
        BadInput: If the store is a file that is missing or no MLflow store.
        StoreUnreachable: If a server does not answer within about 4 seconds.
    """
    _LOG.info("MLflow's client reads %s", public(tracking_uri))
    path = sqlite_path(tracking_uri)
    if path is not None:
        check_database(path)
    elif urlsplit(tracking_uri).hostname:
        bypass_proxies_on_loopback(tracking_uri)
        _check_server(tracking_uri)
    else:
        raise BadInput(
            f"'{public(tracking_uri)}' is not a tracking store: give sqlite:///PATH or the http(s) "
            f"address of an MLflow server."
        )
    return _client(tracking_uri)


@contextmanager
def mlflow_errors_as_ours(tracking_uri: str) -> Generator[None]:
    """Turn what MLflow raises inside the block into one sentence.

    Raises:
        StoreRefused: If a call on the store failed.
    """
    from mlflow.exceptions import MlflowException  # here, as it takes 0.7 s to import
    from requests import RequestException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (MlflowException, RequestException, SQLAlchemyError) as error:
        reason = str(error).strip() or type(error).__name__
        first = public(reason.splitlines()[0])[:300]
        sentence = (
            f"The tracking store at {address_and_proxy(tracking_uri)} cannot be read: {first}"
        )
        raise StoreRefused(sentence, reason) from error


def in_parallel(
    ask: Callable[[Asked], Answer], questions: Iterable[Asked], num_at_once: int
) -> list[Answer]:
    """Return the answers to questions in their order, asked in so many threads at once."""
    if num_at_once == 1:
        return [*map(ask, questions)]
    with ThreadPoolExecutor(num_at_once) as pool:
        return [*pool.map(ask, questions)]


def set_client_environment(settings: Mapping[str, str]) -> None:
    """Set MLflow's patience, whatever the user's environment says, and settings that it has not."""
    os.environ.update(PATIENCE)
    for name, value in settings.items():
        os.environ.setdefault(name, value)
    # it tells of files and pools, and with a traceback of errors that we tell of in a sentence
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)


def is_missing(path: Path) -> bool:
    """Return whether there is no database; SQLite leaves an empty file of one that was deleted."""
    return not path.exists() or (path.is_file() and path.stat().st_size == 0)


def may_exist(tracking_uri: str) -> bool:
    """Return False for a SQLite file that does not exist yet; servers count as there."""
    path = sqlite_path(tracking_uri)
    return path is None or (path.is_file() and not is_missing(path))


def _client(tracking_uri: str) -> "MlflowClient":
    set_client_environment(_SETTINGS)
    with mlflow_errors_as_ours(tracking_uri):
        from mlflow.tracking import MlflowClient

        return MlflowClient(tracking_uri)


def check_database(path: Path) -> None:
    """Look before MLflow does: it would create a missing file and fill an empty one.

    Raises:
        BadInput: If it is not there, or is no MLflow store.
    """
    with opened_database(path):
        return


@contextmanager
def opened_database(path: Path) -> Generator[sqlite3.Connection]:
    """Hold a database open for reading, which is an MLflow store: nothing is written.

    What is read in the block is as it was at one moment.

    Raises:
        BadInput: If it is not there, leads elsewhere, or is no MLflow store.
    """
    if is_missing(path) or not path.is_file():
        raise BadInput(
            f"There is no tracking store at {path}: nothing has been recorded there yet. "
            "Run a sweep first, or name another place with --storage or --tracking-uri."
        )
    try:
        opened = open_read_only(Folder(path.parent), path.name)
    except sqlite3.Error as error:
        raise _unreadable(path, error) from error
    with closing(opened):
        try:
            opened.execute("pragma query_only = 1")
            opened.execute("begin")
            _check_tables(opened, path)
        except sqlite3.Error as error:
            raise _unreadable(path, error) from error
        yield opened


def _unreadable(path: Path, error: sqlite3.Error) -> BadInput:
    return BadInput(f"{path} cannot be read as an MLflow store: {error}.")


def _check_tables(database: sqlite3.Connection, path: Path) -> None:
    rows = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    missing = _TABLES - {name for (name,) in rows}
    version = None if missing else database.execute("SELECT * FROM alembic_version").fetchone()
    if missing or not version:
        fault = f"no table '{min(missing)}'" if missing else "no version"
        raise BadInput(
            f"{path} is a database, but not an MLflow store, or a damaged one: it has {fault}. "
            f"Restore it, or name another place with --storage or --tracking-uri."
        )
    _check_version(str(version[0]), path)


class OlderSchema(BadInput):
    """A database of an older MLflow.

    Attributes:
        version: Of its schema.
    """

    def __init__(self, sentence: str, version: str) -> None:
        super().__init__(sentence)
        self.version = version


def _check_version(version: str, path: Path) -> None:
    """Check that the installed MLflow has the schema, by its files of migrations.

    MLflow itself would advise an upgrade of a later one, which it cannot know; and it would bring
    an older one up to date without a word, which the older MLflow then refuses. Where its files lie
    elsewhere, it is left to say so. Its release 3.17 was read.

    Raises:
        OlderSchema: If the schema is an older one.
        BadInput: If it is unknown.
    """
    known = _earlier_schemas()
    if version in known:
        raise OlderSchema(
            f"The tracking store at {path} was written by an older MLflow than "
            f"{installed('mlflow')}, which is installed here (its schema is '{version}'), and the "
            f"older one cannot read it once it is brought up to date: "
            f"`{SuggestedCommand('repair')}` does that, and keeps a copy.",
            version,
        )
    if known and version not in known.values():
        raise BadInput(
            f"The tracking store at {path} was written by a newer MLflow than "
            f"{installed('mlflow')}, which is installed here (its schema '{version[:40]}' is "
            f"unknown): install that MLflow, or name another place with --storage or "
            f"--tracking-uri."
        )


@cache
def _earlier_schemas() -> dict[str, str]:
    """Return each schema that the installed MLflow has left behind, with the one that follows."""
    spec = find_spec("mlflow")
    folder = (
        Path(spec.origin).parent / "store/db_migrations/versions" if spec and spec.origin else None
    )
    followed: dict[str, str] = {}
    for file in folder.glob("*_*.py") if folder else ():
        named = _FOLLOWS.search(file.read_text(encoding="utf-8"))
        for earlier in re.findall(r"\w+", named[1]) if named else ():
            followed[earlier] = file.name.partition("_")[0]
    return followed


def _check_server(tracking_uri: str) -> None:
    """Ask once with little patience: looking up a name and connecting may each hang for long."""
    failures: list[str] = []
    done = threading.Event()

    def ask() -> None:
        try:
            _knock(tracking_uri)
        except (OSError, ValueError) as error:
            failures.append(str(getattr(error, "reason", error)))
        finally:
            done.set()

    threading.Thread(target=ask, daemon=True).start()
    if not done.wait(PATIENCE_SECONDS):
        failures.append(f"no answer within {PATIENCE_SECONDS:.0f} seconds")
    if failures:
        raise StoreUnreachable(
            f"The tracking server at {address_and_proxy(tracking_uri)} does not answer "
            f"({failures[0]}): start it, or name another one with --tracking-uri."
        )


def _knock(tracking_uri: str) -> None:
    parts = urlsplit(tracking_uri)
    if parts.scheme not in {"http", "https"}:
        port = parts.port or _PORTS.get(parts.scheme.split("+")[0])
        if parts.hostname and port:
            socket.create_connection((parts.hostname, port), timeout=PATIENCE_SECONDS).close()
        return
    address = f"{public(tracking_uri).rstrip('/')}/health"
    for num_left in reversed(range(_KNOCKS)):
        try:
            urllib.request.urlopen(address, timeout=PATIENCE_SECONDS).close()
            return
        except urllib.error.HTTPError as error:  # refusing is an answer too
            error.close()
            return
        except ConnectionResetError:  # it was taken and dropped: one lost answer is no silence
            if not num_left:
                raise
