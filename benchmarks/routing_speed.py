r"""How fast each routing is compared with a literal implementation, at published sizes.

    python -m benchmarks.routing_speed > benchmarks/reports/<date>_routing_speed_<machine>.md

Each routing gets votes as its layer lays them, and makes a forward and a backward pass. The other
form is that of the published code: einsum, softmax and automatic differentiation. Each form is a
process of its own with one thread and the memory allocator that sweeps set; they step in turn. Both
are checked to agree before.
"""

import argparse
import os
import platform
import statistics
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from benchmarks import literal_forms
from benchmarks.library import TUNED_MALLOC, Process, Step, serve
from capsmodel import functional
from capsmodel.functional import Routed

STEPS = 15
# kind -> batch, children, parents, numbers of a pose, and where the source has them
SIZES = {
    "self_attention": (16, 16, 10, 16, "Efficient-CapsNet on MNIST, class capsules"),
    "self_routing": (64, 2048, 10, 16, "ResNet-20 on CIFAR-10, 8 by 8 places of 32 capsules"),
    "inverted_attention": (128, 800, 10, 16, "CIFAR-10, class capsules, 2 passes"),
    "heinsen": (20, 64, 5, 16, "smallNORB, class capsules"),
    "heinsen, first layer": (20, 5184, 64, 16, "smallNORB, 9 by 9 places of 64 capsules"),
    "variational_bayes": (128, 256, 5, 16, "smallNORB, class capsules, 4 by 4 places of 16"),
}
AGREES = 1e-3


def inputs_of(case: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return votes as [batch, in_caps, out_caps, pose], activations and logits."""
    batch, in_caps, out_caps, pose, _ = SIZES[case]
    generator = torch.Generator().manual_seed(0)
    votes = torch.randn(batch, out_caps, in_caps, pose, generator=generator)
    activations = 0.1 + 0.8 * torch.rand(batch, in_caps, generator=generator)
    logits = torch.randn(batch, in_caps, out_caps, generator=generator)
    return votes.transpose(1, 2), activations, logits


def ours(case: str) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Return poses, times beliefs where the routing has some, of the library."""

    def believed(routed: Routed) -> Tensor:
        return routed.poses * routed.activations.unsqueeze(2)

    def heinsen(votes: Tensor, activations: Tensor) -> Routed:
        worth = torch.ones(votes.shape[1:3])
        return functional.heinsen_routing(votes, activations, use=worth)

    routings: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
        "self_attention": lambda v, a, b: functional.self_attention_routing(v).poses,
        "inverted_attention": lambda v, a, b: functional.inverted_attention_routing(v).poses,
        "self_routing": lambda v, a, b: believed(functional.self_routing(v, a, b)),
        "heinsen": lambda v, a, b: believed(heinsen(v, a)),
        "variational_bayes": lambda v, a, b: believed(functional.variational_bayes_routing(v, a)),
    }
    return routings[case.partition(",")[0]]


def form_of(case: str, form: str) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Return a form of a routing: "ours" or "literal"."""
    return ours(case) if form == "ours" else getattr(literal_forms, case.partition(",")[0])


def step_of(case: str, form: str) -> Callable[[], None]:
    """Return a function that makes one step of a form."""
    votes, *others = inputs_of(case)
    if form == "literal":
        votes = votes.contiguous()
    votes.requires_grad_()
    route = form_of(case, form)

    def step() -> None:
        votes.grad = None
        route(votes, *others).square().sum().backward()

    return step


def check(case: str) -> None:
    """Check that both forms agree."""
    inputs = inputs_of(case)
    actual, expected = (form_of(case, form)(*inputs) for form in ("ours", "literal"))
    worst = ((actual - expected).abs().max() / expected.abs().max()).item()
    if worst > AGREES:
        raise SystemExit(f"{case}: the two forms differ by {worst:.1e} of the largest value.")


def measured(case: str) -> str:
    """Return the row of a case."""
    check(case)
    here = Path(__file__).parents[1]
    forms = ("ours", "literal")
    processes = [Process((case, form), here, TUNED_MALLOC, __file__) for form in forms]
    steps: list[list[Step]] = [[process.step() for process in processes] for _ in range(STEPS + 2)][
        2:
    ]
    for process in processes:
        process.stop()
    mine, other = (
        statistics.median(1000 * pair[place].processor for pair in steps) for place in (0, 1)
    )
    ratios = sorted(pair[1].processor / pair[0].processor for pair in steps)
    middle, least, most = statistics.median(ratios), ratios[0], ratios[-1]
    memory = [steps[-1][place].mebibytes for place in (0, 1)]
    batch, in_caps, out_caps, pose, where = SIZES[case]
    return (
        f"| `{case}` | {where} | {batch} x {in_caps:,} x {out_caps} x {pose} | {mine:.1f} "
        f"| {other:.1f} | {middle:.2f} ({least:.2f} to {most:.2f}) "
        f"| {memory[0]:.0f} / {memory[1]:.0f} |"
    )


def main() -> None:
    """Measure all cases and print the report."""
    print("# Routings compared with literal implementations\n")
    print(f"- machine: {os.cpu_count()} cores, {platform.system()}, no GPU; one thread each")
    print(f"- PyTorch {torch.__version__}; {STEPS} steps after 2 that do not count, in turn")
    print("- milliseconds of the processor, medians; literal / ours is the median over pairs\n")
    print(
        "| routing | where | batch x children x parents x pose | ours ms | literal ms "
        "| literal / ours | peak MiB |"
    )
    print("| :--- | :--- | ---: | ---: | ---: | ---: | ---: |")
    for case in SIZES:
        print(measured(case), flush=True)
    print(f"\nLoad of the machine at the end: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    serve(lambda: step_of(*options.serve)) if options.serve else main()
