"""MLflow for writing: one try a write, statuses, limits, and artifacts where they belong."""

import itertools
import math
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from mlflow.exceptions import MlflowException

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.recorder.recorder import Recorder
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.records.errors import BadInput, StoreRefused, StoreUnreachable
from sweeps.records.trial_record import EPOCH_METRICS, Outcome
from sweeps.tracking.mlflow.experiment import find_or_create_experiment
from sweeps.tracking.mlflow.mlflow_store import MlflowStore
from sweeps.tracking.mlflow.mlflow_writer import MlflowWriter
from sweeps.tracking.mlflow.runs import EXPERIMENT
from sweeps.tracking.record_facts import TAG_REASON
from tests.sweeps.execution.examples import epoch, failed, final, manifest, reported, spec, start
from tests.sweeps.published import publish_manifest
from tests.sweeps.tracking.breaking import Breaking, Killed

RETRIES = "MLFLOW_HTTP_REQUEST_MAX_RETRIES"


@pytest.fixture
def writer(mlflow_store: MlflowStore) -> MlflowWriter:
    writer = mlflow_store.writer()
    assert isinstance(writer, MlflowWriter)
    return writer


def test_requests_are_tried_again_a_few_times_whatever_the_environment_says(
    mlflow_store: MlflowStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RETRIES, "7")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "99")
    mlflow_store.writer()
    assert os.environ[RETRIES] == "3"
    assert os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"] == "99", "patience is the user's"


def test_an_experiment_that_somebody_deleted_is_restored(
    writer: MlflowWriter, mlflow_store: MlflowStore
) -> None:
    writer.client.delete_experiment(writer.experiment_id)
    second = mlflow_store.writer()
    assert isinstance(second, MlflowWriter)
    assert second.experiment_id == writer.experiment_id
    assert second.client.get_experiment(second.experiment_id).lifecycle_stage == "active"


@pytest.mark.parametrize(
    ("address", "is_ours"),
    [
        ("sqlite:////a/mlflow.db", True),
        ("postgresql://host/db", True),
        ("mysql+pymysql://host/db", True),
        ("http://host:5000", False),
        ("https://host", False),
    ],
)
def test_only_a_server_chooses_where_artifacts_lie(address: str, is_ours: bool) -> None:
    made: list[tuple[str, str | None]] = []

    class Client:
        def get_experiment_by_name(self, _: str) -> None:
            return None

        def create_experiment(self, name: str, artifact_location: str | None) -> str:
            made.append((name, artifact_location))
            return "1"

    client: Any = Client()
    assert find_or_create_experiment(client, address) == "1"
    assert made == [(EXPERIMENT, "mlflow-artifacts:/" if is_ours else None)]


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Outcome.RUNNING, "RUNNING"),
        (Outcome.FINISHED, "FINISHED"),
        (Outcome.DIVERGED, "FAILED"),
        (Outcome.FAILED, "FAILED"),
        (Outcome.PRUNED, "KILLED"),
        (Outcome.INTERRUPTED, "SCHEDULED"),
    ],
)
def test_mlflow_has_a_status_for_each_outcome(
    writer: MlflowWriter, outcome: Outcome, status: str
) -> None:
    run_id = writer.create_trial(spec(), "parent", 5)
    writer.set_outcome(run_id, outcome, time=7)
    run = writer.client.get_run(run_id)
    assert run.info.status == status
    assert run.info.start_time == 5
    assert run.info.end_time == (None if outcome is Outcome.RUNNING else 7)


def test_an_outcome_that_is_broken_off_at_the_status_does_not_count(
    writer: MlflowWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = writer.create_trial(spec(), "parent", 5)

    def be_killed(*arguments: Any, **named: Any) -> None:
        raise Killed

    monkeypatch.setattr(writer.client, "set_terminated", be_killed)
    with pytest.raises(Killed):
        writer.set_outcome(run_id, Outcome.FINISHED, time=7)
    trial = writer.find_trial(spec().trial_key)
    assert trial is not None
    assert trial.outcome is not Outcome.FINISHED, "nobody would come back to its status"


@pytest.mark.parametrize(
    ("exit_code", "status"),
    [(None, "RUNNING"), (0, "FINISHED"), (130, "SCHEDULED"), (3, "FAILED"), (1, "FAILED")],
)
def test_mlflow_has_a_status_for_each_end_of_a_launch(
    writer: MlflowWriter, exit_code: int | None, status: str
) -> None:
    run_id = writer.open_sweep("example", "what for")
    writer.settle_sweep(run_id, exit_code)
    run = writer.client.get_run(run_id)
    assert run.info.status == status
    assert run.data.tags["mlflow.runName"] == "example"
    assert run.data.tags["mlflow.note.content"].startswith("what for\n\n")


@pytest.mark.parametrize("content", [None, "{", ""])
def test_a_log_whose_file_was_lost_or_damaged_is_written_again(
    writer: MlflowWriter, mlflow_store: MlflowStore, tmp_path: Path, content: str | None
) -> None:
    publish_manifest(writer, manifest())
    (path,) = (tmp_path / "artifacts").glob("*/artifacts/sweep-logs/*.jsonl")
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(BadInput):
        mlflow_store.manifest("example")
    publish_manifest(writer, manifest())
    assert mlflow_store.manifest("example") == manifest()


def test_a_trials_run_hangs_under_that_of_its_sweep_by_its_arm_and_seed(
    writer: MlflowWriter,
) -> None:
    run = writer.client.get_run(writer.create_trial(spec(seed=3), "parent", 1))
    assert run.data.tags["mlflow.parentRunId"] == "parent"
    assert run.info.run_name == "base, seed 3"


HOSTILE = "a'b\"c`d | $x$ <script> \x1b[31m \x00 \u2028 " + "é" * 9000


def test_a_hostile_reason_is_recorded_as_long_as_a_tag_can_be(writer: MlflowWriter) -> None:
    run_id = writer.create_trial(spec(), "parent", 1)
    writer.set_outcome(run_id, Outcome.FAILED, reason=HOSTILE, time=2)
    reason = writer.client.get_run(run_id).data.tags[TAG_REASON]
    assert reason == HOSTILE[: len(reason)]
    assert 1000 < len(reason) <= 8000


def test_hostile_settings_are_recorded(writer: MlflowWriter) -> None:
    hostile = spec(config={"text": HOSTILE, "long": list(range(5000))}, arm="x' OR 1=1 \n<b>")
    run_id = writer.create_trial(hostile, "parent", 1)
    writer.describe_trial(run_id, hostile)
    run = writer.client.get_run(run_id)
    assert HOSTILE.startswith(run.data.params["text"])
    assert run.data.tags["capsweep.arm"] == "x' OR 1=1 \n<b>"


def test_what_is_told_at_its_creation_is_recorded_as_long_as_a_tag_can_be(
    writer: MlflowWriter,
) -> None:
    run_id = writer.create_trial(spec(hardware=10 * HOSTILE), "parent", 1)
    device = writer.client.get_run(run_id).data.tags["capsweep.device"]
    assert (10 * HOSTILE).startswith(device)
    assert 1000 < len(device) <= 8000


def test_a_run_that_somebody_deleted_for_ever_is_gone(writer: MlflowWriter) -> None:
    run_id = writer.create_trial(spec(), "parent", 1)
    writer.client.delete_run(run_id)
    writer.client._tracking_client.store._hard_delete_run(run_id)
    assert writer.is_deleted(run_id)


class Away:
    """A client of a server that does not answer."""

    def __getattr__(self, name: str) -> Any:
        raise MlflowException("no answer from http://me:secret@host\nand more")


def test_what_mlflow_raises_is_told_in_our_words_and_its_own(writer: MlflowWriter) -> None:
    writer.client = Away()  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(StoreRefused, match=r"cannot be read: no answer from http://host$") as error:
        writer.find_trial("a")
    assert error.value.reason.startswith("no answer")
    with pytest.raises(StoreRefused):
        writer.is_deleted("a")
    with pytest.raises(StoreUnreachable) as away:
        writer.check_reachable()
    assert not isinstance(away.value, StoreRefused)


class Cell:
    """A cell that ends with a finished trial, and its recorder."""

    def __init__(self, folder: Path, writer: MlflowWriter, key: str) -> None:
        self.key = key
        self.writer = writer
        self.folder = CellFolder(folder / "cells", key)
        self.folder.path.mkdir(parents=True)
        self.queue = RecorderQueue(folder, writer.address)
        self.queue.add_more([key], "example", "parent")
        # NaN too, which a store may find different from itself
        for line in (start(key=key), reported(1), reported(2, math.nan)):
            self.folder.append(line)
        self.folder.log.write_text("log")
        self.folder.weights.write_bytes(b"x")
        self.folder.write_final(final(key=key, curve=(epoch(1), epoch(2, math.nan))))

    def carry(self) -> None:
        cells = [cell for cell in self.queue.open_cells() if cell.trial_key == self.key]
        Recorder(self.writer, self.queue, self.folder.path.parent).drain(cells)

    def check_finished(self) -> None:
        client = self.writer.client
        search = f"tags.`capsweep.trial_key` = '{self.key}'"
        (run,) = client.search_runs([self.writer.experiment_id], search)
        assert run.info.status == "FINISHED"
        names = (*EPOCH_METRICS, "test_error")
        points = {name: client.get_metric_history(run.info.run_id, name) for name in names}
        steps = {name: sorted(point.step for point in history) for name, history in points.items()}
        assert steps == {name: [1, 2] for name in EPOCH_METRICS} | {"test_error": [2]}
        folder = self.folder.path.parents[1] / "artifacts" / run.info.run_id / "artifacts"
        files = {path.name for path in folder.iterdir()}
        assert files == {"config.json", "log.txt", "weights.safetensors"}


class Both:
    """A writer's client and its files as one, as their calls have different names."""

    def __init__(self, writer: MlflowWriter) -> None:
        self._parts = (writer._artifacts, writer.client)  # pyright: ignore[reportPrivateUsage]

    def __getattr__(self, name: str) -> Any:
        part = next(part for part in self._parts if hasattr(part, name))
        return getattr(part, name)


def put_into(writer: MlflowWriter, both: Any) -> None:
    writer.client = both
    writer._artifacts = both  # pyright: ignore[reportPrivateUsage]


def test_killed_at_every_request_and_run_again_each_thing_is_there_once(
    tmp_path: Path, writer: MlflowWriter
) -> None:
    store = Both(writer)
    counting = Breaking(store, -1, False)
    put_into(writer, counting)
    Cell(tmp_path, writer, "f" * 20).carry()
    assert counting.num_calls > 8
    for at_call, after in itertools.product(range(1, counting.num_calls + 1), (False, True)):
        put_into(writer, store)
        cell = Cell(tmp_path, writer, f"{2 * at_call + after:020x}")
        for call in (at_call, 1):  # the second attempt is killed as well, at its first request
            put_into(writer, Breaking(store, call, after))
            with suppress(Killed):
                cell.carry()
        put_into(writer, store)
        cell.carry()
        cell.check_finished()
        cell.queue.close()


def test_a_failed_trial_that_is_tried_again_runs_again_for_mlflow(
    tmp_path: Path, writer: MlflowWriter
) -> None:
    folder = CellFolder(tmp_path / "cells", "a" * 20)
    folder.path.mkdir(parents=True)
    queue = RecorderQueue(tmp_path, writer.address)
    queue.add(["a" * 20], "example", "parent")
    recorder = Recorder(writer, queue, tmp_path / "cells")
    for lines, status in (([start(key="a" * 20), failed()], "FAILED"), ([start()], "RUNNING")):
        for line in lines:
            folder.append(line)
        recorder.drain()
        trial = writer.find_trial("a" * 20)
        assert trial is not None
        assert writer.client.get_run(trial.record_id).info.status == status
    queue.close()
