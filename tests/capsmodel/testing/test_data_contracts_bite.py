"""The contracts of data sets and of augmentations find parts that break them."""

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, Literal

import pytest
import torch
from torch import Tensor

from capsmodel.augmentation import Augmentation, NoAugmentation
from capsmodel.data import DataSet, DataSplits, Digits, Images
from capsmodel.testing import AugmentationContract, DataSetContract

DATA_LAWS = DataSetContract()
AUGMENTATION_LAWS = AugmentationContract()


class Changed(Digits):
    """Digits of which a test changes what is loaded."""

    change: ClassVar[Callable[[DataSplits], DataSplits]]

    def load(self, device: str | torch.device) -> DataSplits:
        return type(self).change(super().load(device))


def changed(change: Callable[[DataSplits], DataSplits]) -> DataSet:
    return type("Changed", (Changed,), {"change": staticmethod(change)})(fraction=0.5)


def with_train(change: Callable[[Images], Images]) -> DataSet:
    return changed(lambda splits: dataclasses.replace(splits, train=change(splits.train)))


def moved(images: Images) -> Images:
    return Images(torch.rand_like(images.images), images.labels)


@cache
def same() -> DataSplits:
    """Return the same tensors to all who ask."""
    return Digits(fraction=0.5).load("cpu")


BROKEN_DATA: dict[str, tuple[Callable[[DataSet], None], DataSet]] = {
    "of another shape": (
        DATA_LAWS.test_its_images_have_the_declared_shape,
        with_train(lambda images: Images(images.images[..., 1:], images.labels)),
    ),
    "not from zero to one": (
        DATA_LAWS.test_it_gives_single_precision_from_zero_to_one,
        with_train(lambda images: Images(16 * images.images, images.labels)),
    ),
    "in double precision": (
        DATA_LAWS.test_it_gives_single_precision_from_zero_to_one,
        with_train(lambda images: Images(images.images.double(), images.labels)),
    ),
    "without a class": (
        DATA_LAWS.test_every_split_has_every_declared_class,
        with_train(lambda images: images.take((images.labels != 3).nonzero().flatten())),
    ),
    "tested on its training images": (
        DATA_LAWS.test_no_image_is_in_two_splits,
        changed(lambda splits: dataclasses.replace(splits, test=splits.train)),
    ),
    "with an extra test on its training images": (
        DATA_LAWS.test_no_image_is_in_two_splits,
        changed(lambda splits: dataclasses.replace(splits, extra_tests={"own": splits.train})),
    ),
    "other at each load": (
        DATA_LAWS.test_two_loads_are_the_same_to_the_last_bit,
        with_train(moved),
    ),
    "with chance of its own": (
        DATA_LAWS.test_the_global_generator_is_left_alone,
        with_train(moved),
    ),
    "shared by all who load it": (
        DATA_LAWS.test_writing_to_one_load_leaves_the_next_as_it_is,
        changed(lambda _: dataclasses.replace(same())),
    ),
    "deaf to its split seed": (
        DATA_LAWS.test_the_split_seed_leaves_the_tests_as_they_are,
        changed(lambda _: Digits(fraction=0.5).load("cpu")),
    ),
    "deaf to its fraction": (
        DATA_LAWS.test_a_smaller_fraction_is_a_part_of_a_larger_one,
        changed(lambda _: Digits(fraction=0.5).load("cpu")),
    ),
    "deaf to its device": (
        DATA_LAWS.test_the_images_lie_on_the_device_that_is_asked_for,
        changed(lambda _: Digits(fraction=0.5).load("cpu")),
    ),
}


@pytest.mark.parametrize(("law", "data"), BROKEN_DATA.values(), ids=BROKEN_DATA)
def test_data_that_break_a_law_are_found(law: Callable[[DataSet], None], data: DataSet) -> None:
    with pytest.raises(AssertionError):
        law(data)


class Centred(NoAugmentation):
    def apply(self, images: Tensor, draws: Tensor) -> Tensor:
        return (images - images.mean()).clamp(0, 1)


class InPlace(NoAugmentation):
    def apply(self, images: Tensor, draws: Tensor) -> Tensor:
        return images.mul_(0.5)


class Brighter(NoAugmentation):
    def apply(self, images: Tensor, draws: Tensor) -> Tensor:
        return images + 0.5


class GloballyRandom(NoAugmentation):
    def draw(self, num_images: int, generator: torch.Generator) -> Tensor:
        return torch.rand(num_images, 1)


class OneDrawForAll(NoAugmentation):
    def draw(self, num_images: int, generator: torch.Generator) -> Tensor:
        return torch.rand(1, 1, generator=generator)


class CutInTrainingAlone(NoAugmentation):
    kind: Literal["none"] = "none"

    def shape(self, image_shape: tuple[int, int, int]) -> tuple[int, int, int]:
        return (image_shape[0], 8, 8)

    def apply(self, images: Tensor, draws: Tensor) -> Tensor:
        return images[..., :8, :8]


BROKEN_AUGMENTATIONS: dict[str, tuple[Callable[[Any], None], Augmentation]] = {
    "looks at its batch": (
        AUGMENTATION_LAWS.test_an_image_is_the_same_alone_as_in_a_batch,
        Centred(),
    ),
    "writes to images": (AUGMENTATION_LAWS.test_the_images_are_not_written_to, InPlace()),
    "leaves the range": (
        AUGMENTATION_LAWS.test_values_are_finite_and_keep_their_range_where_it_says_so,
        Brighter(),
    ),
    "has chance of its own": (
        AUGMENTATION_LAWS.test_all_chance_comes_from_the_generator,
        GloballyRandom(),
    ),
    "draws once": (
        AUGMENTATION_LAWS.test_each_image_has_one_row_of_draws_on_the_cpu,
        OneDrawForAll(),
    ),
    "cuts in training alone": (
        AUGMENTATION_LAWS.test_images_have_the_stated_shape_and_are_single_precision,
        CutInTrainingAlone(),
    ),
}


@pytest.mark.parametrize(
    ("law", "augmentation"), BROKEN_AUGMENTATIONS.values(), ids=BROKEN_AUGMENTATIONS
)
def test_an_augmentation_that_breaks_a_law_is_found(
    law: Callable[[Augmentation], None], augmentation: Augmentation
) -> None:
    with pytest.raises(AssertionError):
        law(augmentation)
