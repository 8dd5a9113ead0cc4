"""A PostgreSQL server on this machine, of Debian's packages, in a temporary folder of its own."""

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.end_to_end.tracking_server import free_port
from tests.waiting import PATIENCE_SECONDS, wait_until

_USER = "postgres"  # of the machine, where root runs the tests: PostgreSQL refuses to be root's
DATABASE = "mlflow"


class Postgres:
    """A running server with a database for MLflow.

    Attributes:
        password: Drawn, and on no command line.
    """

    def __init__(self, port: int, password: str) -> None:
        self.password = password
        self._port = port

    def address(self, database: str = DATABASE) -> str:
        """Return the address of a database, as it is given to MLflow's server."""
        return f"postgresql://mlflow:{self.password}@127.0.0.1:{self._port}/{database}"

    def make(self, database: str, template: str = "template0") -> None:
        """Make a database, in place of one of its name, as a copy of another."""
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                [template],
            )
            connection.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)".encode())
            connection.execute(f"CREATE DATABASE {database} TEMPLATE {template}".encode())

    def is_up(self) -> bool:
        """Return whether it takes connections."""
        try:
            psycopg.connect(self.address("postgres"), connect_timeout=10).close()
        except psycopg.OperationalError:
            return False
        return True


@contextmanager
def running_postgres() -> Generator[Postgres]:
    """Run a server on the loopback; the test is skipped where PostgreSQL is not installed."""
    programs = _programs()
    # not in pytest's folders, which are closed to other users
    folder = Path(tempfile.mkdtemp(prefix="capsweep-postgres-"))
    who: dict[str, Any] = {}
    if os.geteuid() == 0:
        who = {"user": _USER, "group": _USER, "extra_groups": []}
        shutil.chown(folder, _USER)
    port, password = free_port(), secrets.token_hex(16)
    postgres = Postgres(port, password)
    command = [programs / "initdb", "-D", "data", "-U", "mlflow", "--pwfile", "password"]
    command += ["-A", "scram-sha-256", "--no-sync"]
    options = ["-p", str(port), "-k", "", "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]
    try:
        (folder / "password").touch(0o600)
        (folder / "password").write_text(password)
        if who:
            shutil.chown(folder / "password", _USER)
        with (folder / "log").open("wb") as log:
            subprocess.run(
                command,
                cwd=folder,
                stdout=log,
                stderr=log,
                timeout=PATIENCE_SECONDS,
                check=True,
                **who,
            )
            process = subprocess.Popen(
                [programs / "postgres", "-D", "data", *options],
                cwd=folder,
                stdout=log,
                stderr=log,
                **who,
            )
        try:
            wait_until(lambda: process.poll() is not None or postgres.is_up())
            assert process.poll() is None, (folder / "log").read_text()
            postgres.make(DATABASE)
            yield postgres
        finally:
            process.send_signal(signal.SIGQUIT)  # at once, as nothing of it is needed again
            process.wait(PATIENCE_SECONDS)
    finally:
        shutil.rmtree(folder)


def _programs() -> Path:
    """Return the folder of the newest PostgreSQL's programs; Debian has them on no path."""
    folders = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name)
    )
    if not folders:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    if os.geteuid() == 0 and _USER not in {user.pw_name for user in pwd.getpwall()}:
        pytest.skip(f"PostgreSQL refuses to be run by root, and there is no user {_USER}")
    return folders[-1]
