"""Cells come seed by seed; of each seed first the arms that took longest before."""

from pathlib import Path

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.engine.cell_queue import CellQueue
from sweeps.execution.engine.cell_source import Listed
from sweeps.execution.engine.messages import Order, TrialEnded
from sweeps.execution.worker.trial import TrialOrder
from sweeps.records.trial_record import Outcome
from tests.sweeps.execution.engine.test_cell_queue import Heard
from tests.sweeps.execution.examples import final, head

SECONDS = {"short": 1.0, "long": 4.0, "middle": 2.0, "longest": 9.0}


def key(arm: str, seed: int) -> str:
    return f"{arm}{seed}".ljust(20, "0")


def listed(cells: Path, arms: list[str], seeds: int) -> Listed:
    return Listed(
        TrialOrder(cells=str(cells), head=head(key(arm, seed), arm=arm, seed=seed))
        for seed in range(seeds)
        for arm in arms
    )


def fill(cells: Path, arm: str, seed: int, **changes: object) -> None:
    folder = CellFolder(cells, key(arm, seed))
    folder.path.mkdir(parents=True, exist_ok=True)
    told = {"duration_seconds": SECONDS[arm], **changes}
    folder.write_final(final(key=folder.trial_key, **told))


def arms_of(orders: list[TrialOrder]) -> list[str]:
    return [order.head.arm for order in orders]


def test_of_each_seed_the_longest_come_first_once_that_is_known(tmp_path: Path) -> None:
    arms = list(SECONDS)
    source = listed(tmp_path, arms, seeds=3)
    assert arms_of(source.more()) == arms, "nothing is known: the order of the design"
    for arm in ("short", "middle", "longest"):
        fill(tmp_path, arm, 0)
        source.ended(key(arm, 0), Outcome.FINISHED)
    orders = source.more()
    assert {order.head.seed for order in orders} == {1}
    assert arms_of(orders) == ["long", "longest", "middle", "short"], "what still runs may be long"
    fill(tmp_path, "long", 0)
    source.ended(key("long", 0), Outcome.FINISHED)
    assert arms_of(source.more()) == ["longest", "long", "middle", "short"]
    assert source.more() == []


def test_a_trial_that_did_not_finish_tells_no_length(tmp_path: Path) -> None:
    source = listed(tmp_path, ["short", "long"], seeds=2)
    source.more()
    fill(tmp_path, "short", 0, outcome=Outcome.DIVERGED, test_error=None, duration_seconds=0.1)
    source.ended(key("short", 0), Outcome.DIVERGED)
    source.ended(key("long", 0), Outcome.FAILED)
    assert arms_of(source.more()) == ["short", "long"]


def test_two_machines_do_not_end_with_a_long_training_that_began_last(tmp_path: Path) -> None:
    """Two slots, simulated: with the order of the design the last cell alone takes 9 seconds."""
    queue = CellQueue(listed(tmp_path, list(SECONDS), seeds=2), Heard())
    ends: dict[float, str] = {}
    handed_out, now, idle = [], 0.0, 2
    while True:
        while idle and isinstance(order := queue.next(), Order):
            handed_out.append(order.trials[0].head)
            arm = handed_out[-1].arm
            ends[now + SECONDS[arm] + 1e-6 * len(handed_out)] = handed_out[-1].trial_key
            idle -= 1
        if not ends:
            break
        now = min(ends)
        ended = ends.pop(now)
        trained = next(one for one in handed_out if one.trial_key == ended)
        fill(tmp_path, trained.arm, trained.seed)
        queue.tell(TrialEnded(trial_key=ended))
        idle += 1
    assert [one.seed for one in handed_out] == [0] * 4 + [1] * 4
    assert len({one.trial_key for one in handed_out}) == 8
    assert now < 16.1, "20 in the order of the design"
