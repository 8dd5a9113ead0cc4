"""Two launches over one cluster: the second gets its share while the first still has cells."""

import subprocess
import sys
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from sweeps.execution.engine.placement import (
    Limits,
    Machine,
    Placed,
    Request,
    Share,
    place_evenly,
)
from sweeps.execution.engine.policies import Policies
from sweeps.execution.launch.launch import launch
from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.sweep_log import stored_entries
from sweeps.records.sweep_log import TrialNoted
from tests.cluster.ray_nodes import RayNodes
from tests.end_to_end.expectations import expect_each_cell_finished_once
from tests.end_to_end.sweep_file import write_sweep
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.slow

NUM_SLOTS = 4
_ROOT = Path(__file__).parents[2]
_RUN = "from tests.end_to_end.test_shared_cluster import run; run()"


class NominalShare(Share):
    """A share of a GPU that Ray counts but that does not exist: the cores do its work."""

    @property
    def device(self) -> str:
        return "cpu"


def place_nominally(
    requests: Sequence[Request], machines: Sequence[Machine], limits: Limits
) -> Placed:
    """Place jobs as usual, and on a GPU each."""
    placed = place_evenly(requests, machines, limits)
    shares = tuple(NominalShare(**share.model_dump()) for share in placed.shares)
    return placed.model_copy(update={"shares": shares})


def run() -> None:
    """Run a sweep as `capsweep run` does, with one GPU per trial that is not there."""
    file, _, address, _, storage = sys.argv[1:]
    folder = Path(storage)
    options = LaunchOptions(address=address, storage=folder, reports=folder, gpus_per_trial=1)
    result = launch(file, options, Policies(placement=place_nominally))
    raise SystemExit(result.exit_code)


class Launch:
    """A launch over the cluster, with a storage folder of its own, and what it has printed."""

    def __init__(self, nodes: RayNodes, file: Path) -> None:
        self.storage = file.parent / f"of-{file.stem}"
        self.name = file.stem
        self._output = file.with_suffix(".out")
        arguments = (str(file), "--address", nodes.address, "--storage", str(self.storage))
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _RUN, *arguments],
                cwd=file.parent,
                env=nodes.environment | {"PYTHONPATH": str(_ROOT)},
                stdout=output,
                stderr=output,
            )

    @property
    def printed(self) -> str:
        return self._output.read_text()

    def noted(self, event: str) -> int:
        """Return how many trials of the running launch have noted an event."""
        assert self._process.poll() is None, self.printed
        entries = stored_entries(self.storage / "journals", self.name)
        return sum(isinstance(entry, TrialNoted) and entry.event == event for entry in entries)

    def has_ended_well(self) -> bool:
        return self._process.wait(PATIENCE_SECONDS) == 0

    def end(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE_SECONDS)


@pytest.fixture(scope="module")
def nodes() -> Generator[RayNodes]:
    nodes = RayNodes()
    try:
        nodes.start_head()
        nodes.start_worker(2 * NUM_SLOTS, NUM_SLOTS)  # GPUs decide, not cores
        yield nodes
    finally:
        nodes.close()


def test_a_second_launch_begins_once_trials_of_the_first_have_ended_and_both_end(
    tmp_path: Path, nodes: RayNodes
) -> None:
    of_first, of_rest = tmp_path / "gate-of-first", tmp_path / "gate-of-rest"
    of_first.touch()
    of_rest.touch()
    arms = {
        f"{gate.name} {number}": {"loss.gate": str(gate), "loss.seconds": number / 1000}
        for gate in (of_first, of_rest)
        for number in range(NUM_SLOTS)
    }
    large = write_sweep(tmp_path / "large.py", arms=arms, seeds=(0,), epochs=1)
    two = {"one": {}, "other": {"model.routing.iterations": 2}}
    small = write_sweep(tmp_path / "small.py", arms=two, seeds=(0,), epochs=1)

    first = Launch(nodes, large)
    launches = [first]
    try:
        wait_until(lambda: first.noted("started") == NUM_SLOTS)
        second = Launch(nodes, small)
        launches.append(second)
        wait_until(lambda: second.noted("dispatched"))
        wait_until(lambda: "shared with another launch" in first.printed)
        of_first.unlink()  # as many trials as there are slots end, and no other
        wait_until(lambda: second.noted("started"))
        assert first.noted("started") <= NUM_SLOTS + NUM_SLOTS // 2
        of_rest.unlink()
        assert all(launch.has_ended_well() for launch in launches), [first.printed, second.printed]
    finally:
        for launch in launches:
            launch.end()
    expect_each_cell_finished_once(first.storage, num_cells=2 * NUM_SLOTS, num_epochs=1)
    expect_each_cell_finished_once(second.storage, num_cells=2, num_epochs=1)
