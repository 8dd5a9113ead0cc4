"""Whether tables over splits hold what they say: bold and coverage by simulation, no training.

    python -m tools.acceptance.splits [--draws 10000]

Two arms are drawn by a law whose true difference is known, on J splits with S seeds each. The rule
of the tables is compared with one that takes every training for an independent draw. The exit code
is 1 if equal arms are bold too often, or an interval holds too seldom.

Whether a network errs on an image depends on how hard the image is for its arm, on its seed and on
the split of the training images that it had. A comparison must reckon with what seed and split do
to one arm alone; what they do to both arms cancels in the pairs.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from sweeps.aggregation.statistics.exact_tests import share
from sweeps.aggregation.statistics.families import SIGNIFICANCE
from sweeps.aggregation.statistics.two_way import TwoWay, over_splits, two_way

Rule = Literal["splits", "pooled"]


IMAGES = 120


HELD_OUT = 0.125 / 0.875


_RARE = 1.4  # standard deviations: one image in twelve is wrong


_BATCH = 200


@dataclass(frozen=True)
class Law:
    """How far scores of one arm move, in standard deviations of an image's own noise.

    Attributes:
        name: In words.
        seeds: With the seed, of one arm alone.
        splits: With the split, of one arm alone.
        both: With seed and with split, of both arms alike.
        images: With the image, of one arm alone.
        likeness: Correlation of two splits of one pool of training images, in what they do to an
            arm; where it is not 0 the truth is that over all pools, not over the splits of one.
    """

    name: str
    seeds: float = 0.1
    splits: float = 0.1
    both: float = 0.2
    images: float = 0.5
    likeness: float = 0.0


LAWS = (
    Law("no arm has a split of its own", splits=0.0),
    Law("splits matter as seeds do"),
    Law("splits matter thrice as much", splits=0.3),
    Law("seeds matter thrice as much", seeds=0.3),
    Law("both matter much", seeds=0.3, splits=0.3),
    Law("images matter most", seeds=0.03, splits=0.03),
)


@dataclass(frozen=True)
class SweepOverSplits:
    """A sweep of two arms.

    Attributes:
        num_splits: J.
        seeds_each: Of each split; of a crossed one each is on all splits.
        effect: How far the second arm's scores lie above the first one's.
        is_crossed: Whether each seed is on all splits, not on one, as sweeps deal them.
    """

    num_splits: int
    seeds_each: int
    effect: float = 0.0
    is_crossed: bool = False

    @property
    def splits(self) -> list[int]:
        """Of each training."""
        return [split for split in range(self.num_splits) for _ in range(self.seeds_each)]


@dataclass(frozen=True)
class Rates:
    """What came of many drawn tables of two arms.

    Attributes:
        bold: How often p is below .05.
        covered: How often the 95 % interval holds the true difference.
        num_draws: Of tables.
    """

    bold: float
    covered: float
    num_draws: int

    @property
    def low_bold(self) -> float:
        """The lower end of the exact 95 % interval of `bold`."""
        return share(round(self.bold * self.num_draws), self.num_draws).low


def rates(law: Law, sweep: SweepOverSplits, num_draws: int) -> dict[Rule, Rates]:
    """Return how often tables of two arms are bold, and how often intervals hold the truth.

    By `over_splits`, and beside it by what takes every training for a draw of its own.
    """
    generator = np.random.default_rng([sweep.num_splits, sweep.seeds_each, 7])
    truth = true_difference(law, sweep.effect)
    ways: dict[Rule, list[TwoWay]] = {"splits": [], "pooled": []}
    for start in range(0, num_draws, _BATCH):
        drawn = _differences(law, sweep, min(_BATCH, num_draws - start), generator)
        ways["splits"].append(over_splits(drawn, sweep.splits, HELD_OUT))
        ways["pooled"].append(two_way(drawn))
    return {rule: _rates(some, truth) for rule, some in ways.items()}


def true_difference(law: Law, effect: float) -> float:
    """Return the difference of the arms' errors over all seeds, splits and images."""
    return float(ndtr(effect / _spread(law) - _RARE) - ndtr(-_RARE))


def _rates(ways: Sequence[TwoWay], truth: float) -> Rates:
    p_values = np.concatenate([way.p_value for way in ways])
    off = np.concatenate([np.abs(way.mean - truth) - way.half_width() for way in ways])
    return Rates(float((p_values < SIGNIFICANCE).mean()), float((off <= 0).mean()), len(off))


def _differences(
    law: Law, sweep: SweepOverSplits, num_draws: int, generator: np.random.Generator
) -> Float[np.ndarray, "draws seeds images"]:
    """Return who errs: the second arm less the first, all of a split beside each other."""
    trainings = (num_draws, sweep.num_splits, sweep.seeds_each)
    easy = generator.standard_normal((num_draws, 1, 1, IMAGES), dtype=np.float32)
    both = law.both * generator.standard_normal((*trainings, 1), dtype=np.float32)

    def wrong(effect: float) -> Float[np.ndarray, "draws splits seeds images"]:
        def drawn(size: float, *shape: int) -> Float[np.ndarray, "..."]:
            return size * generator.standard_normal((num_draws, *shape), dtype=np.float32)

        of_seeds = 1 if sweep.is_crossed else sweep.num_splits
        score = easy + both + drawn(1.0, *trainings[1:], IMAGES)
        score += drawn(law.images, 1, 1, IMAGES)
        score += drawn(law.seeds, of_seeds, sweep.seeds_each, 1)
        score += drawn(law.splits * np.sqrt(1 - law.likeness), sweep.num_splits, 1, 1)
        score += drawn(law.splits * np.sqrt(law.likeness), 1, 1, 1)
        return (score + effect > _RARE * _spread(law)).astype(float)

    return (wrong(sweep.effect) - wrong(0.0)).reshape(num_draws, -1, IMAGES)


def _spread(law: Law) -> float:
    """Return the standard deviation of a score."""
    parts = (law.seeds, law.splits, law.both, law.images, 1.0, 1.0)
    return float(np.sqrt(sum(part**2 for part in parts)))


SHAPES = ((5, 1), (5, 3), (10, 1), (10, 3))


FEW = ((2, 3), (3, 3), (4, 2))


EFFECTS = (0.2, 0.4, 0.8)


MOST_BOLD, LEAST_COVERED = 0.055, 0.94


def main() -> int:
    """Count, and print tables."""

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--draws", type=int, default=10_000, help="tables a rate that is asked; others a tenth"
    )
    draws = parser.parse_args().draws
    start, passed = time.perf_counter(), list[bool]()

    def lines(laws: Iterable[Law], sweeps: Iterable[SweepOverSplits], *, is_asked: bool) -> None:
        print(
            "\n| networks | splits | seeds each | effect | bold | interval holds | pooled: bold | "
        )
        print("| :--- | ---: | ---: | ---: | ---: | ---: | ---: |")
        wanted = list(sweeps)
        for law in laws:
            for sweep in wanted:
                both = rates(law, sweep, draws if is_asked else draws // 10)
                split, pooled = both["splits"], both["pooled"]
                if is_asked:
                    passed.append(split.low_bold <= MOST_BOLD and split.covered >= LEAST_COVERED)
                print(
                    f"| {law.name} | {sweep.num_splits} | {sweep.seeds_each} | {sweep.effect:g} | "
                    f"{split.bold:.3f} | {split.covered:.3f} | {pooled.bold:.3f} |",
                    flush=True,
                )

    designs = [SweepOverSplits(*shape) for shape in SHAPES]
    print("\n**equal arms, each seed on one split**")
    lines(LAWS, designs, is_asked=True)
    print("\n**an effect**")
    lines(
        LAWS[1:3],
        [replace(design, effect=effect) for design in designs for effect in EFFECTS],
        is_asked=False,
    )
    print("\n**equal arms, the same seeds on every split (crossed, as sweeps are not)**")
    lines(LAWS, [replace(design, is_crossed=True) for design in designs], is_asked=False)
    print("\n**equal arms over all pools of training images, not the splits of one**")
    of_pools = [
        replace(LAWS[2], name=name, likeness=likeness) for name, likeness in _likenesses(HELD_OUT)
    ]
    lines(of_pools, designs, is_asked=False)
    print("\n**equal arms on these very splits, fewer than five**")
    lines(LAWS[:1], [SweepOverSplits(*shape) for shape in FEW], is_asked=True)
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    return int(not all(passed))


def _likenesses(held_out: float) -> tuple[tuple[str, float], ...]:
    share = held_out / (1 + held_out)
    return (
        (f"splits of a pool correlate by {share:g}, the share held out", share),
        (f"splits of a pool correlate by {1 - share:g}, the share kept", 1 - share),
    )


if __name__ == "__main__":
    raise SystemExit(main())
