"""Whether tables over splits hold what they say: bold and coverage by simulation, no training.

    python benchmarks/splits_acceptance.py [--draws 10000]

Two arms are drawn by a law whose true difference is known (`benchmarks/simulated/splits.py`), on J
splits with S seeds each. Beside the rule of the tables stands what takes every training for a draw
of its own. The exit code is 1 if equal arms are bold too often, or an interval holds too seldom.
"""

import argparse
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHAPES = ((5, 1), (5, 3), (10, 1), (10, 3))
FEW = ((2, 3), (3, 3), (4, 2))
EFFECTS = (0.2, 0.4, 0.8)
MOST_BOLD, LEAST_COVERED = 0.055, 0.94


def main() -> int:
    """Count, and print tables."""
    sys.path.insert(0, str(ROOT))
    from benchmarks.simulated.splits import HELD_OUT, LAWS, Law, SweepOverSplits, rates

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--draws", type=int, default=10_000, help="tables a rate that is asked; others a tenth"
    )
    draws = parser.parse_args().draws
    start, are_held = time.perf_counter(), list[bool]()

    def lines(laws: Iterable[Law], sweeps: Iterable[SweepOverSplits], *, is_asked: bool) -> None:
        print(
            "\n| networks | splits | seeds each | effect | bold | interval holds | pooled: bold | "
        )
        print("| :--- | ---: | ---: | ---: | ---: | ---: | ---: |")
        wanted = list(sweeps)
        for law in laws:
            for sweep in wanted:
                both = rates(law, sweep, draws if is_asked else draws // 10)
                found, pooled = both["splits"], both["pooled"]
                if is_asked:
                    are_held.append(found.low_bold <= MOST_BOLD and found.covered >= LEAST_COVERED)
                print(
                    f"| {law.name} | {sweep.num_splits} | {sweep.seeds_each} | {sweep.effect:g} | "
                    f"{found.bold:.3f} | {found.covered:.3f} | {pooled.bold:.3f} |",
                    flush=True,
                )

    designs = [SweepOverSplits(*shape) for shape in SHAPES]
    print("\n**equal arms, each seed on one split**")
    lines(LAWS, designs, is_asked=True)
    print("\n**an effect**")
    lines(
        LAWS[1:3],
        [replace(one, effect=effect) for one in designs for effect in EFFECTS],
        is_asked=False,
    )
    print("\n**equal arms, the same seeds on every split (crossed, as sweeps are not)**")
    lines(LAWS, [replace(one, is_crossed=True) for one in designs], is_asked=False)
    print("\n**equal arms over all pools of training images, not the splits of one**")
    of_pools = [
        replace(LAWS[2], name=name, likeness=likeness) for name, likeness in _likenesses(HELD_OUT)
    ]
    lines(of_pools, designs, is_asked=False)
    print("\n**equal arms on these very splits, fewer than five**")
    lines(LAWS[:1], [SweepOverSplits(*shape) for shape in FEW], is_asked=True)
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    return int(not all(are_held))


def _likenesses(held_out: float) -> tuple[tuple[str, float], ...]:
    share = held_out / (1 + held_out)
    return (
        (f"splits of a pool correlate by {share:g}, the share held out", share),
        (f"splits of a pool correlate by {1 - share:g}, the share kept", 1 - share),
    )


if __name__ == "__main__":
    raise SystemExit(main())
