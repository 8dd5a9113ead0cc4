"""The interface of every data set."""

import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

import torch
from jaxtyping import Float, Int, Shaped, UInt8
from pydantic import Field
from torch import Tensor

from capsmodel.data.picture_files import Fit
from capsmodel.data.splits import fraction_of, hold_out
from capsmodel.functional.tensor_repr import shapes_repr
from capsmodel.settings.parts import Part, is_built_in, later
from capsmodel.tasks import OneClass, Task

WHITE = 255.0
"""The largest grey value of one byte."""


@dataclass(frozen=True)
class Images:
    """Images with their classes, on one device.

    Attributes:
        images: Numbers in [0, 1], or grey values from 0 to 255 in a quarter of the memory; `take`
            gives numbers in both cases.
        labels: The true class of each image, in the form of the data set's task: of several
            classes, whether an image is of each.
        objects: Which object each image shows, where images are views of few objects, or who wrote
            it, or which source it has: images of one number are alike, so that an error on one
            tells of errors on others, and intervals of tables count them together. None where
            each image is its own.
        parts: For each class of an image the image of that alone, in the order of the classes and
            filled up with black: what decoders of several classes draw. None for the image itself.
        files: The file of each image, below the folder of the data; () where images are no files of
            their own, and of images that `take` selects.
    """

    images: (
        Float[Tensor, "images channels height width"]
        | UInt8[Tensor, "images channels height width"]
    )
    labels: Shaped[Tensor, "images ..."]
    objects: Int[Tensor, " images"] | None = None
    parts: Float[Tensor, "images several channels height width"] | None = None
    files: tuple[str, ...] = ()

    __repr__ = shapes_repr

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, indices: Int[Tensor, " taken"] | slice) -> "Images":
        """Return the selected images, in the given order, as numbers in [0, 1]."""
        images = self.images[indices]
        if images.dtype == torch.uint8:
            # Divide by a tensor: a GPU would multiply by a plain number's rounded inverse.
            images = images.float() / torch.full((), WHITE, device=images.device)
        objects = None if self.objects is None else self.objects[indices]
        parts = None if self.parts is None else self.parts[indices]
        return Images(images, self.labels[indices], objects, parts)

    def copied(self) -> "Images":
        """Return them in memory of their own, so that who writes to them changes no other's."""
        return replace(self, **{name: _copied(value) for name, value in vars(self).items()})

    def of_epoch(self, epoch: int, seed: int) -> "Images":
        """Return the images of one epoch of a training; by default the same in each.

        Args:
            epoch: Epochs done before.
            seed: Seed of the training.
        """
        del epoch, seed
        return self


def _copied(value: Any) -> Any:
    """Return a tensor or a named tuple of tensors in memory of its own; anything else itself."""
    if isinstance(value, Tensor):
        return value.clone()
    return type(value)(*map(_copied, value)) if hasattr(value, "_fields") else value


@dataclass(frozen=True)
class DataSplits:
    """A data set in parts that share no image.

    Attributes:
        train: Images that the weights are fitted to.
        validation: Images that selection may use.
        test: Images that are used once, at the end.
        extra_tests: Name -> other images that are used once, at the end, and reported with the test
            images.
    """

    train: Images
    validation: Images
    test: Images
    extra_tests: Mapping[str, Images] = field(default_factory=dict[str, Images])

    def copied(self) -> "DataSplits":
        """Return them in memory of their own."""
        extra = {name: images.copied() for name, images in self.extra_tests.items()}
        train, validation, test = self.train, self.validation, self.test
        return DataSplits(train.copied(), validation.copied(), test.copied(), extra)


@dataclass(frozen=True)
class SplitIndices:
    """Which images belong to which split, ascending.

    Attributes:
        train: Among the training images.
        validation: Among the training images, none of them in `train`; where the data give
            validation images, among these.
        test: Among the test images.
        extra_tests: Name -> among the images of that extra test.
    """

    train: list[int]
    validation: list[int]
    test: list[int]
    extra_tests: Mapping[str, list[int]] = field(default_factory=dict[str, list[int]])


class DataSet(Part, ABC):
    """A source of images and how it is split.

    The test split is fixed by the data set. The validation split is taken from the training
    images by `split_seed`, the same for all arms and seeds of a sweep unless it lists several.

    Attributes:
        image_shape: Channels, height, width; known without loading.
        num_classes: Number of classes; known without loading.
        fingerprint: Hash of the raw data, known without loading and verified on loading. Only the
            data sets of this library declare it; of a user's own it is computed.
        task: What the labels mean, and what counts as wrong.
        is_split_by_seed: Whether another split seed gives other validation images; not where these
            are given with the data.
        shared_images: Why images occur in more than one split, with the source, such as "known:
            Barz and Denzler 2020"; empty if more than 0.1 % of a split are to be refused.
        shifted_test: Whether the test images are by design of another kind than the validation
            images, such as other objects or viewpoints, so that errors and pixels of both are not
            compared. Where it is None or not declared, errors are not where there are extra tests
            or images count by object.
        class_names: What each class is called; () if by its number.
        num_unsplit: How many images training and validation have together, known without loading;
            None where that is not known.
        validation_fraction: Share of the training images that is held out for validation.
        split_seed: Seed that selects these images.
        fraction: Share of every split that is used, the test split too. Which images these are is
            fixed by the data set; a smaller fraction is a part of a larger one.
        train_fraction: Share of the training images that is used, of those that `fraction` leaves;
            validation and test stay as they are. A smaller one is a part of a larger one.
    """

    family: ClassVar[str] = "data"
    image_shape: ClassVar[tuple[int, int, int]]
    num_classes: ClassVar[int]
    fingerprint: ClassVar[str]
    task: ClassVar[Task] = OneClass()
    is_split_by_seed: ClassVar[bool] = True
    shared_images: ClassVar[str] = ""
    shifted_test: ClassVar[bool | None]  # without a value, as files of a user's have a setting here
    class_names: ClassVar[tuple[str, ...]] = ()
    num_unsplit: ClassVar[int | None] = None
    validation_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.125
    split_seed: Annotated[int, Field(ge=0)] = 0

    fraction: Annotated[float, Field(gt=0, le=1)] = 1.0
    train_fraction: Annotated[float, Field(gt=0, le=1)] = later(1.0)

    @property
    def inner_part(self) -> Part:
        """The task, whose metrics are those of the training."""
        return self.task

    @property
    def is_of_user(self) -> bool:
        """Whether the images are a user's: checked when loaded, and known by their hash."""
        return not is_built_in(type(self))

    @property
    def has_shifted_test(self) -> bool | None:
        """What `shifted_test` declares, None where it is not declared."""
        return getattr(self, "shifted_test", None)

    @property
    def images_of(self) -> tuple[str, ...]:
        """Names of the data sets whose images it shows, changed or not; () for a user's images."""
        name = f"{self.kind} {getattr(self, 'name', '')}".strip()
        return () if self.is_of_user else (name,)

    @property
    def picture_fit(self) -> Fit:
        """What becomes of a picture of another shape that is to be predicted."""
        return "crop"

    @property
    def white_value(self) -> int | None:
        """The value that is white in images of whole numbers; None for that of their type."""
        return None

    @property
    def reader_versions(self) -> tuple[str, ...]:
        """Versions of the decoders of a user's images. Other versions may give other values."""
        return ()

    @property
    def num_training_images(self) -> int | None:
        """The number of training images, or None if it is not known without loading.

        It is approximate for a share of the images, because each class is rounded separately.
        """
        if self.num_unsplit is None:
            return None
        num = self.num_unsplit - round(self.validation_fraction * self.num_unsplit)
        return round(num * self.fraction * self.train_fraction)

    def name_of(self, label: int) -> str:
        """Return the name of a class."""
        return self.class_names[label] if self.class_names else str(label)

    def prepare(self) -> None:
        """Make sure that the raw data exist; download them if necessary.

        Cheap if they exist. Loading does the same; this does it beforehand.

        Raises:
            ValueError: If they neither exist nor can be downloaded.
        """

    def downloads(self) -> dict[str, int | None]:
        """Return the missing files that `prepare` downloads: name -> bytes, None where not known.

        Raises:
            ValueError: If an existing file cannot be read.
        """
        return {}

    def files(self) -> Iterable[str | os.PathLike[str]]:
        """Return the files that `load` reads; none by default.

        A user's own data set is loaded and hashed at each launch. One that lists its files is not
        while their sizes, times and inodes stay the same.
        """
        return ()

    def notes_on_files(self) -> Iterable[str]:
        """Return what is unusual in a user's files, but allowed, a sentence each; by default none.

        It is asked for after `load`, and shown once with what the images show.
        """
        return ()

    @abstractmethod
    def load(self, device: str | torch.device) -> DataSplits:
        """Return the splits as tensors on a device.

        Raises:
            ValueError: If the raw data do not have the declared fingerprint, or the fraction
                leaves a class without an image.
        """

    def split(
        self,
        labels: Sequence[int],
        test_labels: Sequence[int],
        extra_labels: Mapping[str, Sequence[int]] = MappingProxyType({}),
    ) -> SplitIndices:
        """Return which images belong to which split; each split keeps the class proportions.

        Args:
            labels: The class of each training image, in the data set's own order.
            test_labels: The class of each test image.
            extra_labels: Name -> the class of each image of that extra test.

        Raises:
            ValueError: If the fraction leaves a class without an image.
        """
        num_validation = round(self.validation_fraction * len(labels))
        train, validation = hold_out(
            labels, num_validation, f"{self.kind}/validation/{self.split_seed}"
        )
        self._check_fraction({"training": train, "validation": validation}, labels)
        return SplitIndices(
            train=self._train_share(train, labels),
            validation=self._share(validation, labels),
            test=self._test_share("test", test_labels),
            extra_tests={
                name: self._test_share(f"'{name}' test", labels_of_test)
                for name, labels_of_test in extra_labels.items()
            },
        )

    def split_as_given(
        self, labels: Sequence[int], validation_labels: Sequence[int], test_labels: Sequence[int]
    ) -> SplitIndices:
        """Return which images belong to which split where the data give all three.

        Args:
            labels: The class of each training image, in the data set's own order.
            validation_labels: The class of each validation image.
            test_labels: The class of each test image.

        Raises:
            ValueError: If the fraction leaves a class without an image.
        """
        everything = list(range(len(labels)))
        self._check_fraction({"training": everything}, labels)
        return SplitIndices(
            train=self._train_share(everything, labels),
            validation=self._test_share("validation", validation_labels),
            test=self._test_share("test", test_labels),
        )

    def _test_share(self, split: str, labels: Sequence[int]) -> list[int]:
        everything = list(range(len(labels)))
        self._check_fraction({split: everything}, labels)
        return self._share(everything, labels)

    def _train_share(self, indices: list[int], labels: Sequence[int]) -> list[int]:
        chosen = self._share(indices, labels)
        if self.train_fraction == 1:
            return chosen
        return train_share(chosen, labels, self.train_fraction, f"{self.kind}/fraction")

    def _share(self, indices: list[int], labels: Sequence[int]) -> list[int]:
        if self.fraction == 1:
            return indices
        return fraction_of(indices, labels, self.fraction, f"{self.kind}/fraction")

    def _check_fraction(self, splits: dict[str, list[int]], labels: Sequence[int]) -> None:
        if self.fraction == 1:
            return
        counts = [
            (size, split, label)
            for split, indices in splits.items()
            for label, size in Counter(labels[index] for index in indices).items()
        ]
        size, split, label = min(counts)
        if round(self.fraction * size) == 0:
            raise ValueError(
                f"A fraction of {self.fraction:g} leaves no image of class {label} in the {split} "
                f"split of {self.kind}, which has {size} of it: choose at least {1 / size:.2g}."
            )


def check_split_is_given(data: DataSet, origin: str) -> None:
    """Check that settings ask for no other validation images than those that the data give.

    Args:
        data: The settings.
        origin: Whose validation images they are and which: "affNIST are those of its last".

    Raises:
        ValueError: If they do.
    """
    for name in ("validation_fraction", "split_seed"):
        default = DataSet.model_fields[name].default
        if getattr(data, name) != default:
            raise ValueError(f"The validation images of {origin}: leave {name} at {default}.")


def train_share(
    indices: Sequence[int], labels: Sequence[int], fraction: float, seed: str
) -> list[int]:
    """Return a fraction of the training images, ascending.

    Args:
        indices: Those to choose among.
        labels: The class of each image, also of those not among them.
        fraction: The share, in (0, 1].
        seed: Seed of the selection.

    Raises:
        ValueError: If it leaves a class without an image.
    """
    sizes = Counter(labels[index] for index in indices)
    size, label = min((size, label) for label, size in sizes.items())
    if round(fraction * size) == 0:
        raise ValueError(
            f"A train_fraction of {fraction:g} leaves no training image of class {label}, which "
            f"has {size}: choose at least {1 / size:.2g}."
        )
    return fraction_of(indices, labels, fraction, seed)
