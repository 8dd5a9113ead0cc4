"""A tracking store of an older MLflow is changed by nobody but a repair, which keeps a copy."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy
from alembic import command
from alembic.script import ScriptDirectory
from mlflow.store.db.utils import _get_alembic_config
from mlflow.store.tracking.dbmodels.initial_models import Base

from sweeps.execution.launch_process.launch_lock import make_folders
from sweeps.execution.repair.repair import repair
from sweeps.records.errors import BadInput
from sweeps.storage.file_lock import FileLock
from sweeps.storage.folder import Folder
from sweeps.storage.locations import Storage
from sweeps.tracking.opening import open_store


@pytest.fixture
def older(tmp_path: Path) -> tuple[Storage, str]:
    """Return a storage folder with a database that MLflow has made some releases ago."""
    storage = Storage(tmp_path / "store")
    make_folders(storage)
    address = storage.default_tracking_uri
    config = _get_alembic_config(address)
    scripts = ScriptDirectory.from_config(config)
    *_, version = [
        script.revision for script, _ in zip(scripts.walk_revisions(), range(4), strict=False)
    ]
    engine = sqlalchemy.create_engine(address)
    Base.metadata.create_all(engine)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, version)
    engine.dispose()
    return storage, version


def schema(database: Path) -> str:
    with closing(sqlite3.connect(database)) as opened:
        return str(opened.execute("select version_num from alembic_version").fetchone()[0])


def dump(database: Path) -> list[str]:
    with closing(sqlite3.connect(database)) as opened:
        return [*opened.iterdump()]


def test_it_is_refused_as_it_is_and_brought_up_to_date_by_a_repair(
    older: tuple[Storage, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    storage, version = older
    database = storage.root / "mlflow.db"
    before, content = database.read_bytes(), dump(database)
    with pytest.raises(BadInput, match=r"older MLflow than .*`capsweep repair` does that, and"):
        open_store(None, storage.root).sweeps()
    assert database.read_bytes() == before
    with monkeypatch.context() as patch:
        patch.setattr("sys.executable", "/bin/false")
        with pytest.raises(BadInput, match="It is as it was"):
            repair(storage_folder=storage.root)
    assert database.read_bytes() == before
    with FileLock(Folder(storage.journals), "other.lock") as lock:
        assert lock.acquire()
        with pytest.raises(BadInput, match=r"only while nothing runs over .*: wait for other"):
            repair(storage_folder=storage.root)
    assert database.read_bytes() == before
    planted = storage.root.parent / "here"
    (planted / "mlflow").mkdir(parents=True)
    (planted / "mlflow" / "__main__.py").write_text("raise SystemExit")
    (planted / "mlflow" / "__init__.py").touch()
    monkeypatch.chdir(planted)  # nothing of which is executed
    (sentence,) = repair(storage_folder=storage.root).sentences
    kept = storage.root / f"mlflow.db.schema-{version}"
    assert kept.name in sentence
    assert dump(kept) == content
    assert schema(kept) == version != schema(database)
    assert list(open_store(None, storage.root).sweeps()) == []
    assert repair(storage_folder=storage.root).sentences == ()
    assert not list(storage.root.glob("*unfinished*"))
