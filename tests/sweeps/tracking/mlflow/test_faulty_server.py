"""A server that cannot answer each request, or comes back empty, is written to all the same."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.recorder.recorder import Recorder
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.tracking.mlflow.mlflow_store import MlflowStore
from tests.sweeps.execution.examples import final, manifest, reported, spec, start
from tests.sweeps.published import publish_manifest
from tests.sweeps.tracking.mlflow.faulty_server import FaultyServer, faulty_server


@pytest.fixture
def server(tmp_path: Path, empty_database: Path) -> Iterator[FaultyServer]:
    with faulty_server(tmp_path, empty_database) as server:
        yield server


@pytest.fixture
def store(server: FaultyServer, tmp_path: Path) -> MlflowStore:
    return MlflowStore(server.address, tmp_path / "artifacts")


def fill(cells: Path, keys: list[str]) -> None:
    for key in keys:
        folder = CellFolder(cells, key)
        folder.path.mkdir(parents=True)
        for line in (start(key=key), reported(1), reported(2)):
            folder.append(line)
        folder.log.write_text("log")
        for path in (folder.weights, folder.predictions):
            path.write_bytes(b"x")
        folder.write_final(final(key=key))


@pytest.mark.parametrize("is_done_all_the_same", [False, True])
@pytest.mark.parametrize("every", [5, 3])
def test_where_requests_are_answered_500_each_thing_is_recorded_once(
    server: FaultyServer, store: MlflowStore, tmp_path: Path, every: int, is_done_all_the_same: bool
) -> None:
    server.every, server.is_done_all_the_same = every, is_done_all_the_same
    keys = [f"{number:020x}" for number in range(3)]
    fill(tmp_path / "cells", keys)
    writer = store.writer()
    sweep_id = publish_manifest(writer, manifest())
    queue = RecorderQueue(tmp_path, server.address)
    queue.add(keys, "example", sweep_id)
    recorder = Recorder(writer, queue, tmp_path / "cells")
    assert recorder.drain() == 3
    assert recorder.error == ""
    assert queue.open_cells() == []
    assert server.num_faults > 10
    assert store.manifest("example") == manifest()
    records = store.records(keys)
    assert records.keys() == set(keys)
    assert {record.outcome for record in records.values()} == {"finished"}
    for key, record in records.items():
        assert [*store.histories([record], "train_loss")[key]] == [1, 2]
        assert store.holds(record, "weights.safetensors")
    queue.close()
    server.every = 0
    client = writer.client  # pyright: ignore
    assert len(client.search_runs([writer.experiment_id])) == 4  # pyright: ignore


def test_a_server_that_came_back_empty_answers(server: FaultyServer, store: MlflowStore) -> None:
    writer = store.writer()
    writer.create_trial(spec(), "own", 1)
    server.come_back_empty()
    writer.check_reachable()
    assert writer.find_sweep("example") is None
    assert math.isfinite(server.num_requests)
