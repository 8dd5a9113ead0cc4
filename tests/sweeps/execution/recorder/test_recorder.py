"""The recorder carries each thing to MLflow once, wherever it is killed on the way."""

import itertools
import json
import math
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from mlflow.entities import Run, ViewType
from mlflow.exceptions import MlflowException

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.recorder.recorder import Recorder
from sweeps.execution.recorder.recorder_queue import QueuedCell, RecorderQueue
from sweeps.records.cell_contents import OutboxLine
from sweeps.records.trial_record import EPOCH_METRICS, Outcome
from sweeps.tracking.connection import public
from sweeps.tracking.mlflow_runs import record_of_run
from sweeps.tracking.record_facts import TAG_OUTCOME, TAG_REASON, warnings_text
from sweeps.tracking.writer import Tracking, flat_parameters
from tests.sweeps.execution.examples import KEY, epoch, failed, final, head, start, told
from tests.sweeps.storage.test_file_lock import end, holding

CONFIG = {"batch_size": 3, "model": {"kind": "capsnet", "routing": {"kind": "dynamic"}}}


class Killed(BaseException):
    """Stands in for SIGKILL."""


class Breaking:
    """A client that is killed at one of its calls, before or after the store has done it."""

    def __init__(self, client: Any, at_call: int, after: bool) -> None:
        self._client = client
        self._at_call = at_call
        self._after = after
        self.num_calls = 0

    def __getattr__(self, name: str) -> Any:
        real: Callable[..., Any] = getattr(self._client, name)

        def call(*arguments: Any, **named: Any) -> Any:
            self.num_calls += 1
            is_it = self.num_calls == self._at_call
            if is_it and not self._after:
                raise Killed
            result = real(*arguments, **named)
            if is_it:
                raise Killed
            return result

        return call


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tracking store, which takes seconds to make: each test has a copy."""
    folder = tmp_path_factory.mktemp("tracking")
    tracking = Tracking(f"sqlite:///{folder / 'mlflow.db'}", folder / "artifacts")
    tracking.client.get_experiment(tracking.experiment_id)
    return folder


class Scene:
    """One cell, the queue and a store."""

    def __init__(self, folder: Path, empty_store: Path) -> None:
        shutil.copy(empty_store / "mlflow.db", folder / "mlflow.db")
        self.folder = folder
        self.tracking = Tracking(f"sqlite:///{folder / 'mlflow.db'}", empty_store / "artifacts")
        self.cells = folder / "cells"
        self.cell = CellFolder(self.cells, KEY)
        self.cell.path.mkdir(parents=True)
        self.queue = self.open_queue()
        self.queue.add([KEY], "example", "parent")

    def open_queue(self) -> RecorderQueue:
        (self.folder / "journals").mkdir(exist_ok=True)
        return RecorderQueue(self.folder / "journals", "sqlite:///x")

    def recorder(self) -> Recorder:
        return Recorder(self.tracking, self.queue, self.cells)

    def tell(self, *lines: Any) -> None:
        for line in lines:
            self.cell.append(line)

    def finish(self, num_epochs: int = 2, **changes: Any) -> None:
        for path in (self.cell.predictions, self.cell.weights):
            path.write_bytes(b"x")
        self.cell.log.write_text("log")
        self.cell.write_final(final(num_epochs, head=HEAD, **changes))

    def runs(self) -> list[Run]:
        return list(
            self.tracking.client.search_runs(
                [self.tracking.experiment_id], run_view_type=ViewType.ACTIVE_ONLY
            )
        )

    def run(self) -> Run:
        (run,) = self.runs()
        return run

    def points(self) -> dict[str, list[int]]:
        history = self.tracking.client.get_metric_history
        run_id = self.run().info.run_id
        names = (*EPOCH_METRICS, "test_error")
        return {name: sorted(point.step for point in history(run_id, name)) for name in names}

    def check_finished(self, num_epochs: int = 2) -> None:
        run = self.run()
        assert run.info.status == "FINISHED"
        assert run.data.tags[TAG_OUTCOME] == "finished"
        epochs = list(range(1, num_epochs + 1))
        assert self.points() == dict.fromkeys(EPOCH_METRICS, epochs) | {"test_error": [num_epochs]}
        names = {file.path for file in self.tracking.client.list_artifacts(run.info.run_id)}
        assert names == {"config.json", "log.txt", "predictions.safetensors", "weights.safetensors"}
        assert self.queue.open_cells() == []


HEAD = head(config=CONFIG, versions={"torch": "1"}, num_parameters=7)
START = start().model_copy(update={"head": HEAD})


@pytest.fixture
def scene(tmp_path: Path, empty_store: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path, empty_store)
    yield scene
    scene.queue.close()


def test_a_trial_is_carried_as_it_goes(scene: Scene) -> None:
    recorder = scene.recorder()
    assert recorder.drain() == 0
    assert scene.runs() == []
    scene.tell(START, told(1))
    assert recorder.drain() == 1
    run = scene.run()
    assert (run.info.status, run.data.tags[TAG_OUTCOME]) == ("RUNNING", "running")
    assert scene.points()["train_loss"] == [1]
    assert recorder.drain() == 0, "nothing new"
    scene.tell(told(2))
    scene.finish()
    recorder.drain()
    scene.check_finished()
    assert recorder.drain() == 0


def test_a_record_holds_what_was_told(scene: Scene) -> None:
    scene.tell(START, told(1), told(2))
    scene.finish(peak_memory_bytes=5)
    scene.recorder().drain()
    run = scene.run()
    assert run.data.params == {"batch_size": "3", "model": "capsnet", "model.routing": "dynamic"}
    tags = {k: v for k, v in run.data.tags.items() if k.startswith("capsweep.")}
    assert tags == {
        "capsweep.type": "trial",
        "capsweep.schema_version": "1",
        "capsweep.trial_key": KEY,
        "capsweep.outcome": "finished",
        "capsweep.sweep": "example",
        "capsweep.arm": "base",
        "capsweep.seed": "0",
        "capsweep.data_fingerprint": "",
        "capsweep.versions": '{"torch": "1"}',
        "capsweep.git_revision": "",
        "capsweep.device": "cpu",
        "capsweep.threads": "1",
        "capsweep.gradient_checkpointing": "false",
        "capsweep.num_parameters": "7",
        "capsweep.reason": "",
        "capsweep.epochs": "2",
        "capsweep.duration_seconds": "2.000",
        "capsweep.peak_memory_bytes": "5",
    }
    assert run.data.tags["mlflow.parentRunId"] == "parent"
    assert run.info.start_time == START.time
    assert run.info.end_time == 3000


def test_a_record_holds_target_extra_tests_and_warnings_where_they_were_told(scene: Scene) -> None:
    scene.tell(START, told(1))
    sentences = ("all class capsules are dead",)
    scene.finish(1, target="missed", extra_test_errors={"familiar": 0.25}, warnings=sentences)
    scene.recorder().drain()
    run = scene.run()
    assert run.data.metrics["test_error.familiar"] == 0.25
    record = record_of_run(run)
    assert (record.target, record.extra_test_errors) == ("missed", {"familiar": 0.25})
    assert record.warnings == sentences
    assert record.test_error == 0.125


def test_a_record_without_them_stays_readable(scene: Scene) -> None:
    scene.tell(START, told(1))
    scene.finish(1)
    scene.recorder().drain()
    run = scene.run()
    record = record_of_run(run)
    assert (record.target, record.extra_test_errors, record.warnings) == (None, {}, ())


def test_the_numbers_of_health_are_carried_epoch_by_epoch(scene: Scene) -> None:
    def sound(number: int) -> OutboxLine:
        line = epoch(number).model_copy(update={"health": {"dead_capsules": number / 4}})
        return told(number).model_copy(update={"epoch": line})

    scene.tell(START, sound(1), sound(2))
    scene.recorder().drain()
    scene.finish()
    scene.recorder().drain()
    scene.check_finished()
    run_id = scene.run().info.run_id
    history = scene.tracking.client.get_metric_history(run_id, "health.dead_capsules")
    assert [(point.step, point.value) for point in history] == [(1, 0.25), (2, 0.5)]


def test_more_warnings_than_a_tag_holds_leave_a_tag_that_can_be_read() -> None:
    text = warnings_text(["\u0007" * 150] * 40)
    assert len(text) < 5000
    assert len(json.loads(text)) > 1
    assert warnings_text([]) == ""


def num_calls_of_a_whole_carry(folder: Path, empty_store: Path) -> int:
    scene = Scene(folder, empty_store)
    client = Breaking(scene.tracking.client, -1, False)
    scene.tracking.client = client  # pyright: ignore[reportAttributeAccessIssue]
    scene.tell(START, told(1), told(2))
    scene.finish()
    scene.recorder().drain()
    scene.queue.close()
    return client.num_calls


def test_killed_at_every_call_and_run_again_each_thing_is_there_once(
    tmp_path: Path, empty_store: Path
) -> None:
    (tmp_path / "whole").mkdir()
    num_calls = num_calls_of_a_whole_carry(tmp_path / "whole", empty_store)
    assert num_calls > 8
    for at_call, after in itertools.product(range(1, num_calls + 1), (False, True)):
        folder = tmp_path / f"{at_call}-{after}"
        folder.mkdir()
        scene = Scene(folder, empty_store)
        client = scene.tracking.client
        # NaN too, which a store may find different from itself
        scene.tell(START, told(1), told(2, math.nan))
        scene.finish(curve=(epoch(1), epoch(2, math.nan)))
        for again in (at_call, 1):  # the second attempt is killed as well, at its first call
            scene.tracking.client = Breaking(client, again, after)  # pyright: ignore
            with suppress(Killed):
                scene.recorder().drain()
            scene.queue.close()
            scene.queue = scene.open_queue()
        scene.tracking.client = client
        scene.recorder().drain()
        scene.check_finished()
        scene.queue.close()


def test_with_its_cursor_lost_it_adopts_the_run_and_doubles_nothing(scene: Scene) -> None:
    scene.tell(START, told(1))
    scene.recorder().drain()
    scene.queue.forget([KEY])
    scene.queue.add([KEY], "example", "parent")
    scene.tell(told(2))
    scene.recorder().drain()
    scene.finish()
    scene.recorder().drain()
    scene.check_finished()
    scene.queue.forget([KEY])
    scene.queue.add([KEY], "example", "parent")
    scene.recorder().drain()
    scene.check_finished()


def test_a_torn_outbox_is_made_good_by_the_final_record(scene: Scene) -> None:
    outbox = scene.cell.path / "outbox.jsonl"
    scene.tell(START, told(1))
    outbox.write_bytes(outbox.read_bytes()[:-5])
    scene.recorder().drain()
    assert scene.points()["train_loss"] == []
    scene.tell(told(2))
    scene.finish()
    scene.recorder().drain()
    scene.check_finished()


def test_a_cell_filled_elsewhere_is_recorded_from_its_final_record_alone(scene: Scene) -> None:
    scene.finish()
    scene.recorder().drain()
    scene.check_finished()


def test_a_torn_start_waits_for_the_next_attempt(scene: Scene) -> None:
    (scene.cell.path / "outbox.jsonl").write_bytes(b'{"type": "sta')
    scene.tell(told(1))
    assert scene.recorder().drain() == 0
    assert scene.runs() == []
    scene.tell(START, told(2))
    scene.finish()
    scene.recorder().drain()
    scene.check_finished()


def test_a_trial_killed_before_it_could_start_is_recorded_as_failed(scene: Scene) -> None:
    scene.tell(failed("its process was killed 4 times").model_copy(update={"head": HEAD}))
    scene.recorder().drain()
    assert scene.run().data.tags[TAG_REASON] == "its process was killed 4 times"
    assert scene.run().info.status == "FAILED"


def test_a_failed_trial_tried_again_goes_on_in_the_same_record(scene: Scene) -> None:
    recorder = scene.recorder()
    scene.cell.log.write_text("Traceback")
    scene.tell(START, told(1), failed("ValueError: no"))
    recorder.drain()
    run = scene.run()
    assert run.info.status == "FAILED"
    assert (run.data.tags[TAG_OUTCOME], run.data.tags[TAG_REASON]) == ("failed", "ValueError: no")
    assert run.data.tags["capsweep.epochs"] == "1"
    scene.tell(START, told(2))
    recorder.drain()
    run = scene.run()
    assert run.info.status == "RUNNING"
    assert (run.data.tags[TAG_OUTCOME], run.data.tags[TAG_REASON]) == ("running", "")
    scene.finish()
    recorder.drain()
    scene.check_finished()


def test_an_adopted_run_that_had_failed_runs_again_too(scene: Scene) -> None:
    scene.tell(START, told(1), failed())
    scene.recorder().drain()
    scene.queue.forget([KEY])
    scene.queue.add([KEY], "other", "parent")
    scene.tell(START, told(2))
    scene.recorder().drain()
    assert scene.run().info.status == "RUNNING"
    assert scene.run().data.tags[TAG_REASON] == ""


def test_a_failure_and_a_retry_told_at_once_leave_it_running(scene: Scene) -> None:
    scene.tell(START, told(1), failed(), START, told(2))
    scene.recorder().drain()
    assert scene.run().info.status == "RUNNING"
    assert scene.run().data.tags.get(TAG_REASON, "") == ""


def test_a_diverged_trial_is_failed_for_mlflow_and_final_for_us(scene: Scene) -> None:
    scene.tell(START, told(1, math.inf))
    scene.finish(
        1, outcome=Outcome.DIVERGED, reason="the training loss became inf", test_error=None
    )
    scene.recorder().drain()
    run = scene.run()
    assert (run.info.status, run.data.tags[TAG_OUTCOME]) == ("FAILED", "diverged")
    assert run.data.tags[TAG_REASON] == "the training loss became inf"
    assert scene.queue.open_cells() == []


def test_a_trial_that_nobody_trains_any_more_is_interrupted(scene: Scene) -> None:
    recorder = scene.recorder()
    scene.tell(START, told(1))
    recorder.drain()
    recorder.settle_interrupted(lambda sweep: False)
    assert scene.run().info.status == "RUNNING", "its sweep is still being launched"
    process = holding(scene.cell.path / "lock")
    try:
        recorder.settle_interrupted(lambda sweep: True)
        assert scene.run().info.status == "RUNNING", "a process trains it"
    finally:
        end(process)
    recorder.settle_interrupted(lambda sweep: sweep == "example")
    assert scene.run().info.status == "KILLED"
    assert scene.run().data.tags[TAG_OUTCOME] == "interrupted"
    scene.tell(START, told(2))
    recorder.drain()
    assert scene.run().info.status == "RUNNING"
    scene.finish()
    recorder.drain()
    scene.check_finished()


@pytest.mark.parametrize("forever", [False, True])
def test_a_record_that_somebody_deleted_is_carried_anew(scene: Scene, forever: bool) -> None:
    scene.tell(START, told(1))
    scene.recorder().drain()
    run_id = scene.run().info.run_id
    scene.tracking.client.delete_run(run_id)
    if forever:
        scene.tracking.client._tracking_client.store._hard_delete_run(run_id)
    scene.tell(told(2))
    scene.finish()
    scene.recorder().drain()
    assert scene.run().info.run_id != run_id
    scene.check_finished()


def test_a_store_that_does_not_answer_is_not_taken_for_a_deleted_record(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.tell(START, told(1))
    scene.recorder().drain()
    scene.tell(told(2))
    client = scene.tracking.client

    class Away:
        def __getattr__(self, name: str) -> Any:
            raise MlflowException("no answer")

    scene.tracking.client = Away()  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(MlflowException, match="no answer"):
        scene.recorder().drain()
    scene.tracking.client = client
    scene.finish()
    scene.recorder().drain()
    scene.check_finished()


HOSTILE = "a'b\"c`d | $x$ <script> \x1b[31m \x00 \u2028 " + "é" * 9000


def test_a_hostile_reason_is_recorded_and_blocks_nothing(scene: Scene) -> None:
    scene.tell(START, failed(HOSTILE))
    scene.recorder().drain()
    reason = scene.run().data.tags[TAG_REASON]
    assert reason == HOSTILE[: len(reason)]
    assert 1000 < len(reason) <= 8000


def test_hostile_settings_and_names_are_recorded_and_block_nothing(scene: Scene) -> None:
    config = {"text": HOSTILE, "long": list(range(5000)), "none": None}
    hostile = head(config=config, arm="x' OR 1=1 \n<b>", sweep="example")
    scene.tell(start().model_copy(update={"head": hostile}), told(1))
    scene.recorder().drain()
    assert scene.run().data.tags["capsweep.arm"] == "x' OR 1=1 \n<b>"
    assert scene.run().data.params["none"] == "null"


def test_the_users_own_source_is_an_artifact(scene: Scene) -> None:
    own = HEAD.model_copy(update={"source": "x = 'é'\n"})
    scene.tell(start().model_copy(update={"head": own}))
    scene.recorder().drain()
    path = scene.tracking.client.download_artifacts(scene.run().info.run_id, "parts.py")
    first, rest = Path(path).read_text(encoding="utf-8").split("\n", 1)
    assert first.startswith("# ")
    assert first.endswith("schema_version 1")
    assert rest == "x = 'é'\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://me:secret@host/x failed", "https://host/x failed"),
        ("postgresql://u:p@h:5/db at http://a:b@c", "postgresql://h:5/db at http://c"),
        ("sqlite:////tmp/a@b/mlflow.db", "sqlite:////tmp/a@b/mlflow.db"),
        ("no address, me@mail", "no address, me@mail"),
        ("sqlite:////a@b.db", "sqlite:////a@b.db"),
        ("https://me:s@cret@host/x", "https://host/x"),
    ],
)
def test_credentials_are_taken_out_of_messages(text: str, shown: str) -> None:
    assert public(text) == shown


def test_a_config_is_flattened_for_browsing() -> None:
    config = {"a": {"kind": "k", "b": [1, 2], "c": {"kind": "z", "d": True}}, "e": "text"}
    assert flat_parameters(config) == {
        "a": "k",
        "a.b": "[1, 2]",
        "a.c": "z",
        "a.c.d": "true",
        "e": "text",
    }


def attempt(number: int, **changes: Any) -> Any:
    """Return the start of an attempt by another machine."""
    known: dict[str, Any] = {"device": "cuda", "hardware": f"cuda: GPU {number}"}
    known |= {"threads": number, "git_revision": f"r{number}", "versions": {"torch": str(number)}}
    return START.model_copy(update={"head": HEAD.model_copy(update=known | changes)})


def provenance(run: Run) -> tuple[str, ...]:
    names = ("device", "threads", "git_revision", "versions")
    return tuple(run.data.tags[f"capsweep.{name}"] for name in names)


def test_each_attempt_tells_what_it_ran_on_and_the_final_record_has_the_last_word(
    scene: Scene,
) -> None:
    recorder = scene.recorder()
    scene.tell(attempt(1), told(1))
    recorder.drain()
    assert provenance(scene.run()) == ("cuda: GPU 1", "1", "r1", '{"torch": "1"}')
    scene.tell(attempt(2), told(2))
    recorder.drain()
    assert provenance(scene.run()) == ("cuda: GPU 2", "2", "r2", '{"torch": "2"}')
    scene.tell(failed("its process was killed").model_copy(update={"head": HEAD}))
    recorder.drain()
    assert provenance(scene.run())[0] == "cuda: GPU 2", "a failure told by the driver is no attempt"
    last = attempt(3).head
    scene.cell.write_final(final(2, head=last))
    recorder.drain()
    assert provenance(scene.run()) == ("cuda: GPU 3", "3", "r3", '{"torch": "3"}')
    assert scene.run().data.tags["capsweep.arm"] == "base"


def test_of_two_attempts_carried_at_once_the_last_is_described(scene: Scene) -> None:
    scene.tell(attempt(1), told(1), attempt(2), told(2))
    scene.recorder().drain()
    assert provenance(scene.run())[0] == "cuda: GPU 2"


def test_the_epochs_done_are_told_with_each_batch_and_when_interrupted(scene: Scene) -> None:
    recorder = scene.recorder()
    scene.tell(START, told(1), told(2))
    recorder.drain()
    assert scene.run().data.tags["capsweep.epochs"] == "2"
    scene.tracking.set_tags(scene.run().info.run_id, {"capsweep.epochs": "0"})
    recorder.settle_interrupted(lambda sweep: True)
    assert scene.run().data.tags["capsweep.epochs"] == "2"


def test_an_outbox_begun_anew_is_read_from_its_beginning(scene: Scene) -> None:
    scene.tell(START, told(1), told(2))
    scene.recorder().drain()
    shutil.rmtree(scene.cell.path)
    scene.cell.path.mkdir()
    scene.tell(failed("ValueError: anew"))
    scene.recorder().drain()
    assert scene.run().data.tags[TAG_REASON] == "ValueError: anew"
    assert scene.points()["train_loss"] == [1, 2]


def test_lines_that_nobody_may_read_leave_no_cell_behind(scene: Scene) -> None:
    recorder = scene.recorder()
    scene.tell(START, START.model_copy(update={"fence": 2}))
    recorder.drain()
    scene.tell(told(1))  # of a writer that had lost its lease
    recorder.drain()
    (queued,) = scene.queue.open_cells()
    assert not recorder.is_behind(queued)


OTHER = "f" * 20


def other_cell(scene: Scene) -> CellFolder:
    """Return the folder of a second cell of the same sweep."""
    scene.queue.add([KEY, OTHER], "example", "parent")
    folder = CellFolder(scene.cells, OTHER)
    folder.path.mkdir()
    return folder


def test_a_damaged_final_record_is_complained_of_and_keeps_no_other_back(scene: Scene) -> None:
    other = other_cell(scene)
    (scene.cell.path / "final.json").write_text("{")
    other.write_final(final(2, head=HEAD.model_copy(update={"trial_key": OTHER})))
    recorder = scene.recorder()
    recorder.drain()
    assert scene.run().info.status == "FINISHED"
    assert str(scene.cell.path) in recorder.complaint
    (queued,) = scene.queue.open_cells()
    assert recorder.is_behind(queued)
    (scene.cell.path / "final.json").unlink()
    recorder.drain()
    assert recorder.complaint == ""


def test_a_refused_record_is_complained_of_and_others_are_carried_and_settled(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = other_cell(scene)
    scene.tell(START, told(1))
    other.append(start(key=OTHER))
    recorder = scene.recorder()
    recorder.drain()
    own = scene.tracking.find_trial(KEY)
    assert own is not None
    real = scene.tracking.log_epochs

    def refuse(run_id: str, epochs: Any) -> None:
        if run_id == own.info.run_id:
            raise MlflowException("metric too strange")
        real(run_id, epochs)

    monkeypatch.setattr(scene.tracking, "log_epochs", refuse)
    scene.tell(told(2))
    other.append(told(1))
    recorder.drain()
    assert recorder.complaint == "metric too strange"
    recorder.settle_interrupted(lambda sweep: True)
    found = scene.tracking.find_trial(OTHER)
    assert found is not None
    assert found.data.tags[TAG_OUTCOME] == "interrupted"


def test_a_cell_that_no_sweep_wants_is_settled_once_and_forgotten(scene: Scene) -> None:
    recorder = scene.recorder()
    scene.tell(START, told(1))
    recorder.drain()
    scene.queue.add([OTHER], "example", "parent")  # as --replace does
    recorder.settle_interrupted(lambda sweep: True)
    assert scene.run().data.tags[TAG_OUTCOME] == "interrupted"
    assert [queued.trial_key for queued in scene.queue.open_cells()] == [OTHER]
    kept: QueuedCell | None = scene.queue.cell(OTHER)
    assert kept is not None
    assert kept.is_wanted
