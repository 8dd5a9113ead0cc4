"""Of several attempts at a trial the record tells what holds now."""

import math
import shutil
from typing import Any

from sweeps.records.trial_record import Outcome
from sweeps.tracking.record_facts import TAG_OUTCOME, TAG_REASON
from tests.sweeps.execution.examples import KEY, failed, final, reported
from tests.sweeps.execution.recorder.scene import SPEC, START, Scene
from tests.sweeps.storage.test_file_lock import end, holding
from tests.sweeps.tracking.memory_store import StoredRun


def test_a_trial_killed_before_it_could_start_is_recorded_as_failed(scene: Scene) -> None:
    scene.report(failed("its process was killed 4 times").model_copy(update={"head": SPEC}))
    scene.recorder().drain()
    assert scene.stored_run().facts[TAG_REASON] == "its process was killed 4 times"
    assert scene.outcome() == "failed"


def test_a_failed_trial_tried_again_goes_on_in_the_same_record(scene: Scene) -> None:
    recorder = scene.recorder()
    scene.cell.log.write_text("Traceback")
    scene.report(START, reported(1), failed("ValueError: no"))
    recorder.drain()
    run = scene.stored_run()
    assert scene.outcome() == "failed"
    assert (run.facts[TAG_OUTCOME], run.facts[TAG_REASON]) == ("failed", "ValueError: no")
    assert run.facts["capsweep.epochs"] == "1"
    scene.report(START, reported(2))
    recorder.drain()
    run = scene.stored_run()
    assert scene.outcome() == "running"
    assert (run.facts[TAG_OUTCOME], run.facts[TAG_REASON]) == ("running", "")
    scene.finish()
    recorder.drain()
    scene.check_finished()


def test_an_adopted_run_that_had_failed_runs_again_too(scene: Scene) -> None:
    scene.report(START, reported(1), failed())
    scene.recorder().drain()
    scene.queue.forget([KEY])
    scene.queue.add([KEY], "other", "parent")
    scene.report(START, reported(2))
    scene.recorder().drain()
    assert scene.outcome() == "running"
    assert scene.stored_run().facts[TAG_REASON] == ""


def test_a_failure_and_a_retry_told_at_once_leave_it_running(scene: Scene) -> None:
    scene.report(START, reported(1), failed(), START, reported(2))
    scene.recorder().drain()
    assert scene.outcome() == "running"
    assert scene.stored_run().facts.get(TAG_REASON, "") == ""


def test_a_diverged_trial_is_final(scene: Scene) -> None:
    scene.report(START, reported(1, math.inf))
    scene.finish(
        1, outcome=Outcome.DIVERGED, reason="the training loss became infinite", test_error=None
    )
    scene.recorder().drain()
    run = scene.stored_run()
    assert scene.outcome() == "diverged"
    assert run.facts[TAG_REASON] == "the training loss became infinite"
    assert scene.queue.open_cells() == []


def test_a_trial_that_nobody_trains_any_more_is_interrupted(scene: Scene) -> None:
    recorder = scene.recorder()
    scene.report(START, reported(1))
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
    assert scene.stored_run().facts[TAG_OUTCOME] == "interrupted"
    scene.report(START, reported(2))
    recorder.drain()
    assert scene.outcome() == "running"
    scene.finish()
    recorder.drain()
    scene.check_finished()


def attempt(number: int, **changes: Any) -> Any:
    """Return the start of an attempt by another machine."""
    known: dict[str, Any] = {"device": "cuda", "hardware": f"cuda: GPU {number}"}
    known |= {"threads": number, "git_revision": f"r{number}", "versions": {"torch": str(number)}}
    return START.model_copy(update={"head": SPEC.model_copy(update=known | changes)})


def provenance(run: StoredRun) -> tuple[str, ...]:
    names = ("device", "threads", "git_revision", "versions")
    return tuple(run.facts[f"capsweep.{name}"] for name in names)


def test_each_attempt_tells_what_it_ran_on_and_the_final_record_has_the_last_word(
    scene: Scene,
) -> None:
    recorder = scene.recorder()
    scene.report(attempt(1), reported(1))
    recorder.drain()
    assert provenance(scene.stored_run()) == ("cuda: GPU 1", "1", "r1", '{"torch": "1"}')
    scene.report(attempt(2), reported(2))
    recorder.drain()
    assert provenance(scene.stored_run()) == ("cuda: GPU 2", "2", "r2", '{"torch": "2"}')
    scene.report(failed("its process was killed").model_copy(update={"head": SPEC}))
    recorder.drain()
    assert provenance(scene.stored_run())[0] == "cuda: GPU 2", (
        "a failure told by the driver is no attempt"
    )
    last = attempt(3).head
    scene.cell.write_final(final(2, head=last))
    recorder.drain()
    assert provenance(scene.stored_run()) == ("cuda: GPU 3", "3", "r3", '{"torch": "3"}')
    assert scene.stored_run().facts["capsweep.arm"] == "base"


def test_of_two_attempts_carried_at_once_the_last_is_described(scene: Scene) -> None:
    scene.report(attempt(1), reported(1), attempt(2), reported(2))
    scene.recorder().drain()
    assert provenance(scene.stored_run())[0] == "cuda: GPU 2"


def test_of_a_run_that_was_found_the_attempt_of_now_is_described(scene: Scene) -> None:
    scene.report(attempt(1), reported(1))
    scene.recorder().drain()
    scene.queue.forget([KEY])
    scene.queue.add([KEY], "example", "own")
    scene.report(attempt(2), reported(2))
    scene.recorder().drain()
    assert provenance(scene.stored_run())[0] == "cuda: GPU 2"


def test_the_epochs_done_are_told_with_each_batch_and_when_interrupted(scene: Scene) -> None:
    recorder = scene.recorder()
    scene.report(START, reported(1), reported(2))
    recorder.drain()
    assert scene.stored_run().facts["capsweep.epochs"] == "2"
    scene.stored_run().facts["capsweep.epochs"] = "0"
    recorder.settle_interrupted(lambda sweep: True)
    assert scene.stored_run().facts["capsweep.epochs"] == "2"


def test_an_outbox_begun_anew_is_read_from_its_beginning(scene: Scene) -> None:
    scene.report(START, reported(1), reported(2))
    scene.recorder().drain()
    shutil.rmtree(scene.cell.path)
    scene.cell.path.mkdir()
    scene.report(failed("ValueError: anew"))
    scene.recorder().drain()
    assert scene.stored_run().facts[TAG_REASON] == "ValueError: anew"
    assert scene.points()["train_loss"] == [1, 2]
