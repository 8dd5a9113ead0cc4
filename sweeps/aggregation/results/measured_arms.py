"""Arms with the error that they are compared by: that of the test images, or of an evaluation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, Shaped

from sweeps.aggregation.results.arms import ArmResults, identical_groups
from sweeps.aggregation.results.predictions import Predictions

NO_PREDICTIONS = "predictions are missing"


@dataclass(frozen=True)
class ImageErrors:
    """The error of one trial on each image.

    Attributes:
        values: 1 where the network errs, else 0; between them where it was tried several times.
        guess: The error of a network that guesses.
        data_fingerprint: Fingerprint of the trial's data.
        labels: True classes; None where those of these images are not recorded.
        objects: Which object each image shows; None where each is its own.
    """

    values: Float[np.ndarray, " images"]
    guess: float
    data_fingerprint: str
    labels: Shaped[np.ndarray, "images ..."] | None = None
    objects: Int[np.ndarray, " images"] | None = None

    @property
    def num_clusters(self) -> int:
        """Number of independent images: all of them, or the objects that they show."""
        return len(self.values) if self.objects is None else len(np.unique(self.objects))

    def shows_the_same(self, other: "ImageErrors") -> bool:
        """Return whether both are of the same images, judged by number, labels and objects."""
        is_same = len(self.values) == len(other.values)
        return (
            is_same
            and _are_equal(self.labels, other.labels)
            and _are_equal(self.objects, other.objects)
        )


@dataclass(frozen=True)
class MeasuredArm:
    """An arm with its errors.

    Attributes:
        arm: With its trials.
        errors: Error of each trial that has one, a fraction, by seed.
        by_image: The same on each image, by seed, where that is known.
        split: The split that the images are of.
        missing: What to say where `by_image` lacks a seed.
        why_alone: Why no trials can be compared image by image; "" where nothing speaks against it.
    """

    arm: ArmResults
    errors: Mapping[int, float]
    by_image: Mapping[int, ImageErrors]
    split: str = "test"
    missing: str = NO_PREDICTIONS
    why_alone: str = ""


def tested_arms(
    arms: Sequence[ArmResults], predictions: Mapping[str, Predictions]
) -> list[MeasuredArm]:
    """Return arms with their errors on the test images.

    Args:
        arms: With their trials.
        predictions: Predictions by trial key, of those trials that have any.
    """
    return [
        MeasuredArm(
            arm,
            arm.test_errors,
            {
                seed: errors_on_test_images(predictions[trial.trial_key])
                for seed, trial in arm.counted.items()
                if trial.trial_key in predictions
            },
        )
        for arm in arms
    ]


def identical_measured(arms: Sequence[MeasuredArm]) -> list[list[MeasuredArm]]:
    """Return arms in groups of identical results, in which each seed has the same error too."""
    groups: dict[object, list[MeasuredArm]] = {}
    by_name = {measured.arm.arm.name: measured for measured in arms}
    for place, group in enumerate(identical_groups([measured.arm for measured in arms])):
        for measured in (by_name[arm.arm.name] for arm in group):
            groups.setdefault((place, tuple(measured.errors.items())), []).append(measured)
    return list(groups.values())


def errors_on_test_images(predicted: Predictions) -> ImageErrors:
    """Return the errors of a trial on the test images."""
    shown = predicted.test
    return ImageErrors(
        values=shown.errors,
        guess=shown.chance,
        data_fingerprint=predicted.data_fingerprint,
        labels=shown.labels,
        objects=shown.objects,
    )


def _are_equal(first: np.ndarray | None, second: np.ndarray | None) -> bool:
    if first is None or second is None:
        return first is second
    return np.array_equal(first, second)
