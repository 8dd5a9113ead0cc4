"""The labels of each split are checked once, when they are loaded."""

import re
from dataclasses import replace
from typing import Any, ClassVar, Literal

import pytest
import torch

from capsmodel import Training
from capsmodel.data import DataSplits, Digits, load_checked
from tests.capsmodel.small_config import small_config

SPLITS = {
    "train": "the training split",
    "validation": "the validation split",
    "test": "the test split",
    "more": "the extra test 'more'",
}


class FromOne(Digits):
    """The digits with labels from 1 to 10 in one split."""

    kind: Literal["from_one"] = "from_one"
    where: str = "train"
    dtype: str = "int64"

    def load(self, device: str | torch.device) -> DataSplits:
        splits = replace(super().load(device), extra_tests={"more": super().load(device).test})
        changed: dict[str, Any] = {}
        for name in ("train", "validation", "test"):
            images = getattr(splits, name)
            labels = (images.labels + (name == self.where)).to(getattr(torch, self.dtype))
            changed[name] = replace(images, labels=labels)
        more = splits.extra_tests["more"]
        extra = {"more": replace(more, labels=more.labels + (self.where == "more"))}
        return DataSplits(**changed, extra_tests=extra)


class FiveClasses(Digits):
    num_classes: ClassVar[int] = 5


@pytest.mark.parametrize(("where", "place"), SPLITS.items())
def test_a_label_that_is_no_class_is_named_in_every_split(where: str, place: str) -> None:
    sentence = (
        rf"^The label of image \d+ of {place} of data 'from_one' is 10, which is no class: with 10 "
        "classes, labels are 0 to 9. Number the classes from 0, or set the number of classes to "
        "that of the labels.$"
    )
    with pytest.raises(ValueError, match=sentence):
        load_checked(FromOne(where=where), "cpu")


def test_a_training_of_labels_that_are_no_classes_does_not_begin() -> None:
    with pytest.raises(ValueError, match="is 10, which is no class"):
        Training(small_config(data=FromOne()), seed=0)


def test_more_classes_in_the_labels_than_the_data_set_has_are_refused() -> None:
    labels = Digits().load("cpu").train.labels
    first = int((labels >= 5).nonzero()[0])
    sentence = f"image {first} of the training split of data 'digits' is {labels[first]}, which"
    with pytest.raises(ValueError, match=sentence):
        Training(small_config(data=FiveClasses()), seed=0)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "uint16"])
def test_labels_of_other_integers_become_those_of_64_bits(dtype: str) -> None:
    labels = load_checked(FromOne(where="none", dtype=dtype), "cpu").train.labels
    assert labels.dtype == torch.int64
    assert torch.equal(labels, FromOne(where="none").load("cpu").train.labels)


@pytest.mark.usefixtures("unchecked")
def test_labels_of_another_type_are_refused_with_their_split() -> None:
    sentence = "In the training split of data 'from_one': Labels are one integer an image, of shape"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        load_checked(FromOne(dtype="float32"), "cpu")


def test_labels_without_values_are_left_alone() -> None:
    assert load_checked(FromOne(), "meta").train.labels.is_meta
