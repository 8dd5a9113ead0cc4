"""How fast packed trials are beside packings that know everything beforehand, simulated.

    python -m benchmarks.card_packing [SEEDS]

Each line is 200 trials of ten kinds on four cards of 10 to 80 GiB, one of them half used by others.
The kinds take half as much memory again from their second epoch on, so that first peaks are too
small. "Same order" knows what each trial needs; "best order" is the best of 303 orders, with the
lengths known too.
"""

import sys
import tempfile
from pathlib import Path

from tests.sweeps.execution.engine.simulated_cards import best_seconds, seconds_of_all_known
from tests.sweeps.execution.engine.test_card_packing import (
    MIXED,
    NUM_CORES,
    NUM_TRIALS,
    simulated,
)


def main() -> None:
    """Print a table."""
    print("| trials come | seed | same order | best order | ran out once | twice |")
    print("| :--- | ---: | ---: | ---: | ---: | ---: |")
    for order in ("by arm", "by seed", "shuffled"):
        for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else 4):
            with tempfile.TemporaryDirectory() as folder:
                engine, num_filled, trials = simulated(Path(folder), seed, order)
            assert num_filled == NUM_TRIALS
            same = seconds_of_all_known(trials, MIXED, NUM_CORES) / engine.now
            best = best_seconds(trials, MIXED, NUM_CORES) / engine.now
            twice = sum(number > 1 for number in engine.ran_out.values())
            once = len(engine.ran_out) - twice
            print(f"| {order} | {seed} | {same:.2f} | {best:.2f} | {once} | {twice} |", flush=True)


if __name__ == "__main__":
    main()
