"""Errors of arms that are crossed with seeds, and with test images where these are known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.judged import Predictions
from sweeps.aggregation.results.paired_errors import why_not_by_image
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS
from sweeps.records.trial_record import Outcome, TrialRecord

Trials = Mapping[int, TrialRecord]

_ROUNDING = 1e-12  # far below the least sum of whole errors


@dataclass(frozen=True)
class CrossedErrors:
    """Errors of every arm with every seed that all of them have.

    Attributes:
        arms: In the sweep's order.
        left_out: Those that lack too many seeds.
        seeds: In the order of the columns.
        errors: Test errors, fractions.
        wrong: 1 where an arm errs on an image; a trial that guesses errs by halves and so on. None
            where it is not known of all images.
        objects: Which object each image shows; None where each is its own.
        why_seeds_alone: Why `wrong` is None, "" where it is not.
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

    def sums(
        self, weights: Float[np.ndarray, "rows arms"]
    ) -> Float[np.ndarray, "rows seeds images"]:
        """Return weighted sums of the arms' errors on each image, exactly 0 where they cancel."""
        assert self.wrong is not None
        found = np.tensordot(weights, self.wrong, axes=1)
        return np.where(np.abs(found) > _ROUNDING, found, 0.0)


def crossed_errors(
    arms: Sequence[ArmResults],
    predictions: Mapping[str, Predictions],
    *,
    diverged_as_chance: bool = False,
) -> CrossedErrors:
    """Return the errors of arms over the seeds that all have.

    An arm that leaves fewer than three seeds common to all is left out, the one that lacks most
    seeds first.

    Args:
        arms: Of a design.
        predictions: By trial key.
        diverged_as_chance: Whether a trial that diverged counts as one that guesses.
    """
    held = {arm.arm.name: _diverged_too(arm) if diverged_as_chance else arm.counted for arm in arms}
    kept, seeds = _kept(arms, held)
    trials = {arm.arm.name: {seed: held[arm.arm.name][seed] for seed in seeds} for arm in kept}
    counted = [trial for own in trials.values() for trial in own.values() if trial.is_counted]
    why, shown = _why_seeds_alone(kept, counted, predictions), None
    if not why:
        shown = predictions[counted[0].trial_key].test
    guess = _guess(counted, 1 if shown is None else int(shown.labels.max()) + 1)
    errors = [[_error(trial, guess) for trial in own.values()] for own in trials.values()]
    wrong = None
    if shown is not None:
        rows = [
            [_wrong(trial, guess, predictions, len(shown.labels)) for trial in own.values()]
            for own in trials.values()
        ]
        wrong = np.array(rows)
    return CrossedErrors(
        arms=tuple(kept),
        left_out=tuple(arm for arm in arms if arm not in kept),
        seeds=seeds,
        errors=np.array(errors, dtype=float).reshape(len(kept), len(seeds)),
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


def _kept(
    arms: Sequence[ArmResults], held: Mapping[str, Trials]
) -> tuple[list[ArmResults], tuple[int, ...]]:
    kept = [arm for arm in arms if held[arm.arm.name]]
    fewest = min(FEWEST_SEEDS, max((len(held[arm.arm.name]) for arm in kept), default=0))
    while len(seeds := _common(kept, held)) < fewest:
        poorest = min(reversed(kept), key=lambda arm: len(held[arm.arm.name]))
        kept = [arm for arm in kept if arm is not poorest]
    return kept, seeds


def _common(arms: Sequence[ArmResults], held: Mapping[str, Trials]) -> tuple[int, ...]:
    if not arms:
        return ()
    first, *others = (held[arm.arm.name] for arm in arms)
    return tuple(seed for seed in first if all(seed in own for own in others))


def _why_seeds_alone(
    arms: Sequence[ArmResults],
    counted: Sequence[TrialRecord],
    predictions: Mapping[str, Predictions],
) -> str:
    if not counted:
        return "no trial has finished"
    if any(arm.arm.config.get("data") != arms[0].arm.config.get("data") for arm in arms):
        return "the data differ"  # another split may have the same labels in the same order
    return why_not_by_image(arms[0], counted, predictions)


def _guess(counted: Sequence[TrialRecord], num_classes: int) -> float:
    """Return the error of a trial that diverged: to diverge is never better than to finish."""
    worst = max((trial.test_error or 0.0 for trial in counted), default=0.0)
    return max(1 - 1 / num_classes, worst)


def _error(trial: TrialRecord, guess: float) -> float:
    return (trial.test_error or 0.0) if trial.is_counted else guess


def _wrong(
    trial: TrialRecord, guess: float, predictions: Mapping[str, Predictions], num_images: int
) -> Float[np.ndarray, " images"]:
    if trial.is_counted:
        return predictions[trial.trial_key].test.is_wrong.astype(float)
    return np.full(num_images, guess)
