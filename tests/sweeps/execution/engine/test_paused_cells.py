"""The queue hands out a trial that waited once its process has ended, and not before."""

from pathlib import Path

from capsmodel.metrics import EpochMetrics
from sweeps.execution.engine.cell_queue import CellQueue
from sweeps.execution.engine.engine import EpochEnded, Job, Next, Stop, TrialEnded
from sweeps.execution.worker.trial import TrialJob
from sweeps.records.trial_record import Outcome
from tests.sweeps.execution.engine.test_cell_queue import Onlooker
from tests.sweeps.execution.examples import epoch, spec

KEY = "a" * 20


class Seen(Onlooker):
    """Events, written down, of trials that also train."""

    def progressed(self, trial_key: str, epoch: int, validation_error: float) -> None:
        self.events.append(("progressed", trial_key[0], epoch))


class Pausing:
    """One cell, whose trial waits after each epoch.

    Attributes:
        is_promoted: Whether it goes on already.
    """

    def __init__(self, cells: Path) -> None:
        self._job = TrialJob(cells=str(cells), spec=spec(KEY))
        self.is_promoted = True
        self._waits_at = 0

    def more(self) -> list[TrialJob]:
        jobs = [self._job] * self.is_promoted
        self._waits_at = 0 if self.is_promoted else self._waits_at
        self.is_promoted = False
        return jobs

    def judge(self, trial_key: str, result: EpochMetrics) -> bool:
        self._waits_at = result.epoch
        return True

    def why_stopped(self, trial_key: str) -> str:
        return ""

    def let_go(self, trial_key: str) -> int:
        return self._waits_at

    def ended(self, trial_key: str, outcome: Outcome) -> None:
        raise AssertionError


def test_a_trial_that_waits_has_not_ended_and_is_handed_out_again_once_it_is_promoted(
    tmp_path: Path,
) -> None:
    source, onlooker = Pausing(tmp_path), Seen()
    queue = CellQueue(source, onlooker)
    report = EpochEnded(trial_key=KEY, result=epoch(1))
    assert isinstance(queue.next(), Job)
    assert isinstance(queue.tell(report), Stop)
    queue.tell(TrialEnded(trial_key=KEY))
    assert queue.next() is Next.DONE
    source.is_promoted = True
    assert isinstance(queue.next(), Job)
    assert onlooker.events == [
        ("dispatched", "a"),
        ("progressed", "a", 1),
        ("paused", "a", 1),
        ("dispatched", "a"),
    ]


def test_one_that_is_promoted_before_its_process_has_ended_waits_for_that(tmp_path: Path) -> None:
    source, onlooker = Pausing(tmp_path), Seen()
    queue = CellQueue(source, onlooker)
    queue.next()
    queue.tell(EpochEnded(trial_key=KEY, result=epoch(1)))
    source.is_promoted = True
    assert queue.next() is Next.WAIT
    queue.tell(TrialEnded(trial_key=KEY))
    assert isinstance(queue.next(), Job)
    assert [kind for kind, *_ in onlooker.events] == [
        "dispatched",
        "progressed",
        "paused",
        "dispatched",
    ]
