"""What a trained network said of each image: classes given beside true ones."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int, UInt8


@dataclass(frozen=True)
class Judged:
    """Images of one split with the classes that a network gave them.

    Attributes:
        classes: Given by the network.
        labels: True.
        objects: Which object each image shows; None where each image is its own.
    """

    classes: UInt8[np.ndarray, " images"]
    labels: UInt8[np.ndarray, " images"]
    objects: Int[np.ndarray, " images"] | None = None

    @property
    def is_wrong(self) -> Bool[np.ndarray, " images"]:
        """Whether the network errs on each image."""
        return self.classes != self.labels

    @property
    def num_clusters(self) -> int:
        """How many images there are that tell of nothing but themselves, or else objects."""
        return len(self.labels) if self.objects is None else len(np.unique(self.objects))

    def shows_the_same(self, other: "Judged") -> bool:
        """Return whether both are of the same images, as far as labels and objects tell."""
        if self.objects is None or other.objects is None:
            is_same = self.objects is other.objects
        else:
            is_same = np.array_equal(self.objects, other.objects)
        return is_same and np.array_equal(self.labels, other.labels)


@dataclass(frozen=True)
class Predictions:
    """What one trial predicted after its last epoch.

    Attributes:
        data_fingerprint: Of the data: images of two trials are the same only where it is equal.
        test: The test images, in the data set's order.
        validation: The validation images; None where they were not recorded.
    """

    data_fingerprint: str
    test: Judged
    validation: Judged | None = None
