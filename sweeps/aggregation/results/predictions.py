"""What a trained network predicted for each image: given classes and true ones."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped, UInt8

from sweeps.records.trial_record import TrialRecord


@dataclass(frozen=True)
class SplitPredictions:
    """Images of one split with the classes that a network gave them.

    Attributes:
        classes: Given by the network: a class an image, or, of a task of several classes, whether
            an image is of each.
        labels: True, in the same form.
        objects: Which object each image shows; None where each image is its own.
        task_errors: Error of each image by the task's own measure; None where it is whether the
            given class is the true one.
        files: The file of each image, below the folder of the data; () where none is recorded.
    """

    classes: UInt8[np.ndarray, "images ..."]
    labels: UInt8[np.ndarray, "images ..."]
    objects: Int[np.ndarray, " images"] | None = None
    task_errors: Float[np.ndarray, " images"] | None = None
    files: tuple[str, ...] = ()

    @property
    def is_wrong(self) -> Bool[np.ndarray, " images"]:
        """Whether the network errs on each image."""
        if self.task_errors is not None:
            return self.task_errors > 0
        return (self.classes != self.labels).reshape(len(self.labels), -1).any(axis=1)

    @property
    def errors(self) -> Float[np.ndarray, " images"]:
        """The error of each image, in [0, 1]; the error of the split is their mean."""
        return self.is_wrong.astype(float) if self.task_errors is None else self.task_errors

    @property
    def chance(self) -> float:
        """The error of a network that knows nothing: of the best answer for all images alike.

        Where each image has one class, that of guessing among classes that are equally frequent.
        """
        if self.labels.ndim == 1:
            return 1 - 1 / (int(self.labels.max()) + 1)
        counts = np.unique(self.labels, axis=0, return_counts=True)[1]
        return 1 - int(counts.max()) / len(self.labels)

    @property
    def num_clusters(self) -> int:
        """Number of independent images: all of them, or the objects that they show."""
        return len(self.labels) if self.objects is None else len(np.unique(self.objects))

    def first(self, num_images: int) -> "SplitPredictions | None":
        """Return the first images, which some evaluations look at alone; None if there are fewer.

        Args:
            num_images: How many.
        """
        if num_images > len(self.labels):
            return None
        objects = None if self.objects is None else self.objects[:num_images]
        errors = None if self.task_errors is None else self.task_errors[:num_images]
        return SplitPredictions(
            self.classes[:num_images],
            self.labels[:num_images],
            objects,
            errors,
            self.files[:num_images],
        )

    def shows_the_same(self, other: "SplitPredictions") -> bool:
        """Return whether both are of the same images, judged by labels and objects."""
        if self.objects is None or other.objects is None:
            is_same = self.objects is other.objects
        else:
            is_same = np.array_equal(self.objects, other.objects)
        return is_same and np.array_equal(self.labels, other.labels)


@dataclass(frozen=True)
class Predictions:
    """What one trial predicted after its last epoch.

    Attributes:
        data_fingerprint: Fingerprint of the data: images of two trials are the same only where it
            is equal.
        test: Predictions of the test images, in the data set's order.
        validation: Predictions of the validation images; None if they were not recorded.
        extra_tests: Name of an extra test -> predictions of its images, if they were recorded.
        class_names: What each class is called; () if by its number, or if it was not recorded.
    """

    data_fingerprint: str
    test: SplitPredictions
    validation: SplitPredictions | None = None
    extra_tests: Mapping[str, SplitPredictions] = field(default_factory=dict[str, SplitPredictions])
    class_names: tuple[str, ...] = ()


# trial key -> evaluation key -> metric that is a share of images -> 1 for an image that counts
WrongImages = Mapping[str, Mapping[str, Mapping[str, Shaped[np.ndarray, " images"]]]]
FindWrongImages = Callable[[Iterable[TrialRecord]], WrongImages]
FindPredictions = Callable[[Iterable[TrialRecord]], Mapping[str, Predictions]]


def no_wrong_images(records: Iterable[TrialRecord]) -> WrongImages:
    """Return none, whatever the records."""
    return {}


def no_predictions(records: Iterable[TrialRecord]) -> Mapping[str, Predictions]:
    """Return no predictions, whatever the records."""
    return {}
