"""One image under several labels of one split is noted, with figures."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from capsmodel.data import Arrays, DataSet, DataSplits, Digits, ImageFolder, facts_of, load_checked
from tests.capsmodel.data.pictures import noise, write_classes


def notes_of(data: DataSet) -> str:
    return " ".join(facts_of(data, load_checked(data, "cpu")).notes)


class Repeated(Digits):
    """The digits with one training image many times."""

    kind: Any = "repeated"
    labels: tuple[int, ...] = ()

    def load(self, device: str | torch.device) -> DataSplits:
        splits = super().load(device)
        images, labels = splits.train.images.clone(), splits.train.labels.clone()
        images[: len(self.labels)] = images[0].clone()
        labels[: len(self.labels)] = torch.tensor(self.labels)
        return replace(splits, train=replace(splits.train, images=images, labels=labels))


def of_ten_labels(_: Path) -> DataSet:
    return Repeated(labels=tuple(range(10)) * 30)


def of_two_labels(_: Path) -> DataSet:
    return Repeated(labels=(3, 8, 3))


class Blank(Digits):
    """The digits with training images of one value."""

    kind: Any = "blank"

    def load(self, device: str | torch.device) -> DataSplits:
        splits = super().load(device)
        images = splits.train.images.clone()
        images[2:98] = 0
        return replace(splits, train=replace(splits.train, images=images))


def test_blank_images_are_called_so_and_not_one_image_of_several_labels() -> None:
    assert notes_of(Blank()) == (
        "96 images of the training split of data 'blank' are blank, under several labels: each of "
        "their pixels is 0, first in image 2 and image 3. Remove them, or mend what wrote or read "
        "them."
    )


def folder_with_a_picture_in_two_classes(folder: Path) -> DataSet:
    for split, first in (("train", 0), ("test", 5000)):
        write_classes(folder / split, ["cat", "dog"], 6, first=first)
    copied = (folder / "train/cat/002.png").read_bytes()
    (folder / "train/dog/100.png").write_bytes(copied)
    return ImageFolder(folder, size=8)


def folder_with_a_picture_in_two_formats(folder: Path) -> DataSet:
    for split, first in (("train", 0), ("test", 5000)):
        write_classes(folder / split, ["cat", "dog"], 6, first=first)
    with Image.open(folder / "test/cat/001.png") as picture:
        picture.save(folder / "test/dog/other.bmp")
    return ImageFolder(folder, size=8)


def arrays_with_images_twice(folder: Path) -> DataSet:
    images, labels = noise(0, 60, 6, 7), np.arange(60) % 3
    images[30:33] = images[1:4]
    test = noise(1, 9, 6, 7)
    path = folder / "mine.npz"
    np.savez(path, x_train=images, y_train=labels, x_test=test, y_test=np.arange(9) % 3)
    return Arrays(path, validation_fraction=0.01)


@pytest.mark.parametrize(
    ("data_in", "expected"),
    [
        (
            of_ten_labels,
            "1 image of the training split of data 'repeated' has several labels (300 "
            "copies, 10 labels): image 0 and image 1 are alike, under 0 and 1.",
        ),
        (
            of_two_labels,
            "1 image of the training split of data 'repeated' has several labels (3 "
            "copies, 2 labels): image 0 and image 1 are alike, under 3 and 8.",
        ),
        (
            folder_with_a_picture_in_two_classes,
            "1 image of the training split of data 'image_folder' has several labels (2 "
            "copies, 2 labels): 'train/cat/002.png' and 'train/dog/100.png' are alike, "
            "under cat and dog.",
        ),
        (
            folder_with_a_picture_in_two_formats,
            "1 image of the test split of data 'image_folder' has several labels (2 "
            "copies, 2 labels): 'test/cat/001.png' and 'test/dog/other.bmp' are alike, "
            "under cat and dog.",
        ),
        (arrays_with_images_twice, "3 images of the training split of data 'arrays' have several"),
    ],
)
def test_an_image_of_several_labels_is_noted(
    tmp_path: Path, data_in: Callable[[Path], DataSet], expected: str
) -> None:
    assert expected in notes_of(data_in(tmp_path))


def test_copies_of_one_label_are_not_noted() -> None:
    assert notes_of(Repeated(labels=(4,) * 20)) == ""


class Written(Digits):
    """The digits by so many writers, who are numbered anew in each split or not."""

    kind: Any = "written"
    first_of_test: int = 0

    def load(self, device: str | torch.device) -> DataSplits:
        splits = super().load(device)
        train, test = (
            replace(images, objects=first + torch.arange(len(images)) % 9)
            for images, first in ((splits.train, 0), (splits.test, self.first_of_test))
        )
        return replace(splits, train=train, test=test)


@pytest.mark.parametrize(("first", "shared"), [(0, 9), (5, 4), (9, 0)])
def test_objects_of_training_that_are_in_the_test_are_counted(first: int, shared: int) -> None:
    notes = notes_of(Written(first_of_test=first))
    counted = f"{shared} of the 9 numbers of objects in the test split of data 'written' are in the"
    assert (counted in notes) == bool(shared)
    assert ("numbers of objects" in notes) == bool(shared)
