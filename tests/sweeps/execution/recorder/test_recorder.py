"""The recorder carries each thing to the store once, wherever it is killed on the way."""

import itertools
import math
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.recorder.recorder import Recorder
from sweeps.execution.recorder.recorder_queue import QueuedCell, RecorderQueue
from sweeps.records.cell_contents import OutboxLine
from sweeps.records.errors import StoreRefused, StoreUnreachable
from sweeps.records.trial_record import EPOCH_METRICS, Outcome
from sweeps.tracking.memory.shelf import HeldRecord
from sweeps.tracking.memory.store import MemoryStore
from sweeps.tracking.record_facts import TAG_OUTCOME, TAG_REASON
from tests.sweeps.execution.examples import KEY, epoch, failed, final, head, start, told
from tests.sweeps.storage.test_file_lock import end, holding
from tests.sweeps.tracking.breaking import Breaking, Killed

CONFIG = {"batch_size": 3, "model": {"kind": "capsnet", "routing": {"kind": "dynamic"}}}


class Scene:
    """One cell, the queue and a store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = MemoryStore()
        self.records = self.store.writer()
        self.cells = folder / "cells"
        self.cell = CellFolder(self.cells, KEY)
        self.cell.path.mkdir(parents=True)
        self.queue = self.open_queue()
        self.queue.add([KEY], "example", "own")

    def open_queue(self) -> RecorderQueue:
        (self.folder / "journals").mkdir(exist_ok=True)
        return RecorderQueue(self.folder / "journals", self.store.address)

    def recorder(self) -> Recorder:
        return Recorder(self.records, self.queue, self.cells)

    def tell(self, *lines: Any) -> None:
        for line in lines:
            self.cell.append(line)

    def finish(self, num_epochs: int = 2, **changes: Any) -> None:
        for path in (self.cell.predictions, self.cell.weights):
            path.write_bytes(b"x")
        self.cell.log.write_text("log")
        self.cell.write_final(final(num_epochs, head=HEAD, **changes))

    def all_held(self) -> list[HeldRecord]:
        return self.store.shelf.live("trial")

    def held(self) -> HeldRecord:
        (held,) = self.all_held()
        return held

    def outcome(self) -> str:
        held = self.held()
        outcome = held.facts[TAG_OUTCOME]
        assert held.is_running is (outcome == "running")
        assert (held.ended is None) is held.is_running
        return outcome

    def outcome_of(self, key: str) -> str | None:
        found = self.records.find_trial(key)
        return found.outcome if found else None

    def points(self) -> dict[str, list[int]]:
        names, held = (*EPOCH_METRICS, "test_error"), self.held()
        return {name: [step for step, _, _ in held.points.get(name, ())] for name in names}

    def check_finished(self, num_epochs: int = 2) -> None:
        assert self.outcome() == "finished"
        epochs = list(range(1, num_epochs + 1))
        points = {name: sorted(steps) for name, steps in self.points().items()}
        assert points == dict.fromkeys(EPOCH_METRICS, epochs) | {"test_error": [num_epochs]}
        names = {"config.json", "log.txt", "predictions.safetensors", "weights.safetensors"}
        assert set(self.held().files) == names
        assert self.queue.open_cells() == []


HEAD = head(config=CONFIG, versions={"torch": "1"}, num_parameters=7)
START = start().model_copy(update={"head": HEAD})


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path)
    yield scene
    scene.queue.close()


def test_a_trial_is_carried_as_it_goes(scene: Scene) -> None:
    recorder = scene.recorder()
    assert recorder.drain() == 0
    assert scene.all_held() == []
    scene.tell(START, told(1))
    assert recorder.drain() == 1
    assert scene.outcome() == "running"
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
    held = scene.held()
    assert held.settings == {"batch_size": "3", "model": "capsnet", "model.routing": "dynamic"}
    tags = {k: v for k, v in held.facts.items() if k.startswith("capsweep.")}
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
    assert held.sweep_id == "own"
    assert held.started == START.time
    assert held.ended == 3000


def test_a_record_holds_target_extra_tests_and_warnings_where_they_were_told(scene: Scene) -> None:
    scene.tell(START, told(1))
    sentences = ("all class capsules are dead",)
    scene.finish(1, target="missed", extra_test_errors={"familiar": 0.25}, warnings=sentences)
    scene.recorder().drain()
    held = scene.held()
    assert held.last_values()["test_error.familiar"] == 0.25
    (record,) = scene.store.records([KEY]).values()
    assert (record.target, record.extra_test_errors) == ("missed", {"familiar": 0.25})
    assert record.warnings == sentences
    assert record.test_error == 0.125


def test_a_record_without_them_stays_readable(scene: Scene) -> None:
    scene.tell(START, told(1))
    scene.finish(1)
    scene.recorder().drain()
    (record,) = scene.store.records([KEY]).values()
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
    assert scene.held().history("health.dead_capsules") == {1: 0.25, 2: 0.5}


def num_calls_of_a_whole_carry(folder: Path) -> int:
    scene = Scene(folder)
    records = Breaking(scene.records, -1, False)
    scene.records = records  # pyright: ignore[reportAttributeAccessIssue]
    scene.tell(START, told(1), told(2))
    scene.finish()
    scene.recorder().drain()
    scene.queue.close()
    return records.num_calls


def test_killed_at_every_call_and_run_again_each_thing_is_there_once(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    num_calls = num_calls_of_a_whole_carry(tmp_path / "whole")
    assert num_calls > 7
    for at_call, after in itertools.product(range(1, num_calls + 1), (False, True)):
        folder = tmp_path / f"{at_call}-{after}"
        folder.mkdir()
        scene = Scene(folder)
        records = scene.records
        # NaN too, which a store may find different from itself
        scene.tell(START, told(1), told(2, math.nan))
        scene.finish(curve=(epoch(1), epoch(2, math.nan)))
        for again in (at_call, 1):  # the second attempt is killed as well, at its first call
            scene.records = Breaking(records, again, after)  # pyright: ignore
            with suppress(Killed):
                scene.recorder().drain()
            scene.queue.close()
            scene.queue = scene.open_queue()
        scene.records = records
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
    assert scene.all_held() == []
    scene.tell(START, told(2))
    scene.finish()
    scene.recorder().drain()
    scene.check_finished()


def test_a_trial_killed_before_it_could_start_is_recorded_as_failed(scene: Scene) -> None:
    scene.tell(failed("its process was killed 4 times").model_copy(update={"head": HEAD}))
    scene.recorder().drain()
    assert scene.held().facts[TAG_REASON] == "its process was killed 4 times"
    assert scene.outcome() == "failed"


def test_a_failed_trial_tried_again_goes_on_in_the_same_record(scene: Scene) -> None:
    recorder = scene.recorder()
    scene.cell.log.write_text("Traceback")
    scene.tell(START, told(1), failed("ValueError: no"))
    recorder.drain()
    held = scene.held()
    assert scene.outcome() == "failed"
    assert (held.facts[TAG_OUTCOME], held.facts[TAG_REASON]) == ("failed", "ValueError: no")
    assert held.facts["capsweep.epochs"] == "1"
    scene.tell(START, told(2))
    recorder.drain()
    held = scene.held()
    assert scene.outcome() == "running"
    assert (held.facts[TAG_OUTCOME], held.facts[TAG_REASON]) == ("running", "")
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
    assert scene.outcome() == "running"
    assert scene.held().facts[TAG_REASON] == ""


def test_a_failure_and_a_retry_told_at_once_leave_it_running(scene: Scene) -> None:
    scene.tell(START, told(1), failed(), START, told(2))
    scene.recorder().drain()
    assert scene.outcome() == "running"
    assert scene.held().facts.get(TAG_REASON, "") == ""


def test_a_diverged_trial_is_final(scene: Scene) -> None:
    scene.tell(START, told(1, math.inf))
    scene.finish(
        1, outcome=Outcome.DIVERGED, reason="the training loss became inf", test_error=None
    )
    scene.recorder().drain()
    held = scene.held()
    assert scene.outcome() == "diverged"
    assert held.facts[TAG_REASON] == "the training loss became inf"
    assert scene.queue.open_cells() == []


def test_a_trial_that_nobody_trains_any_more_is_interrupted(scene: Scene) -> None:
    recorder = scene.recorder()
    scene.tell(START, told(1))
    recorder.drain()
    recorder.settle_interrupted(lambda sweep: False)
    assert scene.outcome() == "running", "its sweep is still being launched"
    process = holding(scene.cell.path / "lock")
    try:
        recorder.settle_interrupted(lambda sweep: True)
        assert scene.outcome() == "running", "a process trains it"
    finally:
        end(process)
    recorder.settle_interrupted(lambda sweep: sweep == "example")
    assert scene.outcome() == "interrupted"
    assert scene.held().facts[TAG_OUTCOME] == "interrupted"
    scene.tell(START, told(2))
    recorder.drain()
    assert scene.outcome() == "running"
    scene.finish()
    recorder.drain()
    scene.check_finished()


def test_a_record_that_somebody_deleted_is_carried_anew(scene: Scene) -> None:
    scene.tell(START, told(1))
    scene.recorder().drain()
    deleted = scene.held()
    deleted.is_deleted = True
    scene.tell(told(2))
    scene.finish()
    scene.recorder().drain()
    assert scene.held().record_id != deleted.record_id
    scene.check_finished()


def test_a_record_deleted_in_mid_way_is_carried_anew_with_the_attempts_before_it(
    scene: Scene,
) -> None:
    recorder = scene.recorder()
    scene.tell(START, told(1))
    recorder.drain()
    scene.tell(START.model_copy(update={"fence": 2}))
    recorder.drain()
    scene.held().is_deleted = True
    scene.tell(told(2).model_copy(update={"fence": 2}))
    recorder.drain()
    assert scene.points()["train_loss"] == [1, 2]


def test_of_an_outbox_only_what_was_added_is_read_and_lost_leases_stay_known(scene: Scene) -> None:
    recorder = scene.recorder()
    scene.tell(START, START.model_copy(update={"fence": 2}))
    recorder.drain()
    outbox = scene.cell.path / "outbox.jsonl"
    outbox.write_bytes(b"x" * (outbox.stat().st_size - 1) + b"\n")
    scene.tell(told(1), told(2).model_copy(update={"fence": 2}))
    recorder.drain()
    assert scene.points()["train_loss"] == [2], "the first was told by one without its lease"


def test_a_store_that_does_not_answer_is_not_taken_for_a_deleted_record(scene: Scene) -> None:
    scene.tell(START, told(1))
    scene.recorder().drain()
    scene.tell(told(2))
    scene.store.shelf.is_away = True
    with pytest.raises(StoreUnreachable):
        scene.recorder().drain()
    scene.store.shelf.is_away = False
    scene.finish()
    scene.recorder().drain()
    scene.check_finished()


def test_a_refusal_of_a_store_that_has_gone_away_is_no_complaint(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        scene.store.shelf.is_away = True
        raise StoreRefused("no", "no")

    scene.tell(START, told(1))
    monkeypatch.setattr(scene.records, "find_trial", refuse)
    recorder = scene.recorder()
    with pytest.raises(StoreUnreachable):
        recorder.drain()
    assert recorder.complaint == ""


HOSTILE = "a'b\"c`d | $x$ <script> \x1b[31m \x00 \u2028 " + "é" * 9000


def test_hostile_settings_and_names_are_recorded_and_block_nothing(scene: Scene) -> None:
    config = {"text": HOSTILE, "long": list(range(5000)), "none": None}
    hostile = head(config=config, arm="x' OR 1=1 \n<b>", sweep="example")
    scene.tell(start().model_copy(update={"head": hostile}), told(1))
    scene.recorder().drain()
    assert scene.held().facts["capsweep.arm"] == "x' OR 1=1 \n<b>"
    assert scene.held().settings["none"] == "null"


def test_the_users_own_source_is_an_artifact(scene: Scene) -> None:
    own = HEAD.model_copy(update={"source": "x = 'é'\n"})
    scene.tell(start().model_copy(update={"head": own}))
    scene.recorder().drain()
    first, rest = scene.held().files["parts.py"].decode().split("\n", 1)
    assert first.startswith("# ")
    assert first.endswith("schema_version 1")
    assert rest == "x = 'é'\n"


def attempt(number: int, **changes: Any) -> Any:
    """Return the start of an attempt by another machine."""
    known: dict[str, Any] = {"device": "cuda", "hardware": f"cuda: GPU {number}"}
    known |= {"threads": number, "git_revision": f"r{number}", "versions": {"torch": str(number)}}
    return START.model_copy(update={"head": HEAD.model_copy(update=known | changes)})


def provenance(held: HeldRecord) -> tuple[str, ...]:
    names = ("device", "threads", "git_revision", "versions")
    return tuple(held.facts[f"capsweep.{name}"] for name in names)


def test_each_attempt_tells_what_it_ran_on_and_the_final_record_has_the_last_word(
    scene: Scene,
) -> None:
    recorder = scene.recorder()
    scene.tell(attempt(1), told(1))
    recorder.drain()
    assert provenance(scene.held()) == ("cuda: GPU 1", "1", "r1", '{"torch": "1"}')
    scene.tell(attempt(2), told(2))
    recorder.drain()
    assert provenance(scene.held()) == ("cuda: GPU 2", "2", "r2", '{"torch": "2"}')
    scene.tell(failed("its process was killed").model_copy(update={"head": HEAD}))
    recorder.drain()
    assert provenance(scene.held())[0] == "cuda: GPU 2", (
        "a failure told by the driver is no attempt"
    )
    last = attempt(3).head
    scene.cell.write_final(final(2, head=last))
    recorder.drain()
    assert provenance(scene.held()) == ("cuda: GPU 3", "3", "r3", '{"torch": "3"}')
    assert scene.held().facts["capsweep.arm"] == "base"


def test_of_two_attempts_carried_at_once_the_last_is_described(scene: Scene) -> None:
    scene.tell(attempt(1), told(1), attempt(2), told(2))
    scene.recorder().drain()
    assert provenance(scene.held())[0] == "cuda: GPU 2"


def test_the_epochs_done_are_told_with_each_batch_and_when_interrupted(scene: Scene) -> None:
    recorder = scene.recorder()
    scene.tell(START, told(1), told(2))
    recorder.drain()
    assert scene.held().facts["capsweep.epochs"] == "2"
    scene.held().facts["capsweep.epochs"] = "0"
    recorder.settle_interrupted(lambda sweep: True)
    assert scene.held().facts["capsweep.epochs"] == "2"


def test_an_outbox_begun_anew_is_read_from_its_beginning(scene: Scene) -> None:
    scene.tell(START, told(1), told(2))
    scene.recorder().drain()
    shutil.rmtree(scene.cell.path)
    scene.cell.path.mkdir()
    scene.tell(failed("ValueError: anew"))
    scene.recorder().drain()
    assert scene.held().facts[TAG_REASON] == "ValueError: anew"
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
    assert scene.outcome() == "finished"
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
    own = scene.records.find_trial(KEY)
    assert own is not None
    real = scene.records.log_epochs

    def refuse(record_id: str, epochs: Any) -> None:
        if record_id == own.record_id:
            raise StoreRefused("It says: metric too strange", "metric too strange")
        real(record_id, epochs)

    monkeypatch.setattr(scene.records, "log_epochs", refuse)
    scene.tell(told(2))
    other.append(told(1))
    recorder.drain()
    assert recorder.complaint == "metric too strange"
    recorder.settle_interrupted(lambda sweep: True)
    assert scene.outcome_of(OTHER) == "interrupted"


def test_a_cell_that_no_sweep_wants_is_settled_once_and_forgotten(scene: Scene) -> None:
    recorder = scene.recorder()
    scene.tell(START, told(1))
    recorder.drain()
    scene.queue.add([OTHER], "example", "parent")  # as --replace does
    recorder.settle_interrupted(lambda sweep: True)
    assert scene.held().facts[TAG_OUTCOME] == "interrupted"
    assert [queued.trial_key for queued in scene.queue.open_cells()] == [OTHER]
    kept: QueuedCell | None = scene.queue.cell(OTHER)
    assert kept is not None
    assert kept.is_wanted
