"""The recorder carries each thing to the store once, wherever it is killed on the way."""

import itertools
import json
import math
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from sweeps.execution.cells.folder import CellFolder
from sweeps.records.trial_record import ARTIFACT_CONFIG
from tests.sweeps.execution.examples import KEY, epoch, reported, spec, start
from tests.sweeps.execution.recorder.scene import CONFIG, SPEC, START, Scene
from tests.sweeps.tracking.breaking import Breaking, Killed

OTHER = "f" * 20


def test_a_trial_is_carried_as_it_goes(scene: Scene) -> None:
    recorder = scene.recorder()
    assert recorder.drain() == 0
    assert scene.stored_runs() == []
    scene.report(START, reported(1))
    assert recorder.drain() == 1
    assert scene.outcome() == "running"
    assert scene.points()["train_loss"] == [1]
    assert recorder.drain() == 0, "nothing new"
    scene.report(reported(2))
    scene.finish()
    recorder.drain()
    scene.check_finished()
    assert recorder.drain() == 0


def test_a_record_holds_what_was_told(scene: Scene) -> None:
    scene.report(START, reported(1), reported(2))
    scene.finish(peak_memory_bytes=5)
    scene.recorder().drain()
    run = scene.stored_run()
    assert json.loads(run.files[ARTIFACT_CONFIG])["config"] == CONFIG
    tags = {k: v for k, v in run.facts.items() if k.startswith("capsweep.")}
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
    assert run.sweep_id == "own"
    assert run.started == START.time
    assert run.ended == 3000


def test_a_record_holds_target_extra_tests_and_warnings_where_they_were_told(scene: Scene) -> None:
    scene.report(START, reported(1))
    sentences = ("all class capsules are dead",)
    scene.finish(1, target="missed", extra_test_errors={"familiar": 0.25}, warnings=sentences)
    scene.recorder().drain()
    run = scene.stored_run()
    assert run.last_values()["test_error.familiar"] == 0.25
    (record,) = scene.store.records([KEY]).values()
    assert (record.target, record.extra_test_errors) == ("missed", {"familiar": 0.25})
    assert record.warnings == sentences
    assert record.test_error == 0.125


def test_a_record_without_them_stays_readable(scene: Scene) -> None:
    scene.report(START, reported(1))
    scene.finish(1)
    scene.recorder().drain()
    (record,) = scene.store.records([KEY]).values()
    assert (record.target, record.extra_test_errors, record.warnings) == (None, {}, ())


def test_the_numbers_of_health_are_carried_epoch_by_epoch(scene: Scene) -> None:
    curve = tuple(replace(epoch(number), health={"dead_capsules": number / 4}) for number in (1, 2))
    lines = (reported(line.epoch).model_copy(update={"epoch": line}) for line in curve)
    scene.report(START, *lines)
    scene.recorder().drain()
    scene.finish(curve=curve)
    scene.recorder().drain()
    scene.check_finished()
    assert scene.stored_run().history("health.dead_capsules") == {1: 0.25, 2: 0.5}


def num_calls_of_a_whole_carry(folder: Path) -> int:
    scene = Scene(folder)
    records = Breaking(scene.records, -1, False)
    scene.records = records  # pyright: ignore[reportAttributeAccessIssue]
    scene.report(START, reported(1), reported(2))
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
        scene.report(START, reported(1), reported(2, math.nan))
        scene.finish(curve=(epoch(1), epoch(2, math.nan)))
        for call in (at_call, 1):  # the second attempt is killed as well, at its first call
            scene.records = Breaking(records, call, after)  # pyright: ignore
            with suppress(Killed):
                scene.recorder().drain()
            scene.queue.close()
            scene.queue = scene.open_queue()
        scene.records = records
        scene.recorder().drain()
        scene.check_finished()
        scene.queue.close()


def test_with_its_cursor_lost_it_adopts_the_run_and_doubles_nothing(scene: Scene) -> None:
    scene.report(START, reported(1))
    scene.recorder().drain()
    scene.queue.forget([KEY])
    scene.queue.add([KEY], "example", "parent")
    scene.report(reported(2))
    scene.recorder().drain()
    scene.finish()
    scene.recorder().drain()
    scene.check_finished()
    scene.queue.forget([KEY])
    scene.queue.add([KEY], "example", "parent")
    scene.recorder().drain()
    scene.check_finished()


def test_a_trial_is_shown_under_the_record_that_its_sweep_has_in_this_round(scene: Scene) -> None:
    recorder = scene.recorder()
    for key in (KEY, OTHER):
        sweep_id = scene.records.open_sweep("example", "")
        scene.queue.add([KEY, OTHER], "example", "one of earlier")
        cell = CellFolder(scene.cells, key)
        cell.path.mkdir(exist_ok=True)
        cell.append(start(key=key))
        recorder.drain()
        trial = scene.records.find_trial(key)
        assert trial
        assert scene.store.backend.open(trial.record_id).sweep_id == sweep_id
        scene.records.delete_record(sweep_id)


def test_a_torn_outbox_is_made_good_by_the_final_record(scene: Scene) -> None:
    outbox = scene.cell.path / "outbox.jsonl"
    scene.report(START, reported(1))
    outbox.write_bytes(outbox.read_bytes()[:-5])
    scene.recorder().drain()
    assert scene.points()["train_loss"] == []
    scene.report(reported(2))
    scene.finish()
    scene.recorder().drain()
    scene.check_finished()


def test_an_epoch_whose_line_was_lost_between_others_is_made_good_by_the_final_record(
    scene: Scene,
) -> None:
    scene.report(START, reported(1), reported(3))
    scene.recorder().drain()
    scene.report(reported(4))
    scene.recorder().drain()
    assert scene.points()["train_loss"] == [1, 3, 4]
    scene.finish(4)
    scene.recorder().drain()
    scene.check_finished(4)


def test_a_cell_filled_elsewhere_is_recorded_from_its_final_record_alone(scene: Scene) -> None:
    scene.finish()
    scene.recorder().drain()
    scene.check_finished()


def test_a_torn_start_waits_for_the_next_attempt(scene: Scene) -> None:
    (scene.cell.path / "outbox.jsonl").write_bytes(b'{"type": "sta')
    scene.report(reported(1))
    assert scene.recorder().drain() == 0
    assert scene.stored_runs() == []
    scene.report(START, reported(2))
    scene.finish()
    scene.recorder().drain()
    scene.check_finished()


HOSTILE = "a'b\"c`d | $x$ <script> \x1b[31m \x00 \u2028 " + "é" * 9000


def test_hostile_settings_and_names_are_recorded_and_block_nothing(scene: Scene) -> None:
    config = {"text": HOSTILE, "long": list(range(5000)), "none": None}
    hostile = spec(config=config, arm="x' OR 1=1 \n<b>", sweep="example")
    scene.report(start().model_copy(update={"head": hostile}), reported(1))
    scene.recorder().drain()
    assert scene.stored_run().facts["capsweep.arm"] == "x' OR 1=1 \n<b>"
    assert json.loads(scene.stored_run().files[ARTIFACT_CONFIG])["config"] == config


def test_the_users_own_source_is_an_artifact(scene: Scene) -> None:
    with_source = SPEC.model_copy(update={"source": "x = 'é'\n"})
    scene.report(start().model_copy(update={"head": with_source}))
    scene.recorder().drain()
    first, rest = scene.stored_run().files["parts.py"].decode().split("\n", 1)
    assert first.startswith("# ")
    assert first.endswith("schema_version 1")
    assert rest == "x = 'é'\n"


def test_a_record_deleted_in_mid_way_is_carried_anew_with_the_attempts_before_it(
    scene: Scene,
) -> None:
    recorder = scene.recorder()
    scene.report(START, reported(1))
    recorder.drain()
    scene.report(START.model_copy(update={"fence": 2}))
    recorder.drain()
    scene.stored_run().is_deleted = True
    scene.report(reported(2).model_copy(update={"fence": 2}))
    recorder.drain()
    assert scene.points()["train_loss"] == [1, 2]


def test_of_an_outbox_only_what_was_added_is_read_and_lost_leases_stay_known(scene: Scene) -> None:
    recorder = scene.recorder()
    scene.report(START, START.model_copy(update={"fence": 2}))
    recorder.drain()
    outbox = scene.cell.path / "outbox.jsonl"
    outbox.write_bytes(b"x" * (outbox.stat().st_size - 1) + b"\n")
    scene.report(reported(1), reported(2).model_copy(update={"fence": 2}))
    recorder.drain()
    assert scene.points()["train_loss"] == [2], "the first was told by one without its lease"
