"""Digits on grounds of clothing: what shows through, and which grounds stay."""

from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from capsmodel.data import DataSet, DataSplits, MnistOnFashion
from capsmodel.data.archive import Archives
from capsmodel.data.idx import IdxImages
from capsmodel.testing import DataSetContract
from tests.capsmodel.data.idx_files import SmallMnist, write_files
from tests.capsmodel.data.test_mnist import needs_images

# A weighed mean of the test pixels: another one needs another protocol_version.
FIXED = 0.00129716


class SmallFashion(SmallMnist):
    archives = Archives("FashionMNIST", SmallMnist.archives.files)


class FewOnFashion(MnistOnFashion):
    """Of 250 images each that a test writes."""

    kind: Literal["few_on_fashion"] = "few_on_fashion"
    digits: ClassVar[type[IdxImages]] = SmallMnist
    clothing: ClassVar[type[IdxImages]] = SmallFashion


@pytest.fixture(autouse=True)
def folder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "real" in request.node.name:
        return
    folder: Path = request.getfixturevalue("tmp_path")
    monkeypatch.setenv("CAPSWEEP_DATA", str(folder))
    for title in ("MNIST", "FashionMNIST"):
        write_files(folder / title / "raw")


def few(contrast: float = 1.0) -> DataSplits:
    return FewOnFashion(contrast=contrast).load("cpu")


def test_without_contrast_the_images_are_those_of_mnist_to_the_bit() -> None:
    laid, plain = few(contrast=0.0), SmallMnist().load("cpu")
    for name in ("train", "validation", "test"):
        images, plain_images = getattr(laid, name), getattr(plain, name)
        assert torch.equal(images.take(slice(None)).images, plain_images.images)
        assert torch.equal(images.labels, plain_images.labels)


def test_half_the_contrast_shows_half_of_the_ground() -> None:
    none, half, full = (few(contrast).test.images for contrast in (0.0, 0.5, 1.0))
    assert_close(half - none, (full - none) / 2)
    assert bool((full >= none).all())
    assert torch.equal(full[none == 1], none[none == 1])


def test_a_ground_is_a_crop_of_clothing_twice_as_large() -> None:
    splits = few()
    train = splits.train.of_epoch(0, 0)
    black = type(train)(**{**vars(train), "images": torch.zeros_like(train.images)})
    grounds = black.take(slice(0, 20)).images
    small = torch.nn.functional.avg_pool2d(grounds, 2)
    assert small.shape == (20, 1, 14, 14)
    crops = np.lib.stride_tricks.sliding_window_view(
        SmallFashion().load("cpu").train.images[:, 0].numpy(), (14, 14), axis=(1, 2)
    ).reshape(-1, 14 * 14)
    for ground in small.flatten(1).numpy():
        centred = (crops - crops.mean(1, keepdims=True)) @ (ground - ground.mean())
        likeness = centred / (crops.std(1) * ground.std() * 14 * 14)
        assert likeness.max() > 0.8  # bilinear enlarging blurs noise; others are below 0.5
        assert np.partition(likeness, -2)[-2] < 0.7


def test_each_epoch_has_other_grounds_and_the_same_seed_the_same() -> None:
    splits = few()
    first, repeated, other = (
        splits.train.of_epoch(*of).take(slice(None)) for of in ((3, 1), (3, 1), (4, 1))
    )
    assert torch.equal(first.images, repeated.images)
    assert not torch.equal(first.images, other.images)
    assert torch.equal(first.labels, other.labels)
    assert splits.test.of_epoch(3, 1) is splits.test


@needs_images
def test_the_real_test_images_are_those_of_ever() -> None:
    images = MnistOnFashion().load("cpu").test.images
    weights = torch.arange(images.numel(), dtype=torch.float64).cos()
    weighed = 1000 * (images.flatten() * weights).mean().item()
    assert weighed == pytest.approx(FIXED, abs=1e-7)


class TestContract(DataSetContract):
    @pytest.fixture
    def data(self) -> DataSet:
        return FewOnFashion()
