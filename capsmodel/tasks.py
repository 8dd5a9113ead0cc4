"""Tasks: what the labels of images mean, what answers a network gives, and what counts as wrong."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int, Int64, Shaped
from pydantic import Field
from torch import Tensor

from capsmodel.functional.labels import check_label_range, check_label_type, check_zeros_and_ones
from capsmodel.metrics import Metric
from capsmodel.settings.parts import Part


class Task(Part, ABC):
    """What the labels of images mean, what answers a network gives, and what counts as wrong.

    A data set declares its task. Labels have a row for each image, in the form of the task; answers
    have the same form.

    Attributes:
        label_form: Form of the labels, which losses and models name: "class", an integer an image;
            "classes", whether the image is of each class; a user's task may have another one.
    """

    family: ClassVar[str] = "task"
    label_form: ClassVar[str] = "class"

    @abstractmethod
    def checked(
        self, labels: Shaped[Tensor, "images ..."], num_classes: int, split: str
    ) -> Shaped[Tensor, "images ..."]:
        """Return labels in the task's own number type.

        Args:
            labels: As the data set gives them.
            num_classes: Number of classes of the data set.
            split: Name of their split in error sentences.

        Raises:
            ValueError: In one sentence, if one is not of the task.
        """

    @abstractmethod
    def counts(
        self, labels: Shaped[Tensor, "images ..."], num_classes: int
    ) -> Int[Tensor, " classes"]:
        """Return how many images show each class."""

    @abstractmethod
    def answers(
        self, beliefs: Float[Tensor, "images classes"], labels: Shaped[Tensor, "images ..."]
    ) -> Shaped[Tensor, "images ..."]:
        """Return the network's answer for each image, in the form of the labels.

        Args:
            beliefs: Belief in each class, in [0, 1].
            labels: The true ones; only what the question itself tells, such as the number of
                classes, may be taken from them.
        """

    def errors(
        self, answers: Shaped[Tensor, "images ..."], labels: Shaped[Tensor, "images ..."]
    ) -> Float[Tensor, " images"]:
        """Return the error of each image, in [0, 1]; the error of a split is their mean.

        By default 1 where the answer is not exactly the label, else 0.
        """
        return (answers != labels).reshape(len(labels), -1).any(dim=1).float()

    @abstractmethod
    def chance(self, labels: Shaped[Tensor, "images ..."]) -> float:
        """Return the error of the best answer that is the same for all images."""

    @abstractmethod
    def guesses(self, beliefs: Float[Tensor, "images classes"]) -> Int64[Tensor, "images ..."]:
        """Return the classes that an image without a label is said to have, most likely first."""

    def drawn(
        self, labels: Shaped[Tensor, "images ..."]
    ) -> Int64[Tensor, " images"] | Int64[Tensor, "images several"]:
        """Return the classes that a decoder draws, apart, -1 for none; by default the labels."""
        return labels.long()


class OneClass(Task):
    """Each image is of one class; its label is the class's number."""

    kind: Literal["one_class"] = "one_class"

    def checked(
        self, labels: Shaped[Tensor, "images ..."], num_classes: int, split: str
    ) -> Shaped[Tensor, "images ..."]:
        """Return labels as 64-bit integers.

        Raises:
            ValueError: If they are not one integer an image, or one is no class.
        """
        try:
            check_label_type(labels)
        except ValueError as error:
            raise ValueError(f"In {split}: {error}") from error
        checked = labels.long()
        if not checked.is_meta:
            check_label_range(checked.cpu(), num_classes, split)
        return checked

    def counts(
        self, labels: Shaped[Tensor, "images ..."], num_classes: int
    ) -> Int[Tensor, " classes"]:
        """Return how many images show each class."""
        return torch.bincount(labels, minlength=num_classes)

    def answers(
        self, beliefs: Float[Tensor, "images classes"], labels: Shaped[Tensor, "images ..."]
    ) -> Shaped[Tensor, "images ..."]:
        """Return the class that is believed in most; of equal ones the first."""
        return beliefs.argmax(dim=1)

    def chance(self, labels: Shaped[Tensor, "images ..."]) -> float:
        """Return the error of saying the most frequent class of all images."""
        return 1 - int(torch.bincount(labels.cpu()).max()) / len(labels)

    def guesses(self, beliefs: Float[Tensor, "images classes"]) -> Int64[Tensor, "images ..."]:
        """Return the class that is believed in most."""
        return beliefs.argmax(dim=1)


class SeveralClasses(Task):
    """Each image is of one or more classes; its label says of each class whether it is.

    The answer is the set of classes that are believed in most, as many as the image has: an image
    is wrong unless the set is exactly right. Of equal beliefs the first class counts.

    Source: the program published with Sabour, Frosst and Hinton 2017, arXiv:1710.09829, for pairs
    of digits.
    Difference: none.

    Attributes:
        most: The largest number of classes of an image.
    """

    kind: Literal["several_classes"] = "several_classes"
    label_form: ClassVar[str] = "classes"
    epoch_metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(
            name="validation_at_least_one",
            words="share of validation images with at least one class right",
            unit="fraction",
            direction="larger",
        ),
        Metric(
            name="validation_half_credit",
            words="share of the classes of validation images that are right",
            unit="fraction",
            direction="larger",
        ),
    )
    most: Annotated[int, Field(ge=1)] = 2

    def checked(
        self, labels: Shaped[Tensor, "images ..."], num_classes: int, split: str
    ) -> Shaped[Tensor, "images ..."]:
        """Return labels as booleans.

        Raises:
            ValueError: If they are not one number per image and class, one is neither 0 nor 1, or
                an image has no class or more than `most`.
        """
        if labels.ndim != 2 or labels.shape[1] != num_classes:
            raise ValueError(
                f"The labels of {split} must be of shape [images, {num_classes}], 1 for each class "
                f"of an image and else 0, got {labels.dtype} of shape {list(labels.shape)}."
            )
        if not labels.is_meta:
            check_zeros_and_ones(labels.cpu(), split)
            self._check_number(labels.cpu() != 0, split)
        return labels != 0

    def _check_number(self, labels: Bool[Tensor, "images classes"], split: str) -> None:
        numbers = labels.sum(dim=1)
        wrong = ((numbers < 1) | (numbers > self.most)).nonzero().flatten().tolist()
        if wrong:
            number = int(numbers[wrong[0]])
            raise ValueError(
                f"Image {wrong[0]} of {split} has {number or 'no'} classes, and the task "
                f"'{self.kind}' has 1 to {self.most} an image: correct its label, or set "
                f"SeveralClasses(most={max(number, 1)})."
            )

    def counts(
        self, labels: Shaped[Tensor, "images ..."], num_classes: int
    ) -> Int[Tensor, " classes"]:
        """Return how many images show each class."""
        return labels.sum(dim=0)

    def answers(
        self, beliefs: Float[Tensor, "images classes"], labels: Shaped[Tensor, "images ..."]
    ) -> Shaped[Tensor, "images ..."]:
        """Return the most likely classes, as many as each image can have."""
        ranks = beliefs.argsort(dim=1, descending=True, stable=True).argsort(dim=1)
        return ranks < labels.sum(dim=1, keepdim=True)

    def chance(self, labels: Shaped[Tensor, "images ..."]) -> float:
        """Return the error of saying the most frequent set of classes of all images."""
        return 1 - int(labels.cpu().unique(dim=0, return_counts=True)[1].max()) / len(labels)

    def guesses(self, beliefs: Float[Tensor, "images classes"]) -> Int64[Tensor, "images ..."]:
        """Return the `most` classes that are believed in most."""
        return beliefs.argsort(dim=1, descending=True, stable=True)[:, : self.most]

    def drawn(
        self, labels: Shaped[Tensor, "images ..."]
    ) -> Int64[Tensor, " images"] | Int64[Tensor, "images several"]:
        """Return the classes of each image, ascending, filled up with -1 to `most`."""
        first = labels.int().argsort(dim=1, descending=True, stable=True)[:, : self.most]
        return first.masked_fill(~labels.gather(1, first), -1)

    def measure(
        self, beliefs: Float[Tensor, "images classes"], labels: Bool[Tensor, "images classes"]
    ) -> Mapping[str, Float[Tensor, ""]]:
        """Return the shares of images with at least one class right, and of classes right."""
        shares = self.share_right(self.answers(beliefs, labels), labels)
        return {
            "validation_at_least_one": (shares > 0).float().mean(),
            "validation_half_credit": shares.mean(),
        }

    def share_right(
        self, answers: Bool[Tensor, "images classes"], labels: Bool[Tensor, "images classes"]
    ) -> Float[Tensor, " images"]:
        """Return the share of each image's classes that are in the answer.

        Source: "multiAccuracy" in the program published with Mazzia, Salvetti and Chiaberge 2021,
        arXiv:2101.12491, which gives half credit for one of two digits.
        """
        return (answers & labels).sum(dim=1) / labels.sum(dim=1)


TASKS = (OneClass, SeveralClasses)
