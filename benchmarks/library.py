r"""What a training step takes, beside a literal form, an earlier state and the products it needs.

    python benchmarks/library.py [--before CHECKOUT] \
        > benchmarks/reports/<date>_library_<machine>.md

The floor of CapsNet is its two convolutions alone, forward and backward; that of capsules is the
products that make their votes once, and the gradients of these. Each contender is a process of its
own, with one thread; they step in turn, so that other work on the machine slows all of them. Each
is timed with the memory allocator as it comes and with one that
keeps what is freed, which is what sweeps set.
"""

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn

STEPS = 7
TUNED_MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(2**33), "MALLOC_TRIM_THRESHOLD_": str(2**35)}
TITLES = {
    "capsnet": "CapsNet of the paper, 28 by 28 pixels, batches of 128",
    "layer": "its class capsules alone, 1,152 to 10, batches of 128",
    "matrices": "matrix capsules, A = 64, B = 8, C = D = 16, 32 by 32 pixels, batches of 8",
}


class Step(NamedTuple):
    """What a step took, and the most memory that the process ever held by then."""

    wall: float
    processor: float
    mebibytes: float


class Process:
    """A contender in a process of its own, which makes a step when it is asked to."""

    def __init__(
        self,
        arguments: tuple[str, ...],
        folder: Path,
        malloc: dict[str, str],
        program: str = __file__,
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, program, "--serve", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **malloc, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(folder)},
        )

    def step(self) -> Step:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write("step\n")
        self.process.stdin.flush()
        return Step(*map(float, self.process.stdout.readline().split()))

    def stop(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def step_of(workload: str, name: str) -> Callable[[], None]:
    """Return a function that makes one step of a workload."""
    if name == "floor":
        return floor_of(workload)
    from capsmodel.losses import MarginLoss, SpreadLoss
    from capsmodel.models import CapsNet, MatrixCapsNet
    from capsmodel.optimisers import Adam

    generator = torch.Generator().manual_seed(0)
    if workload == "layer":
        capsnet = CapsNet().build((1, 28, 28), 10)
        if name == "literal":
            from benchmarks.literal_forms import make_literal  # which an earlier state has not

            make_literal(capsnet)
        network = capsnet.capsules
        network.initialise(generator)
        inputs = (0.3 * torch.randn(128, 1152, 8)).requires_grad_()

        def alone() -> None:
            network.zero_grad(set_to_none=True)
            inputs.grad = None
            network(inputs, generator).poses.square().sum().backward()

        return alone
    is_matrix = workload == "matrices"
    small = MatrixCapsNet(conv_channels=64, primary_types=8, first_types=16, second_types=16)
    side, classes, batch = (32, 5, 8) if is_matrix else (28, 10, 128)
    network = (small if is_matrix else CapsNet()).build((1, side, side), classes)
    network.initialise(0)
    if name == "literal":
        from benchmarks.literal_forms import make_literal

        make_literal(network)
    optimiser = Adam().build(tuple(network.parameters()))
    images = torch.rand(batch, 1, side, side, generator=generator)
    labels = torch.randint(classes, (batch,), generator=generator)
    loss = SpreadLoss() if is_matrix else MarginLoss()

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        outputs = network(images, labels, generator)
        (loss.judge(outputs, labels, 0.0) + network.penalty(outputs, images)).backward()
        optimiser.step()

    return step


def floor_of(workload: str) -> Callable[[], None]:
    """Return a function that makes only the products of a step, and their gradients."""
    if workload == "capsnet":
        images = torch.rand(128, 1, 28, 28)
        network = nn.Sequential(nn.Conv2d(1, 256, 9), nn.Conv2d(256, 256, 9, stride=2))
        slope = torch.rand(128, 256, 6, 6)

        def convolutions() -> None:
            network.zero_grad(set_to_none=True)
            network(images).backward(slope)

        return convolutions
    # edges, rows of children's poses, numbers of a row, numbers of votes: of each layer
    layers = {
        "layer": [(1152, 128, 8, 160)],
        "matrices": [(72, 1152, 4, 64), (144, 512, 4, 64), (256, 32, 4, 20)],
    }[workload]
    factors = [
        (torch.rand(edges, rows, inner), torch.rand(edges, inner, votes))
        for edges, rows, inner, votes in layers
    ]
    leaves = [(left.requires_grad_(), right.requires_grad_()) for left, right in factors]
    slopes = [torch.rand(edges, rows, votes) for edges, rows, _, votes in layers]

    def products() -> None:
        for (left, right), slope in zip(leaves, slopes, strict=True):
            left.grad = right.grad = None
            torch.bmm(left, right).backward(slope)

    return products


def serve(make: Callable[[], Callable[[], None]]) -> None:
    """Make a step a line of the input, and say what it took.

    Args:
        make: Returns what makes a step.
    """
    torch.set_num_threads(1)
    torch.manual_seed(0)
    step = make()
    start = peak()
    for _ in sys.stdin:
        wall, processor = time.perf_counter(), time.process_time()
        step()
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        print(wall, processor, peak() - start, flush=True)


def peak() -> float:
    """Return the most MiB that the process has held; Linux counts them in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(workload: str, folders: dict[str, Path], malloc: dict[str, str]) -> list[str]:
    """Return a row for each contender."""
    processes = {name: Process((workload, name), at, malloc) for name, at in folders.items()}
    steps: dict[str, list[Step]] = {name: [] for name in processes}
    for _ in range(STEPS + 2):
        for name, process in processes.items():
            steps[name].append(process.step())
    for process in processes.values():
        process.stop()
    counted = {name: recorded[2:] for name, recorded in steps.items()}
    ours = [step.processor for step in counted["this"]]
    rows: list[str] = []
    for name, recorded in counted.items():
        taken = [step.processor for step in recorded]
        ratio = statistics.median(b / a for a, b in zip(taken, ours, strict=True))
        rows.append(
            f"| {TITLES[workload]} | {'tuned' if malloc else 'stock'} | {name} "
            f"| {1000 * statistics.median(taken):.0f} | {1000 * min(taken):.0f} | {ratio:.2f} "
            f"| {recorded[-1].mebibytes:.0f} |"
        )
    return rows


def main(before: Path | None) -> None:
    """Measure every workload and print the report."""
    here = Path(__file__).parents[1]
    folders = {"this": here, "floor": here, "literal": here} | (
        {"before": before} if before else {}
    )
    print("# A training step, beside its floor, a literal form" + (" and before" if before else ""))
    print(f"\n- machine: {os.cpu_count()} cores, {platform.system()}, no GPU; one thread each")
    print(f"- PyTorch {torch.__version__}; {STEPS} steps after 2 that do not count, in turn")
    print(
        "- processor milliseconds; the ratio is that of `this` to the row's, the median over pairs"
    )
    print("- memory: the most that the process ever held, above what it held before its first step")
    print("- floor: CapsNet's two convolutions alone; the products that make the votes, once")
    print("- literal: einsum, softmax and autograd for vectors; for matrices, votes held in full\n")
    print("| step | malloc | contender | median ms | least ms | this / it | peak MiB |")
    print("| :--- | :--- | :--- | ---: | ---: | ---: | ---: |")
    for workload in TITLES:
        for malloc in ({}, TUNED_MALLOC):
            print("\n".join(measured(workload, folders, malloc)), flush=True)
    print(f"\nLoad of the machine at the end: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="a checkout of an earlier state")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    serve(lambda: step_of(*options.serve)) if options.serve else main(options.before)
