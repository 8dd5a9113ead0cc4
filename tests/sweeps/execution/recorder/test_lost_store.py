"""A store that loses everything while a recorder serves is made and filled anew."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from sweeps.tracking.addresses import sqlite_path
from sweeps.tracking.mlflow.mlflow_store import MlflowStore
from sweeps.tracking.mlflow.mlflow_writer import MlflowWriter
from tests.sweeps.execution.examples import KEY, manifest, reported
from tests.sweeps.execution.recorder.scene import START, Scene
from tests.sweeps.execution.recorder.test_recorder_process import Session, session_of
from tests.sweeps.published import write_manifest
from tests.sweeps.tracking.mlflow.faulty_server import FaultyServer, faulty_server


@pytest.fixture
def server(tmp_path: Path, empty_database: Path) -> Iterator[FaultyServer]:
    with faulty_server(tmp_path, empty_database) as server:
        yield server


def check_whole(session: Session, store: MlflowStore) -> None:
    writer = store.writer()
    assert isinstance(writer, MlflowWriter)
    sweep = writer.find_sweep("example")
    assert sweep is not None
    record = store.record(KEY)
    assert record is not None
    assert record.outcome == "finished"
    assert [*store.histories([record], "train_loss")[KEY]] == [1, 2, 3]
    run = writer.client.get_run(record.record_id)
    assert run.data.tags["mlflow.parentRunId"] == sweep.record_id
    assert store.manifest("example") == manifest()
    assert session.scene.queue.open_cells() == []


def serve(session: Session) -> None:
    session.process._try(session.process._serve)  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("is_told_between", [True, False])
def test_a_server_that_comes_back_empty_is_filled_from_the_folders(
    scene: Scene,
    server: FaultyServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_told_between: bool,
) -> None:
    store = MlflowStore(server.address, tmp_path / "artifacts")
    for session in session_of(scene, store, monkeypatch):
        write_manifest(session.storage.journals, manifest())
        scene.report(START, reported(1))
        serve(session)
        assert store.record(KEY) is not None
        server.come_back_empty()
        scene.report(reported(2))
        if is_told_between:
            serve(session)
            serve(session)
            assert store.record(KEY) is not None, "not only at the end"
        scene.report(reported(3))
        scene.finish(3)
        assert session.grant() == 0
        check_whole(session, MlflowStore(server.address, tmp_path / "artifacts"))


def test_a_database_that_is_deleted_is_made_and_filled_anew(
    scene: Scene, mlflow_store: MlflowStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = sqlite_path(mlflow_store.address)
    assert database is not None
    for session in session_of(scene, mlflow_store, monkeypatch):
        write_manifest(session.storage.journals, manifest())
        scene.report(START, reported(1))
        serve(session)
        database.unlink()
        shutil.rmtree(database.parent / "artifacts", ignore_errors=True)
        scene.report(reported(2))
        serve(session)
        scene.report(reported(3))
        scene.finish(3)
        assert session.grant() == 0
        check_whole(session, mlflow_store)
