r"""What a training step with EM routing takes, its votes multiplied out a few sites at a time.

    OMP_NUM_THREADS=1 python -m benchmarks.em_routing \
        > benchmarks/reports/<date>_em_routing_<machine>.md

It is compared with the same network whose votes are held in full and differentiated automatically.
Each is a process of its own; they step in turn, so that other work on the machine slows both.
"""

import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import torch

from benchmarks.literal_forms import make_literal
from capsmodel.losses import SpreadLoss
from capsmodel.models import MatrixCapsNet
from capsmodel.optimisers import Adam
from sweeps.execution.worker.provenance import git_revision, package_versions

STEPS = 9
BATCH, CLASSES, SIDE = 8, 5, 32
MODEL = MatrixCapsNet(conv_channels=64)
TITLES = {
    "tiled": "multiplied out a few sites at a time",
    "plain": "held in full",
    "plain, tuned malloc": "held in full, freed memory kept by the process",
}
TUNED_MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(2**33), "MALLOC_TRIM_THRESHOLD_": str(2**35)}


class Step(NamedTuple):
    """What a step of training took, and the most memory that the process ever held by then."""

    wall: float
    processor: float
    mebibytes: float


class Process:
    """A network in a process of its own that makes a step when it is asked to."""

    def __init__(self, name: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.em_routing", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **(TUNED_MALLOC if "malloc" in name else {})},
        )

    def step(self) -> Step:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write("step\n")
        self.process.stdin.flush()
        return Step(*map(float, self.process.stdout.readline().split()))


def main() -> None:
    processes = {name: Process(name) for name in TITLES}
    steps: dict[str, list[Step]] = {name: [] for name in TITLES}
    for _ in range(STEPS + 1):
        for name, process in processes.items():
            steps[name].append(process.step())
            print(name, steps[name][-1], file=sys.stderr)
    print("\n".join([*head(), *(row(name, measured[1:]) for name, measured in steps.items())]))
    print(f"\nLoad of the machine at the end: {os.getloadavg()[0]:.1f}")


def serve(name: str) -> None:
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    network = MODEL.build((1, SIDE, SIDE), CLASSES)
    network.initialise(0)
    if name != "tiled":
        make_literal(network)
    optimiser = Adam().build(tuple(network.parameters()))
    before = peak()  # here, as torch imports much of itself for the first optimiser
    images = torch.rand(BATCH, 1, SIDE, SIDE, generator=generator)
    labels = torch.randint(CLASSES, (BATCH,), generator=generator)
    for _ in sys.stdin:
        wall, processor = time.perf_counter(), time.process_time()
        optimiser.zero_grad(set_to_none=True)
        SpreadLoss().judge(network(images, labels, generator), labels, 0.0).backward()
        optimiser.step()
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        print(wall, processor, peak() - before, flush=True)


def peak() -> float:
    """Return the most MiB that the process has held; Linux counts them in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def row(name: str, steps: list[Step]) -> str:
    wall, processor = (statistics.median(column) for column in list(zip(*steps, strict=True))[:2])
    fastest = min(step.processor for step in steps)
    return (
        f"| {TITLES[name]} | {wall:.2f} | {processor:.2f} | {fastest:.2f} "
        f"| {steps[-1].mebibytes:.0f} |"
    )


def head() -> list[str]:
    routing = MODEL.routing.model_dump_json()
    return [
        "# A training step with EM routing",
        "",
        f"- machine: {os.cpu_count()} cores, {platform.system()}, no GPU, one thread; shared with "
        "other work, so that processor time says more than wall time",
        f"- {', '.join(f'{name} {version}' for name, version in package_versions().items())}",
        f"- commit {git_revision(Path(__file__).parent)}",
        f"- matrix capsules with A = {MODEL.conv_channels} and B, C, D = {MODEL.primary_types}, "
        f"{MODEL.first_types}, {MODEL.second_types} on {SIDE} by {SIDE} grey pixels, {CLASSES} "
        f"classes, batches of {BATCH}",
        f"- routing: `{routing}`",
        f"- a step is forward, spread loss, backward and Adam; {STEPS} steps after one that does "
        "not count; the processes step in turn",
        "- memory: the most that the process ever held, above what it held with network and "
        "optimiser built",
        "",
        "| votes | median wall s | median processor s | least processor s | peak MiB |",
        "| :--- | ---: | ---: | ---: | ---: |",
    ]


if __name__ == "__main__":
    serve(sys.argv[1]) if len(sys.argv) > 1 else main()
