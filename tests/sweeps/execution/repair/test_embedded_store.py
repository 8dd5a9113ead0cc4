"""A repair of the database in the storage folder itself."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from search_spaces.plans.decisions import DONE
from sweeps.execution.cells.journal import Journal
from sweeps.execution.plan.decision_log import DecisionLog
from sweeps.execution.recorder.manifest_file import hand_over
from sweeps.execution.repair.repair import repair
from sweeps.storage.locations import Storage
from sweeps.tracking.manifests import publish_manifest
from sweeps.tracking.mlflow.connection import UNPOOLED, settle_patience
from sweeps.tracking.mlflow.runs import EXPERIMENT
from sweeps.tracking.opening import open_store
from tests.sweeps.execution.examples import head, manifest


@pytest.fixture
def storage(tmp_path: Path, empty_database: Path) -> Storage:
    """Return a folder whose database names folders, as those of earlier releases do."""
    place = Storage(tmp_path / "store")
    place.journals.mkdir(parents=True)
    shutil.copy(empty_database, place.root / "mlflow.db")
    places = str(place.artifacts)
    settle_patience(UNPOOLED)  # a pool of this process would go on with what is put aside
    MlflowClient(place.default_tracking_uri).create_experiment(EXPERIMENT, places)
    writer = open_store(None, place.root).writer()
    hand_over(place.journals, manifest())
    sweep_id = publish_manifest(writer, manifest())
    writer.settle_sweep(sweep_id, 130)
    writer.describe_trial(writer.create_trial(head(), sweep_id, 1), head())
    return place


def places(database: Path) -> list[str]:
    with closing(sqlite3.connect(database)) as opened:
        return [
            place
            for query in (
                "select artifact_location from experiments where name = 'capsweep'",
                "select artifact_uri from runs",
            )
            for (place,) in opened.execute(query)
        ]


def test_folders_in_rows_are_rewritten_after_a_copy(storage: Storage) -> None:
    database = storage.root / "mlflow.db"
    before = database.read_bytes()
    assert any(place.startswith("/") for place in places(database))
    (sentence,) = repair(None, storage.root).sentences
    assert sentence.startswith("3 rows of ")
    assert all(place.startswith("mlflow-artifacts:/") for place in places(database))
    (copy,) = (storage.root / "backups").iterdir()
    assert copy.read_bytes() == before
    assert open_store(None, storage.root).manifest("example") == manifest()
    now = database.read_bytes()
    assert repair(None, storage.root).sentences == ()
    assert database.read_bytes() == now


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
    assert "manifest of 'example' was written" in repaired.sentences[1]
    assert database.with_name("mlflow.db.damaged-1").read_bytes() == damaged
    assert open_store(None, storage.root).manifest("example") == manifest()
    assert repair("example", storage.root).sentences == ()


def test_a_copy_is_not_written_through_a_link(storage: Storage, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    (storage.root / "backups").mkdir()
    (storage.root / "backups" / "mlflow.db.before-repair-1").symlink_to(victim)
    assert repair(None, storage.root).sentences
    assert not victim.exists()
    assert (storage.root / "backups" / "mlflow.db.before-repair-2").is_file()


def test_a_journal_with_decisions_that_none_makes_is_put_aside(storage: Storage) -> None:
    with closing(Journal(storage.journals, "example")) as journal:
        DecisionLog(journal, "one").append(DONE)
        journal.database.execute("update decisions set kind = 'dance'")
    (sentence, *_) = repair("example", storage.root).sentences
    assert "example.db was damaged (it holds what no sweep notes)" in sentence
    assert repair("example", storage.root).sentences == ()
