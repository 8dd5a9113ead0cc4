"""The queue hands out empty cells and reads from their folders what became of them."""

from pathlib import Path

import pytest

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.engine.cell_queue import CellQueue
from sweeps.execution.engine.cell_source import ListedCells
from sweeps.execution.engine.engine import CannotGoOn, Job, Next, TrialEnded, TrialStarted
from sweeps.execution.engine.failure_policy import (
    MAX_RESTARTS,
    Failure,
    FailurePolicy,
    restart_blameless,
)
from sweeps.execution.engine.placement import Share
from sweeps.execution.worker.trial import TrialJob
from sweeps.records.cell_contents import TrialSpec
from sweeps.records.trial_record import Outcome
from tests.sweeps.execution.examples import failed, final, reported, spec, start
from tests.sweeps.storage.test_file_lock import end, holding


def killed(times: int) -> str:
    return f"its process was killed, {times} times so far"


class Onlooker:
    """Events, written down."""

    def __init__(self) -> None:
        self.events: list[tuple[object, ...]] = []

    def dispatched(self, trial_key: str) -> None:
        self.events.append(("dispatched", trial_key[0]))

    def started(self, trial_key: str) -> None: ...

    def progressed(self, trial_key: str, epoch: int, validation_error: float) -> None:
        raise AssertionError

    def restarted(self, trial_key: str, why: str) -> None:
        self.events.append(("restarted", trial_key[0], why))

    def paused(self, trial_key: str, epoch: int) -> None:
        self.events.append(("paused", trial_key[0], epoch))

    def ended(self, trial_key: str, outcome: Outcome, reason: str) -> None:
        self.events.append(("ended", trial_key[0], outcome.value, reason))


def spec_of(letter: str) -> TrialSpec:
    """Return the spec of a cell, each of an arm of its own."""
    named = {"arm": f"arm {letter}", "source_name": "mine.py"}
    return spec(letter * 20).model_copy(update=named)


class Scene:
    """A queue over two cells, a and b."""

    def __init__(
        self, cells: Path, letters: str = "ab", failure_policy: FailurePolicy = restart_blameless
    ) -> None:
        self.cells = cells
        self.onlooker = Onlooker()
        self.num_oom_kills = 7
        self.now = 0.0
        self.notices = list[str]()
        jobs = [TrialJob(cells=str(cells), spec=spec_of(letter)) for letter in letters]
        self.queue = CellQueue(
            ListedCells(jobs),
            self.onlooker,
            failure_policy=failure_policy,
            share_of=lambda _, is_alone=False, gpu="usual": Share(cpus=16 if is_alone else 1),
            oom_kills=lambda: self.num_oom_kills,
            clock=lambda: self.now,
            say=self.notices.append,
        )

    def folder(self, letter: str) -> CellFolder:
        folder = CellFolder(self.cells, letter * 20)
        folder.path.mkdir(parents=True, exist_ok=True)
        return folder

    def next(self) -> str | Next:
        job = self.queue.next()
        return job if isinstance(job, Next) else job.trials[0].spec.trial_key[0]

    def ended(self, letter: str, failure: Failure | None = None, reason: str = "") -> None:
        self.queue.tell(TrialEnded(trial_key=letter * 20, failure=failure, reason=reason))


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "cells")


def test_a_trial_that_a_process_begins_with_is_passed_on_as_started(scene: Scene) -> None:
    started = list[str]()
    scene.onlooker.started = started.append
    scene.next()
    assert started == []
    scene.queue.tell(TrialStarted(trial_key="a" * 20))
    assert started == ["a" * 20]


def test_a_trial_that_is_taken_back_is_the_next_one_again_and_has_not_failed(scene: Scene) -> None:
    assert scene.next() == "a"
    scene.queue.tell(TrialEnded(trial_key="a" * 20, is_taken_back=True))
    assert scene.next() == "a"
    assert scene.onlooker.events == [("dispatched", "a"), ("paused", "a", 0), ("dispatched", "a")]
    assert scene.folder("a").failed_since() is None


def test_a_trial_that_is_retried_goes_before_new_ones(scene: Scene) -> None:
    assert scene.next() == "a"
    scene.ended("a", Failure.LOST, "its machine went away")
    assert [scene.next(), scene.next()] == ["a", "b"]


CRASH = """Fatal Python error: Segmentation fault

Stack (most recent call first):
  File "/lib/ctypes/__init__.py", line 519 in string_at
  File "mine.py", line {line} in route
"""


@pytest.mark.parametrize(
    ("earlier", "crash", "noted", "expected"),
    [
        ("", CRASH.format(line=30), "mine.py, line 1", "mine.py, line 30"),
        ("", "", "mine.py, line 7: time.sleep(9)", "mine.py, line 7: time.sleep(9)"),
        (CRASH.format(line=4), "", "mine.py, line 7", "mine.py, line 7"),
        (CRASH.format(line=4), CRASH.format(line=30), "", "mine.py, line 30"),
    ],
)
def test_a_killed_trial_is_reported_with_its_last_line(
    tmp_path: Path, earlier: str, crash: str, noted: str, expected: str
) -> None:
    scene = Scene(tmp_path / "cells", "a")
    folder = scene.folder("a")
    folder.log.write_text(earlier)
    for attempt in range(MAX_RESTARTS + 1):
        assert scene.next() == "a"
        with folder.log.open("a") as log:
            log.write(crash)
        folder.stats.note_line(noted)
        scene.ended("a")
        words = f"{killed(attempt + 1)}, at last at {expected}"
        assert scene.onlooker.events[-1][2:] == (words,) or attempt == MAX_RESTARTS
    reason = f"its process was killed {MAX_RESTARTS + 1} times, at last at {expected}"
    assert scene.onlooker.events[-1] == ("ended", "a", "failed", reason)


def test_cells_that_another_process_holds_are_named_with_their_age_once_a_minute(
    scene: Scene,
) -> None:
    with holding(scene.folder("a").lock):
        assert scene.next() == "b"
        for scene.now in (0.0, 59.0, 61.0, 90.0, 130.0):
            assert scene.next() is Next.WAIT
    assert [sentence.partition("off: ")[2] for sentence in scene.notices] == [
        "arm a, seed 0 (1 min).",
        "arm a, seed 0 (2 min).",
    ]
    assert scene.next() == "a"
    scene.now = 300.0
    assert scene.next() is Next.WAIT
    assert len(scene.notices) == 2


def test_cells_are_handed_out_once_and_in_order(scene: Scene) -> None:
    assert [scene.next(), scene.next(), scene.next()] == ["a", "b", Next.WAIT]
    for letter in "ab":
        scene.folder(letter).write_final(final(key=letter * 20))
        scene.ended(letter)
    assert scene.next() is Next.DONE
    assert scene.onlooker.events == [
        ("dispatched", "a"),
        ("dispatched", "b"),
        ("ended", "a", "finished", ""),
        ("ended", "b", "finished", ""),
    ]


def test_no_cells_are_done_at_once(tmp_path: Path) -> None:
    assert Scene(tmp_path, "").next() is Next.DONE


def test_a_cell_that_was_filled_meanwhile_is_told_and_not_handed_out(scene: Scene) -> None:
    diverged = final(outcome=Outcome.DIVERGED, reason="nan", test_error=None)
    scene.folder("a").write_final(diverged)
    assert scene.next() == "b"
    assert scene.onlooker.events == [("ended", "a", "diverged", "nan"), ("dispatched", "b")]


def test_a_cell_that_another_process_trains_is_waited_for(scene: Scene) -> None:
    process = holding(scene.folder("a").path / "lock")
    try:
        assert [scene.next(), scene.next()] == ["b", Next.WAIT]
        scene.folder("b").write_final(final())
        scene.ended("b")
        assert scene.next() is Next.WAIT, "not done while the other trains"
        scene.folder("a").write_final(final())
    finally:
        end(process)
    assert scene.next() is Next.DONE
    assert ("ended", "a", "finished", "") in scene.onlooker.events
    assert ("dispatched", "a") not in scene.onlooker.events


def test_a_cell_that_another_process_left_empty_is_handed_out(scene: Scene) -> None:
    process = holding(scene.folder("a").path / "lock")
    assert scene.next() == "b"
    end(process)
    assert scene.next() == "a"


def test_a_cell_that_another_process_took_first_is_waited_for_not_restarted(scene: Scene) -> None:
    assert scene.next() == "a"
    process = holding(scene.folder("a").path / "lock")
    try:
        scene.ended("a")
        assert [scene.next(), scene.next()] == ["b", Next.WAIT]
    finally:
        end(process)
    assert [event[0] for event in scene.onlooker.events] == ["dispatched", "dispatched"]


def test_a_failed_cell_is_tried_once_more_and_no_third_time(scene: Scene) -> None:
    for _ in range(2):
        assert scene.next() == "a"
        for line in (start(), reported(1), failed("ValueError: no")):
            scene.folder("a").append(line)
        scene.ended("a")
    assert scene.onlooker.events[1:] == [
        ("restarted", "a", "it raised ValueError: no"),
        ("dispatched", "a"),
        ("ended", "a", "failed", "ValueError: no"),
    ]
    assert scene.next() == "b"


def test_a_failure_of_an_earlier_launch_is_none_of_this_one(scene: Scene) -> None:
    for line in (start(), failed("before")):
        scene.folder("a").append(line)
    assert scene.next() == "a"
    scene.ended("a")
    assert scene.onlooker.events[-1] == ("restarted", "a", killed(1))
    assert scene.next() == "a", "it goes on before others begin"


def test_a_killed_cell_is_restarted_three_times_and_then_failed(scene: Scene) -> None:
    for times in range(1, MAX_RESTARTS + 1):
        assert scene.next() == "a"
        scene.folder("a").append(start())
        scene.ended("a")
        assert scene.onlooker.events[-1] == ("restarted", "a", killed(times))
    assert scene.next() == "a"
    scene.ended("a")
    reason = f"its process was killed {MAX_RESTARTS + 1} times"
    assert scene.onlooker.events[-1] == ("ended", "a", "failed", reason)
    assert scene.folder("a").failure_since() == reason
    assert scene.next() == "b"


def test_a_cell_killed_before_it_could_start_leaves_a_record_that_names_it(scene: Scene) -> None:
    for _ in range(MAX_RESTARTS + 1):
        assert scene.next() == "a"
        scene.ended("a")
    lines, _ = scene.folder("a").read_outbox()
    assert [line.type for line in lines] == ["failed"]
    assert lines[0].head == spec_of("a")
    assert lines[0].fence == 1


def test_kills_of_one_cell_do_not_count_for_another(scene: Scene) -> None:
    for _ in range(MAX_RESTARTS):
        assert scene.next() == "a"
        scene.ended("a")
    assert [scene.next(), scene.next()] == ["a", "b"]
    scene.ended("b")
    assert scene.onlooker.events[-1] == ("restarted", "b", killed(1))


def test_a_killed_cell_that_filled_itself_is_filled(scene: Scene) -> None:
    assert scene.next() == "a"
    scene.folder("a").append(failed())
    scene.folder("a").write_final(final())
    scene.ended("a")
    assert scene.onlooker.events[-1] == ("ended", "a", "finished", "")


def test_a_cell_that_cannot_be_told_of_fails_alone(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_to_lock(*_: object, **__: object) -> None:
        raise TimeoutError("locked by another process")

    monkeypatch.setattr(CellFolder, "lease", fail_to_lock)
    for _ in range(MAX_RESTARTS + 1):
        assert scene.next() == "a"
        scene.ended("a")
    reason = f"its process was killed {MAX_RESTARTS + 1} times"
    assert scene.onlooker.events[-1] == ("ended", "a", "failed", reason)
    assert scene.next() == "b"


def test_a_cell_whose_final_record_is_damaged_fails_alone(scene: Scene) -> None:
    (scene.folder("a").path / "final.json").write_text("{")
    assert scene.next() == "b"
    assert scene.onlooker.events[0][:3] == ("ended", "a", "failed")
    assert "Move the folder" in str(scene.onlooker.events[0][3])


def test_a_lost_machine_is_never_held_against_a_trial(scene: Scene) -> None:
    for _ in range(10 * MAX_RESTARTS):
        assert scene.next() == "a"
        scene.ended("a", Failure.LOST, "its machine went away")
    assert scene.onlooker.events[-1] == ("restarted", "a", "its machine went away")


def test_one_killed_for_memory_gets_a_machine_of_its_own_and_then_fails_with_its_peak(
    scene: Scene,
) -> None:
    job = scene.queue.next()
    assert isinstance(job, Job)
    assert job.share.cpus == 1
    scene.folder("a").stats.note_peak_memory(3 * 2**30)
    scene.num_oom_kills += 1
    scene.ended("a")
    job = scene.queue.next()
    assert isinstance(job, Job)
    assert (job.trial_keys[0][0], job.share.cpus) == ("a", 16)
    scene.num_oom_kills += 1
    scene.ended("a")
    reason = "out of memory: its process held 3.00 GiB at most"
    assert scene.onlooker.events[-1] == ("ended", "a", "failed", reason)
    assert scene.folder("a").failure_since() == reason


def test_a_kill_that_the_kernel_did_not_count_is_a_kill_and_each_count_explains_one(
    scene: Scene,
) -> None:
    assert [scene.next(), scene.next()] == ["a", "b"]
    scene.num_oom_kills += 1
    scene.ended("a")
    scene.ended("b")
    events = [event for event in scene.onlooker.events if event[0] == "restarted"]
    assert events == [("restarted", "a", "out of memory"), ("restarted", "b", killed(1))]


def test_a_kill_from_before_a_trial_was_handed_out_does_not_explain_its_end(scene: Scene) -> None:
    assert scene.next() == "a"
    scene.num_oom_kills += 2  # of other processes
    assert scene.next() == "b"
    scene.ended("b")
    assert scene.onlooker.events[-1] == ("restarted", "b", killed(1))
    scene.num_oom_kills += 1
    scene.ended("a")
    assert scene.onlooker.events[-1] == ("restarted", "a", "out of memory")


def test_memory_that_the_trial_was_refused_is_known_from_its_own_word(scene: Scene) -> None:
    assert scene.next() == "a"
    line = failed("OutOfMemoryError: CUDA out of memory")
    scene.folder("a").append(line.model_copy(update={"is_out_of_memory": True}))
    scene.ended("a")
    job = scene.queue.next()
    assert isinstance(job, Job)
    assert job.share.cpus == 16


def fail_twice(scene: Scene, letter: str, reason: str) -> None:
    for _ in range(2):
        assert scene.next() == letter
        scene.ended(letter, Failure.RAISED, reason)


def test_three_arms_that_fail_alike_before_any_has_finished_end_the_launch(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "abcd")
    fail_twice(scene, "a", "RuntimeError: got 4 sizes")
    fail_twice(scene, "b", "RuntimeError: got 8 sizes")
    with pytest.raises(CannotGoOn, match=r"3 arms failed alike .*: RuntimeError: got 16 sizes"):
        fail_twice(scene, "c", "RuntimeError: got 16 sizes")
    assert scene.onlooker.events[-1] == ("ended", "c", "failed", "RuntimeError: got 16 sizes")


def test_they_fail_alike_too_where_each_names_its_own_cell(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "abcd")
    why = "OSError: [Errno 30] Read-only file system: '{}/checkpoint.safetensors'"
    for letter in "ab":
        fail_twice(scene, letter, why.format(scene.folder(letter).path))
    with pytest.raises(CannotGoOn, match="3 arms failed alike"):
        fail_twice(scene, "c", why.format(scene.folder("c").path))


def test_they_do_not_once_one_has_finished_or_where_they_fail_each_in_its_own_way(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path, "abcde")
    assert scene.next() == "a"
    scene.folder("a").write_final(final(key="a" * 20))
    scene.ended("a")
    for letter in "bcd":
        fail_twice(scene, letter, "OSError: no")
    assert scene.next() == "e"

    other = Scene(tmp_path / "other", "abcd")
    for letter in "abc":
        fail_twice(other, letter, f"OSError: no {letter}")
    assert other.next() == "d"
