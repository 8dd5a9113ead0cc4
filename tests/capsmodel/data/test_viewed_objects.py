"""Objects seen from viewpoints: which views are trained on, and which are tested on."""

import dataclasses
from collections.abc import Sequence
from itertools import product
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from capsmodel import Training
from capsmodel.augmentation import Patches
from capsmodel.data import DataSplits, Digits, Images
from capsmodel.data.viewed_objects import Objects, ViewedObjects, Views
from capsmodel.models import ConvNet
from capsmodel.stopping import FixedEpochs
from tests.capsmodel.small_config import small_config

NUM_IMAGES = 5 * 2 * 9 * 18
FAMILIAR = {
    "azimuth": lambda codes: np.isin(codes[:, 2], [30, 32, 34, 0, 2, 4]),
    "elevation": lambda codes: np.isin(codes[:, 1], [0, 1, 2]),
}
BY_VIEWPOINT = pytest.mark.parametrize("views", ["azimuth", "elevation"])


class Toys(ViewedObjects):
    """Two objects a class for training and two for the test, under one lighting."""

    kind: Literal["toys"] = "toys"
    asked: ClassVar[list[tuple[Objects, list[int]]]] = []

    def catalogue(self, objects: Objects) -> Views:
        instances = (4, 6) if objects == "train" else (0, 1)
        rows = list(product(instances, range(9), range(0, 36, 2), range(5)))
        labels = np.array([label for *_, label in rows], np.int32)
        return Views(labels, np.array([(*row[:3], 0) for row in rows], np.int32))

    def pixels(self, objects: Objects, rows: Sequence[int]) -> np.ndarray:
        assert list(rows) == sorted(set(rows))
        self.asked.append((objects, list(rows)))
        images = np.zeros((len(rows), 2, 48, 48), np.uint8)
        images[:, 0, 0, 0], images[:, 0, 0, 1] = np.divmod(rows, 256)
        images[:, 1] = 255
        return images


def rows_in(images: torch.Tensor) -> list[int]:
    corner = images[:, 0, 0].long()
    return (256 * corner[:, 0] + corner[:, 1]).tolist()


def loaded(**settings: Any) -> DataSplits:
    return Toys(**settings).load("cpu")


def test_all_views_are_split_as_everywhere() -> None:
    splits = loaded()
    assert (len(splits.train), len(splits.validation)) == (1418, 202)
    assert rows_in(splits.test.images) == list(range(NUM_IMAGES))
    assert splits.extra_tests == {}
    assert sorted(rows_in(splits.train.images) + rows_in(splits.validation.images)) == (
        list(range(NUM_IMAGES))
    )


@BY_VIEWPOINT
def test_training_sees_familiar_viewpoints_alone(views: str) -> None:
    splits = loaded(views=views)
    is_familiar = FAMILIAR[views](Toys().catalogue("train").codes)
    seen = rows_in(splits.train.images) + rows_in(splits.validation.images)
    assert sorted(seen) == np.flatnonzero(is_familiar).tolist()
    assert len(seen) == NUM_IMAGES // 3


@BY_VIEWPOINT
def test_the_test_is_on_novel_viewpoints_and_an_extra_one_on_familiar_ones(views: str) -> None:
    splits = loaded(views=views)
    is_familiar = FAMILIAR[views](Toys().catalogue("test").codes)
    assert rows_in(splits.test.images) == np.flatnonzero(~is_familiar).tolist()
    assert rows_in(splits.extra_tests["familiar"].images) == np.flatnonzero(is_familiar).tolist()
    assert list(splits.extra_tests) == ["familiar"]


@BY_VIEWPOINT
def test_images_keep_their_labels(views: str) -> None:
    splits = loaded(views=views, fraction=0.5)
    for objects, images in (
        ("train", splits.train),
        ("train", splits.validation),
        ("test", splits.test),
        ("test", splits.extra_tests["familiar"]),
    ):
        labels = Toys().catalogue(objects).labels
        assert images.labels.tolist() == labels[rows_in(images.images)].tolist()


@BY_VIEWPOINT
def test_a_fraction_takes_its_share_of_each_class_and_of_the_extra_test_too(views: str) -> None:
    full, part = loaded(views=views), loaded(views=views, fraction=0.1)
    for all_images, images in (
        (full.train, part.train),
        (full.validation, part.validation),
        (full.test, part.test),
        (full.extra_tests["familiar"], part.extra_tests["familiar"]),
    ):
        assert set(rows_in(images.images)) < set(rows_in(all_images.images))
        expected = torch.bincount(all_images.labels) / 10
        assert (torch.bincount(images.labels) - expected).abs().max() <= 0.5


def test_a_fraction_that_leaves_an_extra_test_without_a_class_is_refused() -> None:
    with pytest.raises(
        ValueError,
        match=r"^A fraction of 0\.1 leaves no image of class 1 in the 'familiar' test split of "
        r"toys, which has 3 of it: choose at least 0\.33\.$",
    ):
        Toys(fraction=0.1).split([0, 1] * 100, [0, 1] * 100, {"familiar": [0] * 9 + [1] * 3})


def test_images_that_no_split_wants_are_not_asked_for() -> None:
    Toys.asked.clear()
    data = Toys(views="azimuth", fraction=0.05)
    rows = data.rows()
    assert Toys.asked == []
    data.load("cpu")
    assert Toys.asked == [
        ("train", sorted(rows.train + rows.validation)),
        ("test", sorted(rows.test + rows.extra_tests["familiar"])),
    ]


def test_the_split_seed_moves_the_validation_split_alone() -> None:
    rows, rows_of_another_seed = (
        Toys(views="azimuth").rows(),
        Toys(views="azimuth", split_seed=1).rows(),
    )
    assert rows.validation != rows_of_another_seed.validation
    assert (rows.test, rows.extra_tests) == (
        rows_of_another_seed.test,
        rows_of_another_seed.extra_tests,
    )


def test_grey_values_are_kept_as_bytes_and_taken_as_numbers() -> None:
    train = loaded(fraction=0.1).train
    assert train.images.dtype == torch.uint8
    taken = train.take(torch.tensor([3, 1]))
    assert taken.images.dtype == torch.float32
    assert torch.equal(taken.images, torch.from_numpy(train.images[[3, 1]].numpy() / 255).float())
    assert taken.labels.tolist() == train.labels[[3, 1]].tolist()
    assert len(train.take(slice(5, 9))) == 4


def test_numbers_are_taken_as_they_are() -> None:
    train = small_config().data.load("cpu").train
    assert torch.equal(train.take(slice(7)).images, train.images[:7])


def test_other_views_are_refused() -> None:
    with pytest.raises(ValidationError):
        Toys.model_validate({"views": "lighting"})


def test_a_training_tells_the_error_on_familiar_viewpoints_too() -> None:
    model = ConvNet.model_validate({"conv_channels": [2], "pooling": 4, "hidden": [4]})
    config = small_config(
        data=Toys(views="azimuth", fraction=0.2),
        model=model,
        augmentation=Patches(),
        stopping=FixedEpochs(epochs=1),
    )
    training = Training(config, seed=0)
    list(training)
    result = training.test()
    familiar = config.data.load("cpu").extra_tests["familiar"]
    predicted = training.trained().predict(familiar.take(slice(None)).images).classes
    wrong = int((predicted != familiar.labels).sum())
    assert result.extra_errors == {"familiar": wrong / len(familiar)}
    assert len(result.labels) == len(config.data.load("cpu").test)


def test_each_image_tells_which_object_it_shows() -> None:
    data = Toys(fraction=0.2)
    rows, splits, views = data.rows(), data.load("cpu"), data.catalogue("test")
    objects = splits.test.objects
    assert objects is not None
    shown = {
        (int(views.labels[row]), int(views.codes[row, 0])): int(number)
        for row, number in zip(rows.test, objects, strict=True)
    }
    assert len({*shown.values()}) == len(shown)
    taken = splits.test.take(slice(3, 5)).objects
    assert taken is not None
    assert torch.equal(taken, objects[3:5])
    training = splits.train.objects
    assert training is not None
    assert len(training) == len(splits.train)


class DigitsTestedThrice(Digits):
    def load(self, device: str | torch.device) -> DataSplits:
        splits = super().load(device)
        other = Images(splits.test.images, (splits.test.labels + 1) % 10)
        return dataclasses.replace(splits, extra_tests={"again": splits.test, "other": other})


def test_each_extra_test_is_told_by_its_own_labels() -> None:
    training = Training(small_config(data=DigitsTestedThrice(), batch_size=50), seed=0)
    list(training)
    result = training.test()
    assert result.extra_errors["again"] == result.error < 0.5
    assert result.extra_errors["other"] > 0.5


def test_without_extra_tests_none_is_told() -> None:
    assert Training(small_config(), seed=0).test().extra_errors == {}
