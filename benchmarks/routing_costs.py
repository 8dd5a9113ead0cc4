r"""What each routing costs in one layer of one network, all of them in turn on one machine.

    python -m benchmarks.routing_costs > benchmarks/reports/<date>_routing_costs_<machine>.md

The layer is the class capsules of the first capsule network: 1,152 capsules of 8 numbers become 10
of 16. A step is a forward and a backward pass. Each contender is a process of its own, with one
thread and the memory allocator that sweeps set.
"""

import argparse
import os
import platform
import statistics
from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks.library import STEPS, TUNED_MALLOC, Process, Step, serve

BATCH = 128


def step_of(kind: str) -> Callable[[], None]:
    """Return a function that makes one step of a routing's layer."""
    from capsmodel.layers import Capsules

    generator = torch.Generator().manual_seed(0)
    layer = Capsules(1152, 8, 10, 16, routing=kind)
    layer.initialise(generator)
    inputs = (0.3 * torch.randn(BATCH, 1152, 8)).requires_grad_()

    def step() -> None:
        layer.zero_grad(set_to_none=True)
        inputs.grad = None
        layer(inputs, generator).poses.square().sum().backward()

    return step


def sizes(kind: str) -> tuple[int, int]:
    """Return the parameters of the layer, and the multiply-adds of an image in the network."""
    from capsmodel import TrainingConfig
    from capsmodel.config import num_multiply_adds
    from capsmodel.layers import Capsules
    from capsmodel.overrides import with_settings

    config = with_settings(TrainingConfig(), {"data": "mnist", "model.routing": kind})
    with torch.device("meta"):
        layer = Capsules(1152, 8, 10, 16, routing=kind)
    return sum(parameter.numel() for parameter in layer.parameters()), num_multiply_adds(config)


def main() -> None:
    """Measure every routing and print the report."""
    from capsmodel.routing import ROUTINGS
    from capsmodel.settings.parts import kind_of

    here = Path(__file__).parents[1]
    kinds = [kind_of(routing) for routing in ROUTINGS]
    processes = {kind: Process((kind,), here, TUNED_MALLOC, __file__) for kind in kinds}
    steps: dict[str, list[Step]] = {kind: [] for kind in kinds}
    for _ in range(STEPS + 2):
        for kind, process in processes.items():
            steps[kind].append(process.step())
    for process in processes.values():
        process.stop()
    print("# What each routing costs in one layer\n")
    print(f"- machine: {os.cpu_count()} cores, {platform.system()}, no GPU; one thread each")
    print(f"- PyTorch {torch.__version__}; {STEPS} steps after 2 that do not count, in turn")
    print(f"- 1,152 capsules of 8 numbers to 10 of 16, batches of {BATCH}, forward and backward")
    print("- milliseconds of the processor; the ratio is the median over pairs, to `uniform`")
    print("- memory: the most that the process ever held, above what it held before its first step")
    print("- multiply-adds: matrix products of one image in the whole network of 28 by 28 pixels\n")
    print("| routing | parameters | multiply-adds | median ms | least ms | ratio | peak MiB |")
    print("| :--- | ---: | ---: | ---: | ---: | ---: | ---: |")
    base = [step.processor for step in steps["uniform"][2:]]
    for kind in kinds:
        taken = [step.processor for step in steps[kind][2:]]
        ratio = statistics.median(a / b for a, b in zip(taken, base, strict=True))
        parameters, multiply_adds = sizes(kind)
        print(
            f"| `{kind}` | {parameters:,} | {multiply_adds:,} "
            f"| {1000 * statistics.median(taken):.0f} | {1000 * min(taken):.0f} | {ratio:.2f} "
            f"| {steps[kind][-1].mebibytes:.0f} |"
        )
    print(f"\nLoad of the machine at the end: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", nargs=1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    serve(lambda: step_of(*options.serve)) if options.serve else main()
