"""Two arms compared image by image and seed by seed: where one errs and the other does not."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from sweeps.aggregation.results.arms import ArmResults, CellState, cell_state
from sweeps.aggregation.results.measured_arms import NO_PREDICTIONS, ImageErrors, MeasuredArm
from sweeps.aggregation.statistics.intervals import FEWEST_SPLITS, Interval, paired_difference
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS, TwoWay, over_splits, two_way

FEWEST_CLUSTERS = 2
OF_VIEWS = ("smallnorb", "viewpoints")  # kinds of data whose images are views of few objects


@dataclass(frozen=True)
class PairedErrors:
    """Errors of an arm minus those of the baseline, of each seed and test image.

    Attributes:
        seeds: In the order of the rows.
        differences: 1 where only the arm errs, -1 where only the baseline does; of an arm that is
            compared with none, its errors.
        objects: Which object each image shows; None where each image is its own.
        splits: The split of each seed; empty if all have the same.
        held_out: Images held out for validation, divided by those trained on.
    """

    seeds: tuple[int, ...]
    differences: Float[np.ndarray, "seeds images"]
    objects: Int[np.ndarray, " images"] | None
    splits: tuple[int, ...] = ()
    held_out: float = 0.0

    @property
    def why_few(self) -> str:
        """Why there is no interval over seeds and images, else ""."""
        if len(self.seeds) < FEWEST_SEEDS:
            return "there are fewer than three seeds"
        num_splits = len({*self.splits})
        is_few = 0 < num_splits < FEWEST_SPLITS and len(self.seeds) - num_splits < FEWEST_SEEDS - 1
        return "there are fewer than five splits, with too few seeds in each" if is_few else ""

    def two_way(self) -> TwoWay:
        """Return the mean difference with its errors over seeds (with their splits) and images."""
        if not self.splits:
            return two_way(self.differences, self.objects)
        return over_splits(self.differences, self.splits, self.held_out, self.objects)


def paired_errors(
    arm: MeasuredArm, baseline: MeasuredArm, *, lost_as_chance: bool = False
) -> PairedErrors | str:
    """Return the differences on the seeds that both arms have, or why there are none.

    Args:
        arm: With its errors.
        baseline: The arm that it is compared with.
        lost_as_chance: Whether a diverged trial counts as one that guesses; and a failed one where
            one arm has more of them than the other.
    """
    ours, theirs = arm.arm, baseline.arm
    lost: set[CellState] = {"diverged"} if lost_as_chance else set()
    if lost_as_chance and ours.count("failed") != theirs.count("failed"):
        lost.add("failed")
    of_baseline = {*_wanted(baseline, lost)}
    seeds = tuple(seed for seed in _wanted(arm, lost) if seed in of_baseline)
    known = [
        measured.by_image.get(seed)
        for seed in seeds
        for measured in (arm, baseline)
        if seed in measured.errors
    ]
    if ours.tested_on != theirs.tested_on:
        return "the data differ"  # another split may have the same labels in the same order
    if reason := arm.why_alone or why_not_by_image(ours, known, arm.missing, arm.split):
        return reason
    first = next(errors for errors in known if errors is not None)

    def wrong(measured: MeasuredArm, seed: int) -> Float[np.ndarray, " images"]:
        if seed in measured.errors:
            return measured.by_image[seed].values
        return np.full(len(first.values), first.guess)

    def row(seed: int) -> Float[np.ndarray, " images"]:
        difference = wrong(arm, seed) - wrong(baseline, seed)
        if seed not in arm.errors:  # to be lost is never better, even than worse than a guess
            difference -= min(difference.mean(), 0.0)
        return difference

    rows = np.stack([row(seed) for seed in seeds])
    splits = tuple(ours.splits[seed] for seed in seeds if ours.splits)
    held_out = max(ours.held_out, theirs.held_out)
    return PairedErrors(seeds, rows, first.objects, splits, held_out)


def over_seeds_alone(arm: MeasuredArm, baseline: MeasuredArm) -> Interval:
    """Return the mean difference with its interval over seeds only, with their splits.

    The interval has no ends for fewer than five splits.
    """
    of_arm, of_baseline = arm.errors, baseline.errors
    if not arm.arm.splits:
        return paired_difference(of_arm, of_baseline)
    differences = {seed: of_arm[seed] - of_baseline[seed] for seed in of_arm if seed in of_baseline}
    more_held_out = max(arm.arm, baseline.arm, key=lambda results: results.held_out)
    return more_held_out.interval(differences)


def _wanted(arm: MeasuredArm, lost: Collection[CellState]) -> list[int]:
    """Return the seeds that have an error, and those that are lost in some ways."""
    return [
        seed
        for seed, trial in arm.arm.trials.items()
        if seed in arm.errors or (trial is not None and cell_state(trial) in lost)
    ]


def why_not_by_image(
    arm: ArmResults,
    known: Sequence[ImageErrors | None],
    missing: str = NO_PREDICTIONS,
    split: str = "test",
) -> str:
    """Return why trials cannot be compared image by image, "" if they can.

    Args:
        arm: One of their arms; all have the same data.
        known: Of each trial; None where its images are not known.
        missing: What to say then.
        split: The split that the images are of.
    """
    if not known:
        return "no seed has a result of both"
    first = known[0]
    if first is None or None in known:
        return missing
    for other in known:
        assert other is not None
        if other.data_fingerprint != first.data_fingerprint:
            return "the data differ"
        if not other.shows_the_same(first):
            return f"the {split} images differ"
    if arm.tested_on.get("kind") in OF_VIEWS and first.objects is None:
        return "it is not recorded which object an image shows"
    if first.num_clusters < FEWEST_CLUSTERS:
        return f"there is one {split} image or object"
    return ""
