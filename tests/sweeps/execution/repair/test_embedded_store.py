"""A repair of the database in the storage folder itself."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from search_spaces.plans.decisions import DONE
from sweeps.execution.launch_process.launch_lock import make_folders
from sweeps.execution.repair.repair import repair
from sweeps.execution.sweep_log import log_path
from sweeps.records.sweep_log import decided, line_of
from sweeps.storage.locations import Storage
from sweeps.tracking.mlflow.connection import UNPOOLED, set_client_environment
from sweeps.tracking.opening import open_store
from tests.sweeps.execution.examples import manifest, spec
from tests.sweeps.published import publish_manifest, write_manifest


@pytest.fixture
def storage(tmp_path: Path, empty_database: Path) -> Storage:
    """Return a folder with a database that holds a sweep and a trial of it."""
    place = Storage(tmp_path / "store")
    make_folders(place)
    shutil.copy(empty_database, place.root / "mlflow.db")
    set_client_environment(UNPOOLED)  # a pool of this process would go on with what is put aside
    writer = open_store(None, place.root).writer()
    write_manifest(place.journals, manifest())
    sweep_id = publish_manifest(writer, manifest())
    writer.settle_sweep(sweep_id, 130)
    writer.describe_trial(writer.create_trial(spec(), sweep_id, 1), spec())
    return place


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def garbage(content: bytes) -> bytes:
    return b"garbage" * len(content[:999])


@pytest.mark.parametrize("damage", [cut, garbage])
def test_a_damaged_database_is_put_aside_and_filled_again(
    storage: Storage, damage: Callable[[bytes], bytes]
) -> None:
    database = storage.root / "mlflow.db"
    damaged = damage(database.read_bytes())
    database.write_bytes(damaged)
    repaired = repair("example", storage.root)
    assert "mlflow.db was damaged" in repaired.sentences[0]
    assert "log of 'example' was written" in repaired.sentences[1]
    assert database.with_name("mlflow.db.damaged-1").read_bytes() == damaged
    assert open_store(None, storage.root).manifest("example") == manifest()
    assert repair("example", storage.root).sentences == ()


def test_a_log_with_a_decision_that_none_makes_is_archived(storage: Storage) -> None:
    path = log_path(storage.journals, "example")
    intact = path.read_bytes()
    path.write_bytes(intact + line_of(decided(DONE)).replace(b"done", b"dane"))
    (sentence, *_) = repair("example", storage.root).sentences
    assert "example.jsonl was damaged (line 2 is not as it was written)" in sentence
    assert "its 1 lines before that were kept" in sentence
    assert path.read_bytes() == intact
    assert repair("example", storage.root).sentences == ()
