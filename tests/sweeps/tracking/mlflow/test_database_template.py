import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from sweeps.storage.folder import Folder
from sweeps.storage.locations import user_cache
from sweeps.tracking.mlflow.connection import check_database
from sweeps.tracking.mlflow.database import _TEMPLATE, copy_template, create_database

Store = tuple[set[tuple[str, ...]], list[tuple[object, ...]]]
"""The schema of a store, and its rows."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def created(path: Path) -> Store:
    """Create a store; return its schema, whose lines MLflow shuffles, and rows without times."""
    create_database(f"sqlite:///{path}")
    check_database(path)
    with closing(sqlite3.connect(path)) as database:
        texts = [sql for (sql,) in database.execute("SELECT sql FROM sqlite_master") if sql]
        tables = ("alembic_version", "workspaces")
        rows = [row for table in tables for row in database.execute(f"SELECT * FROM {table}")]
        names = "SELECT experiment_id, name, artifact_location FROM experiments"
        rows += database.execute(names).fetchall()
    return {tuple(sorted(text.replace(",", "").splitlines())) for text in texts}, rows


def template_path() -> Path:
    return user_cache().path / _TEMPLATE


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, bytes]:
    """Return the first store of a machine and its template, which MLflow takes seconds to make."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        return created(folder / "first.db"), template_path().read_bytes()


@pytest.fixture
def first(cache: Path, made: tuple[Store, bytes]) -> Store:
    """Return that store, with its template in this test's cache."""
    store, template = made
    template_path().parent.mkdir(parents=True)
    template_path().write_bytes(template)
    return store


def tear(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def age(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE alembic_version SET version_num = 'gone'")


def lose_a_table(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DROP TABLE experiments")


def test_a_store_that_began_as_a_copy_is_as_mlflow_makes_it(
    tmp_path: Path, cache: Path, first: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert template_path().parent == cache / "capsweep"

    def no_migrations(database: Path) -> None:
        raise AssertionError

    monkeypatch.setattr("sweeps.tracking.mlflow.database._of_mlflow_alone", no_migrations)
    assert created(tmp_path / "second.db") == first


@pytest.mark.parametrize("ruin", [tear, age, lose_a_table])
def test_a_template_that_is_of_no_use_is_made_anew(
    ruin: Callable[[Path], None], tmp_path: Path, first: Store
) -> None:
    ruin(template_path())
    assert created(tmp_path / "second.db") == first
    assert not [*tmp_path.glob("*.unfinished*")]
    with closing(sqlite3.connect(template_path())) as database:
        assert database.execute("SELECT COUNT(*) FROM experiments").fetchone() == (0,)


def test_a_link_in_place_of_the_template_is_not_followed(tmp_path: Path, first: Store) -> None:
    elsewhere = tmp_path / "elsewhere.db"
    template_path().replace(elsewhere)
    template_path().symlink_to(elsewhere)
    assert not copy_template(Folder(tmp_path), "copy.db")
    assert created(tmp_path / "second.db") == first


def test_without_a_cache_every_store_is_made_by_mlflow(
    tmp_path: Path, cache: Path, made: tuple[Store, bytes]
) -> None:
    cache.write_text("no folder")
    first, _ = made
    assert created(tmp_path / "second.db") == first
