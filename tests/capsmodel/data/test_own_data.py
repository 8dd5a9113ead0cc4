"""Ways in which a user's own data can be wrong: where each is found, and the sentence."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
import torch

from capsmodel.data import DataSet, DataSplits, Images, facts_of, load_checked

PER_CLASS = 4


def split(first: int) -> Images:
    """Return twelve different images of three classes."""
    num = 3 * PER_CLASS
    images = torch.arange(first, first + num).float().view(num, 1, 1, 1) / 1000
    return Images(images.repeat(1, 1, 4, 5), torch.arange(num) % 3)


GOOD = DataSplits(
    train=split(0),
    validation=split(100),
    test=split(200),
    extra_tests={"moved": split(300)},
)


class Mine(DataSet):
    kind: Literal["mine"] = "mine"
    image_shape: ClassVar[Any] = (1, 4, 5)
    num_classes: ClassVar[Any] = 3
    loaded: ClassVar[Any] = GOOD

    def load(self, device: str | torch.device) -> DataSplits:
        return self.loaded


Change = Callable[[DataSplits], Any]


def images(name: str, change: Callable[[Any], Any]) -> Change:
    """Return a change of the images of a split."""

    def changed(splits: DataSplits) -> DataSplits:
        split = getattr(splits, name)
        return replace(splits, **{name: replace(split, images=change(split.images.clone()))})

    return changed


def labels(name: str, change: Callable[[Any], Any]) -> Change:
    """Return a change of the labels of a split."""

    def changed(splits: DataSplits) -> DataSplits:
        split = getattr(splits, name)
        return replace(splits, **{name: replace(split, labels=change(split.labels.clone()))})

    return changed


def objects(name: str, value: Any) -> Change:
    """Return a change that gives a split these objects."""
    return lambda splits: replace(splits, **{name: replace(getattr(splits, name), objects=value)})


def pixel(image: int, value: float) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return a change of the last pixel of an image."""

    def changed(images: torch.Tensor) -> torch.Tensor:
        images[image, 0, 3, 4] = value
        return images

    return changed


def label(image: int, value: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return a change of the label of an image."""

    def changed(labels: torch.Tensor) -> torch.Tensor:
        labels[image] = value
        return labels

    return changed


def extra(change: Callable[[Images], Any]) -> Change:
    """Return a change of the extra test."""
    return lambda splits: replace(splits, extra_tests={"moved": change(split(300))})


TRAIN = "the training split of data 'mine'"
TEST = "the test split of data 'mine'"
WRONG: dict[str, tuple[Change, str]] = {
    "a tuple of splits": (
        lambda splits: (splits.train, splits.validation, splits.test),
        "load() of data 'mine' must return DataSplits, got tuple: return DataSplits(train=..., "
        "validation=..., test=...).",
    ),
    "nothing": (lambda _: None, "load() of data 'mine' must return DataSplits, got NoneType"),
    "a split that is a tuple": (
        lambda splits: replace(splits, train=(splits.train.images, splits.train.labels)),
        "The training split of data 'mine' must be Images, got tuple.",
    ),
    "files of few images": (
        lambda splits: replace(splits, test=replace(splits.test, files=("one.png",))),
        f"The files of {TEST} must be a tuple of 12 texts, one for each image, or (), got "
        "('one.png',).",
    ),
    "a split that is missing": (
        lambda splits: replace(splits, validation=None),
        "The validation split of data 'mine' must be Images, got NoneType.",
    ),
    "a list of extra tests": (
        lambda splits: replace(splits, extra_tests=[split(300)]),
        "extra_tests of data 'mine' must map names to Images, got list.",
    ),
    "an extra test with the name of a split": (
        lambda splits: replace(splits, extra_tests={"test": split(300)}),
        "An extra test of data 'mine' cannot be called 'test', the name of a split: choose another "
        "name.",
    ),
    "an extra test that is a tensor": (
        extra(lambda split: split.images),
        "The extra test 'moved' of data 'mine' must be Images, got Tensor.",
    ),
    "images of numpy": (
        images("train", torch.Tensor.numpy),
        f"The images of {TRAIN} must be a tensor, got ndarray: hand torch.as_tensor(...).",
    ),
    "labels of numpy": (
        labels("train", torch.Tensor.numpy),
        f"The labels of {TRAIN} must be a tensor, got ndarray",
    ),
    "a list of labels": (
        labels("test", lambda targets: targets.tolist()),
        f"The labels of {TEST} must be a tensor, got list",
    ),
    "objects of numpy": (
        objects("train", np.arange(12)),
        f"The objects of {TRAIN} must be a tensor, got ndarray",
    ),
    "images of float64": (
        images("train", lambda pixels: pixels.double()),
        f"The images of {TRAIN} must be float32 in [0, 1] or uint8, got float64: hand "
        "images.float().",
    ),
    "images of half precision": (
        images("test", lambda pixels: pixels.half()),
        f"The images of {TEST} must be float32 in [0, 1] or uint8, got float16",
    ),
    "images of integers": (
        images("train", lambda pixels: pixels.long()),
        f"The images of {TRAIN} must be float32 in [0, 1] or uint8, got int64: hand uint8, or "
        "float32 in [0, 1].",
    ),
    "images of booleans": (
        images("train", lambda pixels: pixels > 0),
        f"The images of {TRAIN} must be float32 in [0, 1] or uint8, got bool",
    ),
    "no axis of channels": (
        images("train", lambda pixels: pixels[:, 0]),
        f"The images of {TRAIN} must be of shape [images, 1, 4, 5], as image_shape declares, got "
        "[12, 4, 5]: correct the one or the other.",
    ),
    "height and width the other way": (
        images("train", lambda pixels: pixels.transpose(2, 3)),
        "must be of shape [images, 1, 4, 5], as image_shape declares, got [12, 1, 5, 4]",
    ),
    "channels last": (
        images("validation", lambda pixels: pixels.permute(0, 2, 3, 1)),
        "must be of shape [images, 1, 4, 5], as image_shape declares, got [12, 4, 5, 1]",
    ),
    "three channels for one": (
        images("test", lambda pixels: pixels.repeat(1, 3, 1, 1)),
        f"The images of {TEST} must be of shape [images, 1, 4, 5]",
    ),
    "flat images": (
        images("train", lambda pixels: pixels.flatten(1)),
        "must be of shape [images, 1, 4, 5], as image_shape declares, got [12, 20]",
    ),
    "an empty split": (
        lambda splits: replace(splits, test=Images(splits.test.images[:0], splits.test.labels[:0])),
        f"There is no image in {TEST}: each split needs at least one.",
    ),
    "fewer labels than images": (
        labels("train", lambda targets: targets[:-1]),
        f"There are 12 images, but 11 labels in {TRAIN}: hand one for each image.",
    ),
    "more labels than images": (
        labels("test", lambda targets: targets.repeat(2)),
        f"There are 12 images, but 24 labels in {TEST}",
    ),
    "fewer objects than images": (
        objects("train", torch.arange(3)),
        f"There are 12 images, but 3 objects in {TRAIN}",
    ),
    "objects that are numbers": (
        objects("test", torch.rand(12)),
        f"The objects of {TEST} must be one whole number an image, got float32 of shape [12].",
    ),
    "objects of two numbers each": (
        objects("train", torch.zeros(12, 2, dtype=torch.int64)),
        f"The objects of {TRAIN} must be one whole number an image, got int64 of shape [12, 2].",
    ),
    "labels of numbers": (
        labels("train", lambda targets: targets.float()),
        f"In {TRAIN}: Labels are one integer an image, of shape [batch], got torch.float32",
    ),
    "labels of booleans": (
        labels("train", lambda targets: targets > 0),
        f"In {TRAIN}: Labels are one integer an image, of shape [batch], got torch.bool",
    ),
    "one-hot labels": (
        labels("train", torch.nn.functional.one_hot),
        f"In {TRAIN}: Labels are one integer an image, of shape [batch], got torch.int64 of shape "
        "[12, 3]. If they are one-hot, hand labels.argmax(dim=1)",
    ),
    "labels in a column": (
        labels("train", lambda targets: targets.unsqueeze(1)),
        "got torch.int64 of shape [12, 1]",
    ),
    "labels from one": (
        labels("train", lambda targets: targets + 1),
        f"The label of image 2 of {TRAIN} is 3, which is no class: with 3 classes, labels are 0 "
        "to 2.",
    ),
    "a label below zero": (
        labels("validation", label(7, -1)),
        "The label of image 7 of the validation split of data 'mine' is -1, which is no class",
    ),
    "a wrong label of an extra test": (
        extra(lambda split: replace(split, labels=split.labels + 3)),
        "The label of image 0 of the extra test 'moved' of data 'mine' is 3, which is no class",
    ),
    "images of 0 to 255": (
        images("train", lambda pixels: (pixels * 1000).round() * 10),
        f"Image 1 of {TRAIN} has a pixel of 10, and pixels are numbers in [0, 1]: the split has 0 "
        "to 110; scale it to [0, 1], or hand the grey values 0 to 255 as uint8.",
    ),
    "images of -1 to 1": (
        images("train", lambda pixels: pixels - 0.005),
        f"Image 0 of {TRAIN} has a pixel of -0.005, and pixels are numbers in [0, 1]: the split "
        "has -0.005 to 0.006; scale it to [0, 1].",
    ),
    "a pixel that is too large": (
        images("test", pixel(5, 1.25)),
        f"Image 5 of {TEST} has a pixel of 1.25",
    ),
    "a pixel that is no number": (
        images("train", pixel(9, float("nan"))),
        f"Image 9 of {TRAIN} has a pixel of nan, and pixels are numbers in [0, 1]: remove or "
        "repair the image.",
    ),
    "an infinite pixel": (
        images("validation", pixel(3, float("inf"))),
        "Image 3 of the validation split of data 'mine' has a pixel of inf",
    ),
    "a class without a training image": (
        labels("train", lambda targets: targets.clamp(max=1)),
        f"No image of class 2 is in {TRAIN}, which declares 3 classes: all that there are of it "
        "are held out in other splits, so add training images.",
    ),
    "test images of the training split": (
        lambda splits: replace(splits, test=splits.train),
        f"12 images occur in both {TRAIN} and {TEST} (100 % of the smaller), first image 0 of "
        "the one and 0 of the other: an error on images that were used before says nothing.",
    ),
    "one test image that was trained on": (
        images("test", lambda pixels: torch.cat([pixels[:8], split(5).images[:1], pixels[9:]])),
        f"1 image occurs in both {TRAIN} and {TEST} (8.33 % of the smaller), image 5 of the one "
        "and 8 of the other",
    ),
    "validation images of the test split": (
        lambda splits: replace(splits, validation=splits.test),
        "12 images occur in both the validation split of data 'mine' and",
    ),
    "an extra test of training images": (
        lambda splits: replace(splits, extra_tests={"moved": splits.train}),
        f"12 images occur in both {TRAIN} and the extra test 'moved' of data 'mine'",
    ),
}


@pytest.mark.parametrize(("change", "sentence"), WRONG.values(), ids=WRONG)
@pytest.mark.usefixtures("unchecked")
def test_data_that_are_wrong_are_refused_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, change: Change, sentence: str
) -> None:
    monkeypatch.setattr(Mine, "loaded", change(GOOD))
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the sentence is looked at
        facts_of(Mine(), load_checked(Mine(), "cpu"))
    assert str(refused.value).startswith(sentence) or sentence in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("image_shape", (4, 5), "must be channels, height and width, a tuple of three whole"),
        ("image_shape", [1, 4, 5], "got [1, 4, 5]"),
        ("image_shape", (1, 4, 0), "got (1, 4, 0)"),
        ("num_classes", 1, "num_classes of data 'mine' must be a whole number from 2, got 1."),
        ("num_classes", 3.0, "got 3.0"),
    ],
)
def test_a_declaration_that_is_wrong_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, value: object, sentence: str
) -> None:
    monkeypatch.setattr(Mine, name, value)
    with pytest.raises(ValueError, match=f"{name} of data 'mine'") as refused:
        load_checked(Mine(), "cpu")
    assert sentence in str(refused.value)


def test_data_that_are_right_are_counted() -> None:
    facts = facts_of(Mine(), load_checked(Mine(), "cpu"))
    assert facts.num_images == {"training": 12, "validation": 12, "test": 12, "moved": 12}
    assert facts.notes == ()


def test_a_class_that_only_the_test_split_lacks_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mine, "loaded", labels("test", lambda targets: targets.clamp(max=1))(GOOD))
    facts = facts_of(Mine(), load_checked(Mine(), "cpu"))
    assert facts.notes == (f"No image of class 2 is in {TEST}.",)


def test_shared_images_that_are_known_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mine, "loaded", replace(GOOD, test=GOOD.train))
    monkeypatch.setattr(Mine, "shared_images", "known: section 2 of the paper")
    (note,) = facts_of(Mine(), load_checked(Mine(), "cpu")).notes
    assert note.startswith(f"12 images occur in both {TRAIN} and {TEST}")
    assert note.endswith("(known: section 2 of the paper).")


@pytest.mark.parametrize(
    ("num_shared", "text"),
    [
        (1, "1 image occurs in both {} and {} (0.05 % of the smaller), image 7 of the one and"),
        (
            2,
            "2 images occur in both {} and {} (0.1 % of the smaller), first image 7 of the one and",
        ),
    ],
)
def test_few_shared_images_of_many_are_noted(
    monkeypatch: pytest.MonkeyPatch, num_shared: int, text: str
) -> None:
    many = torch.rand(2000, 1, 4, 5, generator=torch.Generator().manual_seed(0))
    others = torch.cat([torch.rand(2000 - num_shared, 1, 4, 5), many[7 : 7 + num_shared]])
    classes = torch.arange(2000) % 3
    splits = replace(GOOD, train=Images(many, classes), test=Images(others, classes))
    monkeypatch.setattr(Mine, "loaded", splits)
    (note,) = facts_of(Mine(), load_checked(Mine(), "cpu")).notes
    assert note == f"{text.format(TRAIN, TEST)} {2000 - num_shared} of the other."


CHANGES: dict[str, Change] = {
    "a pixel": images("train", pixel(0, 0.5)),
    "labels exchanged": labels("train", lambda targets: targets.flip(0)),
    "a label of the test split": labels("test", label(0, 1)),
    "the order of images": lambda splits: replace(
        splits, validation=splits.validation.take(slice(None, None)).take(torch.arange(11, -1, -1))
    ),
    "objects": objects("train", torch.arange(12)),
    "no extra test": lambda splits: replace(splits, extra_tests={}),
    "another name": lambda splits: replace(splits, extra_tests={"other": split(300)}),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_whatever_changes_in_the_data_changes_their_fingerprint(
    monkeypatch: pytest.MonkeyPatch, change: Change
) -> None:
    before = facts_of(Mine(), GOOD).fingerprint
    assert facts_of(Mine(), replace(GOOD)).fingerprint == before
    assert facts_of(Mine(), change(GOOD)).fingerprint != before


def test_a_train_fraction_of_data_that_do_not_look_at_it_is_taken_all_the_same() -> None:
    third = load_checked(Mine(train_fraction=0.34), "cpu")
    assert third.train.labels.tolist().count(0) == 1
    assert len(third.train) == 3
    assert torch.equal(third.test.images, GOOD.test.images)
    with pytest.raises(ValueError, match="leaves no training image of class 0, which"):
        load_checked(Mine(train_fraction=0.1), "cpu")


class Anew(Images):
    """Training images that are made in each epoch."""


def test_a_train_fraction_of_images_made_anew_is_theirs_to_look_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    anew = Anew(GOOD.train.images, GOOD.train.labels)
    monkeypatch.setattr(Mine, "loaded", replace(GOOD, train=anew))
    with pytest.raises(ValueError, match="do not look at train_fraction where they make their tra"):
        load_checked(Mine(train_fraction=0.5), "cpu")
