"""Another placement is one function, handed in by argument.

This one reads what a trial trains: wide networks get what was asked, others half of it, so that
two of them share what one wide one needs.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from search_spaces import ListedArms
from search_spaces.sweep import Sweep
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.engine.capacity import Resources, Room
from sweeps.execution.engine.cell_queue import CellQueue
from sweeps.execution.engine.cell_source import ListedCells
from sweeps.execution.engine.cgroup import num_cores
from sweeps.execution.engine.engine import EpochEnded
from sweeps.execution.engine.placement import (
    Limits,
    Machine,
    Placed,
    Request,
    Share,
    num_fitting,
)
from sweeps.execution.engine.policies import Policies
from sweeps.execution.launch.launch import launch
from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.worker.trial import TrialJob
from sweeps.records.errors import BadInput
from sweeps.records.trial_record import Outcome
from tests.capsmodel.small_config import small_config
from tests.sweeps.execution.engine.simulated_engine import SimulatedEngine, Training
from tests.sweeps.execution.examples import epoch, final, spec

ROOT = Path(__file__).parents[2]
WIDE, NARROW = ({"model": {"conv_channels": channels}} for channels in (16, 8))
GPUS = (Machine(cpus=8, gpus=1), Machine(cpus=8, gpus=1))


def halves_for_the_narrow(
    requests: Sequence[Request], machines: Sequence[Machine], limits: Limits
) -> Placed:
    """Give wide networks what was asked, and others half of it."""
    shares = tuple(_share(request) for request in requests)
    most = max(num_fitting(share, machines) for share in shares)
    return Placed(shares=shares, num_concurrent=min(most, limits.max_concurrent or most))


def _share(request: Request) -> Share:
    gpus = request.gpus or 0.0
    if any(config["model"]["conv_channels"] > 8 for config in request.configs):
        return Share(cpus=request.cpus, gpus=gpus)
    return Share(cpus=request.cpus // 2, gpus=gpus / 2)


class Quiet:
    """An onlooker who looks away."""

    def dispatched(self, trial_key: str) -> None: ...

    def started(self, trial_key: str) -> None: ...

    def progressed(self, trial_key: str, epoch: int, validation_error: float) -> None: ...

    def restarted(self, trial_key: str, why: str) -> None: ...

    def paused(self, trial_key: str, epoch: int) -> None: ...

    def ended(self, trial_key: str, outcome: Outcome, reason: str) -> None: ...


def run(cells: Path, kinds: str, room: Room) -> SimulatedEngine:
    """Run one trial a letter, wide those of W and narrow those of n, each of three epochs."""

    def train(job: TrialJob) -> Training:
        folder = CellFolder(cells, job.spec.trial_key)
        with folder.lease(0):
            for number in range(1, 4):
                yield EpochEnded(trial_key=job.spec.trial_key, result=epoch(number))
            folder.write_final(final(head=job.spec))

    configs = [WIDE if kind == "W" else NARROW for kind in kinds]
    jobs = [
        TrialJob(cells=str(cells), spec=spec(f"{kind}{number}" * 10, config=config))
        for number, (kind, config) in enumerate(zip(kinds, configs, strict=True))
    ]
    queue = CellQueue(ListedCells(jobs), Quiet(), share_of=room.share)
    engine = SimulatedEngine(train, GPUS)
    engine.run(queue, queue, room.capacity(configs).num_concurrent)
    assert all(CellFolder(cells, job.spec.trial_key).is_filled() for job in jobs)
    return engine


def test_two_narrow_networks_share_the_gpu_that_a_wide_one_has_alone(tmp_path: Path) -> None:
    room = Room(Resources(cpus=2, gpus=1.0), halves_for_the_narrow, lambda: GPUS)
    engine = run(tmp_path, "WnnWWn", room)
    kinds = {
        "".join(sorted(key[0] for key in on_one)) for turn in engine.together for on_one in turn
    }
    assert kinds == {"", "W", "n", "nn"}
    assert ["W", "nn"] in [["".join(key[0] for key in on) for on in t] for t in engine.together]


def test_one_kind_alone_fills_the_machines(tmp_path: Path) -> None:
    room = Room(Resources(cpus=2, gpus=1.0), halves_for_the_narrow, lambda: GPUS)
    assert [room.capacity([kind]).num_concurrent for kind in (WIDE, NARROW)] == [2, 4]
    engine = run(tmp_path, "nnnn", room)
    assert [len(on_one) for on_one in engine.together[0]] == [2, 2]


def test_a_kind_that_fits_nowhere_is_refused_and_the_other_is_not() -> None:
    room = Room(Resources(cpus=12), halves_for_the_narrow, lambda: GPUS)
    assert room.share(NARROW) == Share(cpus=6)
    with pytest.raises(BadInput, match="No trial fits: each asks for 12 CPUs"):
        room.capacity([NARROW, WIDE])


def launch_both(folder: Path) -> None:
    """Launch a sweep of both kinds with Ray, two cores a trial."""
    arms = {"narrow": {}, "wide": {"model.conv_channels": 16}}
    plan = ListedArms(baseline="narrow", arms=arms)
    sweep = Sweep(
        name="both", description="Two kinds.", base=small_config(), plan=plan, seeds=(0, 1)
    )
    options = LaunchOptions(
        storage=folder / "store", reports=folder / "reports", cpus_per_trial=2, gpus_per_trial=0
    )
    result = launch(sweep, options, Policies(placement=halves_for_the_narrow))
    assert result.exit_code == 0, result


@pytest.mark.slow
@pytest.mark.skipif(num_cores() < 2, reason="a wide network asks for two cores")
def test_ray_gives_each_kind_its_share(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from tests.growth.test_placement import launch_both;"
        "launch_both(Path(sys.argv[1]))"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path], check=True, cwd=ROOT)
    finals = [
        CellFolder(path.parent, path.name).read_final() for path in tmp_path.glob("store/cells/*")
    ]
    threads = sorted(
        (final.head.arm, final.head.seed, final.head.threads) for final in finals if final
    )
    assert threads == [("narrow", 0, 1), ("narrow", 1, 1), ("wide", 0, 2), ("wide", 1, 2)]


def test_a_trial_that_is_to_be_alone_gets_all_of_the_largest_machine_that_it_fits() -> None:
    machines = [Machine(cpus=8), Machine(cpus=4, gpus=2), Machine(cpus=16)]
    room = Room(Resources(cpus=2, gpus=0), machines=lambda: machines)
    assert room.share({}, is_alone=True) == Share(cpus=16)
    room = Room(Resources(cpus=2, gpus=0.5), machines=lambda: machines)
    assert room.share({}, is_alone=True) == Share(cpus=4, gpus=2)
