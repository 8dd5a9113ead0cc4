"""Cells come seed by seed; of each seed first the arms that took longest before."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.engine.cell_queue import CellQueue
from sweeps.execution.engine.cell_source import ListedCells
from sweeps.execution.engine.engine import Job, TrialEnded
from sweeps.execution.worker.trial import TrialJob
from sweeps.records.trial_record import Outcome
from tests.sweeps.execution.engine.test_cell_queue import Onlooker
from tests.sweeps.execution.examples import final, spec

SECONDS = {"short": 1.0, "long": 4.0, "middle": 2.0, "longest": 9.0}


def key(arm: str, seed: int) -> str:
    return f"{arm}{seed}".ljust(20, "0")


def listed(
    cells: Path, arms: list[str], seeds: int, clock: Callable[[], float] = time.monotonic
) -> ListedCells:
    jobs = [
        TrialJob(cells=str(cells), spec=spec(key(arm, seed), arm=arm, seed=seed))
        for seed in range(seeds)
        for arm in arms
    ]
    return ListedCells(jobs, clock)


def fill(cells: Path, arm: str, seed: int, **changes: Any) -> None:
    folder = CellFolder(cells, key(arm, seed))
    folder.path.mkdir(parents=True, exist_ok=True)
    fields: dict[str, Any] = {"duration_seconds": SECONDS.get(arm), **changes}
    folder.write_final(final(key=folder.trial_key, **fields))


def arms_of_the_next(source: ListedCells, number: int) -> list[str]:
    return [job.spec.arm for _ in range(number) for job in source.more()]


def test_of_each_seed_the_longest_come_first_once_that_is_known(tmp_path: Path) -> None:
    arms = list(SECONDS)
    source = listed(tmp_path, arms, seeds=4)
    assert arms_of_the_next(source, 4) == arms, "nothing is known: the order of the design"
    for arm in ("short", "middle", "longest"):
        fill(tmp_path, arm, 0)
        source.ended(key(arm, 0), Outcome.FINISHED)
    second = arms_of_the_next(source, 4)
    assert second == ["long", "longest", "middle", "short"], "what still runs may be long"
    fill(tmp_path, "long", 0)
    source.ended(key("long", 0), Outcome.FINISHED)
    assert arms_of_the_next(source, 4) == ["longest", "long", "middle", "short"]


def test_every_cell_comes_once_seed_by_seed(tmp_path: Path) -> None:
    source = listed(tmp_path, list(SECONDS), seeds=3)
    heads = [job.spec for _ in range(12) for job in source.more()]
    assert [head.seed for head in heads] == [0] * 4 + [1] * 4 + [2] * 4
    assert len({head.trial_key for head in heads}) == 12
    assert source.more() == []


def test_nobody_judges_the_epochs_of_a_listed_cell(tmp_path: Path) -> None:
    (job,) = listed(tmp_path, ["short"], seeds=1).more()
    assert not job.is_judged
    assert TrialJob(cells=str(tmp_path), spec=job.spec).is_judged, "of any other one"


def test_a_trial_that_did_not_finish_tells_no_length(tmp_path: Path) -> None:
    source = listed(tmp_path, ["short", "long"], seeds=2)
    arms_of_the_next(source, 2)
    fill(tmp_path, "short", 0, outcome=Outcome.DIVERGED, test_error=None, duration_seconds=0.1)
    source.ended(key("short", 0), Outcome.DIVERGED)
    source.ended(key("long", 0), Outcome.FAILED)
    assert arms_of_the_next(source, 2) == ["short", "long"]


def test_the_last_seed_is_shared_out_so_that_machines_end_together(tmp_path: Path) -> None:
    """Two machines, simulated: with the longest first they end after 7 seconds."""
    seconds = {"a": 3.0, "b": 3.0, "c": 2.0, "d": 2.0, "e": 2.0}
    now = 0.0
    source = listed(tmp_path, list(seconds), seeds=2, clock=lambda: now)
    arms_of_the_next(source, 5)
    for arm, each in seconds.items():
        fill(tmp_path, arm, 0, duration_seconds=each)
        source.ended(key(arm, 0), Outcome.FINISHED)
    ends = [(seconds[arm], arm) for arm in arms_of_the_next(source, 2)]
    while True:
        now, arm = min(ends)
        ends.remove((now, arm))
        fill(tmp_path, arm, 1, duration_seconds=seconds[arm])
        source.ended(key(arm, 1), Outcome.FINISHED)
        if not (following := arms_of_the_next(source, 1)):
            break
        ends.append((now + seconds[following[0]], following[0]))
    assert max(end for end, _ in [*ends, (now, "")]) == 6.0


def test_two_machines_do_not_end_with_a_long_training_that_began_last(tmp_path: Path) -> None:
    """Two slots, simulated: with the order of the design the last cell alone takes 9 seconds."""
    queue = CellQueue(listed(tmp_path, list(SECONDS), seeds=2), Onlooker())
    ends: dict[float, str] = {}
    handed_out, now, idle = [], 0.0, 2
    while True:
        while idle and isinstance(job := queue.next(), Job):
            handed_out.append(job.trials[0].spec)
            arm = handed_out[-1].arm
            ends[now + SECONDS[arm] + 1e-6 * len(handed_out)] = handed_out[-1].trial_key
            idle -= 1
        if not ends:
            break
        now = min(ends)
        ended = ends.pop(now)
        trained = next(spec for spec in handed_out if spec.trial_key == ended)
        fill(tmp_path, trained.arm, trained.seed)
        queue.tell(TrialEnded(trial_key=ended))
        idle += 1
    assert [spec.seed for spec in handed_out] == [0] * 4 + [1] * 4
    assert len({spec.trial_key for spec in handed_out}) == 8
    assert now < 16.1, "20 in the order of the design"
