"""Whether a search is said to beat random points at equal compute where it does not.

    OMP_NUM_THREADS=1 python benchmarks/reference_acceptance.py [--draws 10000]

Trainings are drawn, the product's own test judges. Prints a table a criterion. The exit code is 1
if anything does not hold.
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_HEAD = "| networks | seeds | images | rate | 95 % | holds | beside |"


def main() -> int:
    """Count, and print."""
    sys.path.insert(0, str(ROOT))
    from benchmarks.simulated import networks, random_reference
    from benchmarks.simulated.figures import Figure

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=10_000, help="searches a rate")
    draws = parser.parse_args().draws
    found = dict[str, list[Figure]]()
    for generator in (networks.IMAGES_DOMINATE, networks.SEEDS_DOMINATE, networks.BOTH_MATTER):
        for count in (random_reference.equal, random_reference.sloped):
            for figure in count(generator, 359, draws):
                found.setdefault(figure.criterion, []).append(figure)
                print(figure.as_line(), file=sys.stderr)
    for criterion, figures in found.items():
        print(f"\n**{criterion}**\n\n{_HEAD}\n|{' :--- |' * (_HEAD.count('|') - 1)}")
        for figure in figures:
            print(figure.as_line())
    return 0 if all(one.holds for figures in found.values() for one in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
