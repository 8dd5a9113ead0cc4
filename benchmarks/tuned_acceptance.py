"""Whether tables of tuned arms hold what they say, where both arms are as good at their best.

    python benchmarks/tuned_acceptance.py [--draws 2000]

The plan itself chooses, from validation errors of networks that are drawn by a law
(`benchmarks/simulated/networks.py`), a rate for each of two arms whose best rates are two steps
apart; fresh networks of what it chose are compared as tables do. No training. A step away from its
best an arm has more errors by a share of them: where that is small tuning often misses the best,
where it is large hardly ever. The exit code is 1 if arms of equal optimum are bold too often.
"""

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STEPS = (0.2, 0.5, 1.0)
APART = (0.0, 1.0)
SEEDS = 5


def main() -> int:
    """Count, and print a table."""
    sys.path.insert(0, str(ROOT))
    from benchmarks.simulated.cases import images_of
    from benchmarks.simulated.networks import GENERATORS
    from benchmarks.simulated.tuned import tuned

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=2000, help="tables a rate")
    draws = parser.parse_args().draws
    start, are_held = time.perf_counter(), list[bool]()
    for apart in APART:
        print(f"\n**the second arm's best {'as good' if not apart else 'twice the errors'}**\n")
        print("| networks | seeds | images | bold | 95 % | holds | beside |")
        print("| :--- | ---: | ---: | ---: | ---: | :--- | :--- |")
        for generator in GENERATORS:
            for step in STEPS:
                images = images_of(generator)
                figure = tuned(generator, SEEDS, images, draws, step=step, apart=apart)
                are_held.append(figure.ends[0] <= figure.most)
                print(figure.as_line(), flush=True)
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    return int(not all(are_held))


if __name__ == "__main__":
    raise SystemExit(main())
