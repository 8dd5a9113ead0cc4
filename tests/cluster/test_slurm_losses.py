"""A sweep on a real Slurm of two nodes: its job is requeued, and runs out of time."""

import re

import pytest

from tests.cluster.held_sweep import (
    HELD_ARMS,
    NUM_CELLS,
    NUM_EPOCHS,
    hold,
    num_begun,
    num_filled,
    release,
    write_held_sweep,
)
from tests.cluster.slurm import LOGIN, NODES, Slurm, why_no_slurm
from tests.end_to_end.storage_view import expect_each_epoch_trained_once
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.long,
    pytest.mark.skipif(bool(why_no_slurm()), reason=why_no_slurm()),
    pytest.mark.timeout(1800),
]
_ON_TWO_NODES = ("--to=slurm", "--nodes=2", "--cpus-per-node=2", "--time=10m")


def test_a_sweep_that_slurm_requeues_and_whose_time_runs_out_gives_the_same_tables(
    slurm: Slurm,
) -> None:
    write_held_sweep(slurm.shared / "held.py")
    hold(slurm.hosts, NODES)
    submitted = slurm.capsweep("submit", "held.py", *_ON_TWO_NODES, "--yes")
    assert f"held on Slurm: {NUM_CELLS} cells; 4 trials at once, no GPU each." in submitted
    job = re.search(r"Submitted to Slurm as job (\d+)", submitted)
    assert job

    storage = slurm.shared / "capsweep-store"
    # the first is filled and the next two are held, also where Ray has not started on one node
    wait_until(lambda: num_begun(storage) >= 3)
    assert "A launch runs now." in slurm.capsweep("status", "held")
    slurm.on(LOGIN, "scontrol", "requeuehold", job[1])
    held = f"Job {job[1]} is held (job requeued in held state) and does not start by itself"
    wait_until(lambda: held in slurm.capsweep("status", "held"))
    assert "Go on with" not in slurm.capsweep("status", "held")
    slurm.on(LOGIN, "scontrol", "release", job[1])

    printed = storage / "slurm/held/job.out"
    wait_until(lambda: "attempt 2 of 10" in printed.read_text())
    filled = num_filled(storage)
    release(slurm.hosts, NODES, HELD_ARMS[1])
    wait_until(lambda: num_filled(storage) > filled)
    # as Slurm does for --signal=B:USR1@..., only sooner
    slurm.on(LOGIN, "scancel", "--batch", "--signal=USR1", job[1])
    wait_until(lambda: "the time of the job is nearly over" in printed.read_text())
    wait_until(lambda: "the job is queued again" in printed.read_text())
    release(slurm.hosts, NODES, HELD_ARMS[0])
    followed = slurm.capsweep("submit", "held.py", *_ON_TWO_NODES, "--yes", "--follow")
    assert "attempt 3 of 10" in followed
    assert f"{NUM_CELLS} of {NUM_CELLS} cells filled" in followed
    expect_each_epoch_trained_once(storage, storage / "mlflow.db", NUM_CELLS, NUM_EPOCHS)
    slurm.capsweep("run", "held.py", "--storage=local", "--reports=unbroken")
    for name in ("ablation.csv", "ablation-pairs.csv", "ablation.md", "ablation.tex"):
        here, there = (slurm.shared / folder / "held" / name for folder in ("unbroken", "reports"))
        assert there.read_bytes() == here.read_bytes(), name
