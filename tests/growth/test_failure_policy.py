"""Another failure policy is one function, handed in by argument.

This one waits before it tries a trial again that raised, as where a disk is full for a while, and
never restarts one whose process was killed, as where a machine kills what takes too much memory.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.engine.cell_queue import CellQueue
from sweeps.execution.engine.cell_source import ListedCells
from sweeps.execution.engine.failure_policy import FailedAttempt, Failure, GiveUp, Retry
from sweeps.execution.worker.trial import TrialJob
from sweeps.records.trial_record import Outcome
from tests.sweeps.execution.engine.simulated_engine import SimulatedEngine, Training
from tests.sweeps.execution.examples import final, spec


def wait_and_retry(attempts: Sequence[FailedAttempt]) -> Retry | GiveUp:
    """Try twice again what raised, after 10 seconds and after 20; nothing that was killed."""
    if attempts[-1].failure is Failure.KILLED:
        return GiveUp(reason="too large for this machine")
    if len(attempts) <= 2:
        return Retry(after_seconds=10.0 * len(attempts))
    return GiveUp(reason=f"raised {len(attempts)} times, at last {attempts[-1].reason}")


class Scene:
    """A launch of two trials, of which the first has troubles; its clock moves when all wait."""

    def __init__(self, cells: Path, troubles: Sequence[Failure]) -> None:
        self.cells = cells
        self.troubles = list(troubles)
        self.seconds = 0.0
        self.heard: list[tuple[float, str, str]] = []

    def run(self) -> list[tuple[float, str, str]]:
        jobs = [TrialJob(cells=str(self.cells), spec=spec(key * 20)) for key in "ab"]
        queue = CellQueue(
            ListedCells(jobs), self, failure_policy=wait_and_retry, clock=lambda: self.seconds
        )
        SimulatedEngine(self.train, idle=self.second_passes).run(queue, queue, num_concurrent=1)
        return self.heard

    def train(self, job: TrialJob) -> Training:
        folder = CellFolder(self.cells, job.spec.trial_key)
        with folder.lease(0) as fence:
            trouble = self.troubles.pop(0) if self.troubles and folder.path.name[0] == "a" else None
            if trouble is Failure.RAISED:
                folder.append_failure(job.spec, fence, "OSError: disk full")
            if trouble is None:
                folder.write_final(final(head=job.spec))
        yield from ()

    def second_passes(self) -> None:
        self.seconds += 1.0

    def dispatched(self, trial_key: str) -> None:
        self.heard.append((self.seconds, "dispatched", trial_key[0]))

    def started(self, trial_key: str) -> None: ...

    def progressed(self, trial_key: str, epoch: int, validation_error: float) -> None:
        raise AssertionError

    def restarted(self, trial_key: str, why: str) -> None:
        self.heard.append((self.seconds, "restarted", why))

    def paused(self, trial_key: str, epoch: int) -> None:
        raise AssertionError

    def ended(self, trial_key: str, outcome: Outcome, reason: str) -> None:
        self.heard.append((self.seconds, outcome.value, reason))


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    return tmp_path / "cells"


def test_what_raised_is_tried_again_later_and_others_go_on_meanwhile(cells: Path) -> None:
    assert Scene(cells, [Failure.RAISED, Failure.RAISED]).run() == [
        (0.0, "dispatched", "a"),
        (0.0, "restarted", "it raised OSError: disk full"),
        (0.0, "dispatched", "b"),
        (0.0, "finished", ""),
        (10.0, "dispatched", "a"),
        (10.0, "restarted", "it raised OSError: disk full"),
        (30.0, "dispatched", "a"),
        (30.0, "finished", ""),
    ]


def test_what_raises_for_the_third_time_is_given_up_in_the_policys_words(cells: Path) -> None:
    heard = Scene(cells, [Failure.RAISED] * 3).run()
    assert heard[-1] == (30.0, "failed", "raised 3 times, at last OSError: disk full")
    assert not CellFolder(cells, "a" * 20).is_filled()


def test_what_was_killed_is_not_restarted_and_its_record_says_why(cells: Path) -> None:
    heard = Scene(cells, [Failure.KILLED]).run()
    assert heard[:2] == [(0.0, "dispatched", "a"), (0.0, "failed", "too large for this machine")]
    assert heard[-1] == (0.0, "finished", ""), "the other"
    assert CellFolder(cells, "a" * 20).failure_since() == "too large for this machine"
