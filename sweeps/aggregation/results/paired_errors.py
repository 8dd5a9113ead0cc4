"""Two arms compared image by image and seed by seed: where one errs and the other does not."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from sweeps.aggregation.results.arms import ArmResults, CellState, cell_state
from sweeps.aggregation.results.predictions import Predictions
from sweeps.aggregation.statistics.intervals import FEWEST_SPLITS, Interval, paired_difference
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS, TwoWay, over_splits, two_way
from sweeps.records.trial_record import TrialRecord

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
    arm: ArmResults,
    baseline: ArmResults,
    predictions: Mapping[str, Predictions],
    *,
    lost_as_chance: bool = False,
) -> PairedErrors | str:
    """Return the differences on the seeds that both arms have, or why there are none.

    Args:
        arm: With its trials.
        baseline: The arm that it is compared with.
        predictions: Predictions by trial key.
        lost_as_chance: Whether a diverged trial counts as one that guesses; and a failed one where
            one arm has more of them than the other.
    """
    lost: set[CellState] = {"diverged"} if lost_as_chance else set()
    if lost_as_chance and arm.count("failed") != baseline.count("failed"):
        lost.add("failed")
    wanted = [_wanted(one, lost) for one in (arm, baseline)]
    seeds = tuple(seed for seed in wanted[0] if seed in wanted[1])
    trials = [
        trials_of[seed] for seed in seeds for trials_of in wanted if trials_of[seed].is_counted
    ]
    if arm.arm.config.get("data") != baseline.arm.config.get("data"):
        return "the data differ"  # another split may have the same labels in the same order
    if reason := why_not_by_image(arm, trials, predictions):
        return reason
    shown = [predictions[trial.trial_key].test for trial in trials]
    chance = 1 - 1 / (int(shown[0].labels.max()) + 1)

    def wrong(trial: TrialRecord) -> Float[np.ndarray, " images"]:
        if trial.is_counted:
            return predictions[trial.trial_key].test.is_wrong.astype(float)
        return np.full(len(shown[0].labels), chance)

    def row(seed: int) -> Float[np.ndarray, " images"]:
        trials_of, theirs = (one[seed] for one in wanted)
        difference = wrong(trials_of) - wrong(theirs)
        if not trials_of.is_counted:  # to be lost is never better, even than worse than a guess
            difference -= min(difference.mean(), 0.0)
        return difference

    rows = np.stack([row(seed) for seed in seeds])
    splits = tuple(arm.splits[seed] for seed in seeds if arm.splits)
    held_out = max(arm.held_out, baseline.held_out)
    return PairedErrors(seeds, rows, shown[0].objects, splits, held_out)


def over_seeds_alone(arm: ArmResults, baseline: ArmResults) -> Interval:
    """Return the mean difference with its interval over seeds only, with their splits.

    The interval has no ends for fewer than five splits.
    """
    of_arm, of_baseline = arm.test_errors, baseline.test_errors
    if not arm.splits:
        return paired_difference(of_arm, of_baseline)
    differences = {seed: of_arm[seed] - of_baseline[seed] for seed in of_arm if seed in of_baseline}
    more_held_out = max(arm, baseline, key=lambda one: one.held_out)
    return more_held_out.interval(differences)


def _wanted(arm: ArmResults, lost: Collection[CellState]) -> Mapping[int, TrialRecord]:
    """Return the trials that count, and those that are lost in some ways, by seed."""
    return {
        seed: trial
        for seed, trial in arm.trials.items()
        if trial is not None and (trial.is_counted or cell_state(trial) in lost)
    }


def why_not_by_image(
    arm: ArmResults, trials: Iterable[TrialRecord], predictions: Mapping[str, Predictions]
) -> str:
    """Return why trials cannot be compared image by image, "" if they can.

    Args:
        arm: One of their arms; all have the same data.
        trials: Finished ones.
        predictions: Predictions by trial key.
    """
    predicted = [predictions.get(trial.trial_key) for trial in trials]
    if not predicted:
        return "no seed has a result of both"
    first = predicted[0]
    if first is None or None in predicted:
        return "predictions are missing"
    for other in predicted:
        assert other is not None
        if other.data_fingerprint != first.data_fingerprint:
            return "the data differ"
        if not other.test.shows_the_same(first.test):
            return "the test images differ"
    data = arm.arm.config.get("data")
    kind = data.get("kind") if isinstance(data, dict) else None
    if kind in OF_VIEWS and first.test.objects is None:
        return "it is not recorded which object an image shows"
    if first.test.num_clusters < FEWEST_CLUSTERS:
        return "there is one test image or object"
    return ""
