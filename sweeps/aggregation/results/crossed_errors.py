"""The errors of arms crossed with seeds, and with test images where these are known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.measured_arms import errors_on_test_images
from sweeps.aggregation.results.paired_errors import why_not_by_image
from sweeps.aggregation.results.predictions import Predictions
from sweeps.aggregation.statistics.power import FEWEST_ERRORS
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS
from sweeps.records.trial_record import Outcome, TrialRecord

Trials = Mapping[int, TrialRecord]
_ROUNDING = 1e-12  # far below the least sum of whole errors


@dataclass(frozen=True)
class CrossedErrors:
    """Errors of every arm with every seed that all of them have.

    Attributes:
        arms: In the sweep's order.
        left_out: Arms that lack too many seeds.
        seeds: In the order of the columns.
        errors: Test errors, fractions.
        wrong: 1 where an arm errs on an image, a fraction for a trial that guesses; None where the
            predictions of some images are unknown.
        objects: Which object each image shows; None where each is its own.
        why_seeds_alone: Why `wrong` is None, else "".
    """

    arms: tuple[ArmResults, ...]
    left_out: tuple[ArmResults, ...]
    seeds: tuple[int, ...]
    errors: Float[np.ndarray, "arms seeds"]
    wrong: Float[np.ndarray, "arms seeds images"] | None = None
    objects: Int[np.ndarray, " images"] | None = None
    why_seeds_alone: str = ""

    @property
    def num_images(self) -> int:
        """Test images, 0 where they are not known."""
        return 0 if self.wrong is None else self.wrong.shape[-1]

    @property
    def has_few_errors(self) -> bool:
        """Whether arms err, on average, too seldom to say how far seeds and images move one."""
        assert self.wrong is not None
        return float(self.wrong.sum()) < FEWEST_ERRORS * len(self.arms)

    def sums(
        self, weights: Float[np.ndarray, "rows arms"]
    ) -> Float[np.ndarray, "rows seeds images"]:
        """Return weighted sums of the arms' errors on each image, exactly 0 where they cancel."""
        assert self.wrong is not None
        sums = np.tensordot(weights, self.wrong, axes=1)
        return np.where(np.abs(sums) > _ROUNDING, sums, 0.0)


def crossed_errors(
    arms: Sequence[ArmResults],
    predictions: Mapping[str, Predictions],
    *,
    diverged_as_chance: bool = False,
) -> CrossedErrors:
    """Return the errors of arms on the seeds that all of them have.

    An arm that leaves fewer than three seeds common to all is left out, the one that lacks most
    seeds first.

    Args:
        arms: Arms of a design.
        predictions: Predictions by trial key.
        diverged_as_chance: Whether a trial that diverged counts as one that guesses.
    """
    trials_of = {
        arm.arm.name: _diverged_too(arm) if diverged_as_chance else arm.counted for arm in arms
    }
    compared, seeds = _comparable(arms, trials_of)
    trials = {
        arm.arm.name: {seed: trials_of[arm.arm.name][seed] for seed in seeds} for arm in compared
    }
    counted = [
        trial for by_seed in trials.values() for trial in by_seed.values() if trial.is_counted
    ]
    why, shown = _why_seeds_alone(compared, counted, predictions), None
    if not why:
        shown = predictions[counted[0].trial_key].test
    guess = _guess(counted, 0.0 if shown is None else shown.chance)
    errors = [[_error(trial, guess) for trial in by_seed.values()] for by_seed in trials.values()]
    wrong = None
    if shown is not None:
        rows = [
            [_wrong(trial, guess, predictions, len(shown.labels)) for trial in by_seed.values()]
            for by_seed in trials.values()
        ]
        wrong = np.array(rows)
    return CrossedErrors(
        arms=tuple(compared),
        left_out=tuple(arm for arm in arms if arm not in compared),
        seeds=seeds,
        errors=np.array(errors, dtype=float).reshape(len(compared), len(seeds)),
        wrong=wrong,
        objects=None if shown is None else shown.objects,
        why_seeds_alone=why,
    )


def _diverged_too(arm: ArmResults) -> Trials:
    return {
        seed: trial
        for seed, trial in arm.trials.items()
        if trial is not None and (trial.is_counted or trial.outcome is Outcome.DIVERGED)
    }


def _comparable(
    arms: Sequence[ArmResults], trials_of: Mapping[str, Trials]
) -> tuple[list[ArmResults], tuple[int, ...]]:
    chosen = [arm for arm in arms if trials_of[arm.arm.name]]
    fewest = min(FEWEST_SEEDS, max((len(trials_of[arm.arm.name]) for arm in chosen), default=0))
    while len(seeds := _common(chosen, trials_of)) < fewest:
        poorest = min(reversed(chosen), key=lambda arm: len(trials_of[arm.arm.name]))
        chosen = [arm for arm in chosen if arm is not poorest]
    return chosen, seeds


def _common(arms: Sequence[ArmResults], trials_of: Mapping[str, Trials]) -> tuple[int, ...]:
    if not arms:
        return ()
    first, *others = (trials_of[arm.arm.name] for arm in arms)
    return tuple(seed for seed in first if all(seed in by_seed for by_seed in others))


def _why_seeds_alone(
    arms: Sequence[ArmResults],
    counted: Sequence[TrialRecord],
    predictions: Mapping[str, Predictions],
) -> str:
    if not counted:
        return "no trial has finished"
    if any(arm.tested_on != arms[0].tested_on for arm in arms):
        return "the data differ"  # another split may have the same labels in the same order
    known = (predictions.get(trial.trial_key) for trial in counted)
    return why_not_by_image(
        arms[0], [predicted and errors_on_test_images(predicted) for predicted in known]
    )


def _guess(counted: Sequence[TrialRecord], chance: float) -> float:
    """Return the error of a trial that diverged: to diverge is never better than to finish."""
    worst = max((trial.test_error or 0.0 for trial in counted), default=0.0)
    return max(chance, worst)


def _error(trial: TrialRecord, guess: float) -> float:
    return (trial.test_error or 0.0) if trial.is_counted else guess


def _wrong(
    trial: TrialRecord, guess: float, predictions: Mapping[str, Predictions], num_images: int
) -> Float[np.ndarray, " images"]:
    if trial.is_counted:
        return predictions[trial.trial_key].test.errors
    return np.full(num_images, guess)
