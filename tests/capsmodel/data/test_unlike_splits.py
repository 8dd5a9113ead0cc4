"""Notes on a user's data where a split's pixels or classes are unlike those of training."""

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, Literal

import pytest
import torch

from capsmodel.data import DataSplits, Digits, Images, facts_of, load_checked

Change = Callable[[Images], Images]


def pixels(change: Callable[[torch.Tensor], torch.Tensor]) -> Change:
    """Return a change of a split's pixels."""
    return lambda split: replace(split, images=change(split.images))


def of_class(label: int) -> Change:
    """Return a choice of a split's images of one class."""
    return lambda split: split.take(torch.nonzero(split.labels == label).flatten())


class Changed(Digits):
    """The digits, one split of which is changed."""

    kind: Literal["changed"] = "changed"
    change: ClassVar[Change] = lambda split: split
    split_name: ClassVar[str] = "test"
    as_bytes: ClassVar[bool] = False

    def load(self, device: str | torch.device) -> DataSplits:
        splits = super().load(device)
        if self.as_bytes:
            splits = DataSplits(
                *(
                    replace(split, images=(split.images * 255).to(torch.uint8))
                    for split in (splits.train, splits.validation, splits.test)
                )
            )
        changed = type(self).change(getattr(splits, self.split_name))
        return replace(splits, **{self.split_name: changed})


UNLIKE = {
    "divided twice": ("test", False, pixels(lambda images: images / 255)),
    "inverted": ("test", False, pixels(lambda images: 1 - images)),
    "half as bright": ("test", False, pixels(lambda images: images / 2)),
    "on grey": ("validation", False, pixels(lambda images: 0.2 + 0.8 * images)),
    "bytes of 0 and 1": ("test", True, pixels(lambda images: (images > 127).to(torch.uint8))),
    "bytes of 0 to 16": ("validation", True, pixels(lambda images: images // 16)),
}


def notes(monkeypatch: pytest.MonkeyPatch, split: str, change: Change, *, as_bytes: bool) -> tuple:
    monkeypatch.setattr(Changed, "split_name", split)
    monkeypatch.setattr(Changed, "as_bytes", as_bytes)
    monkeypatch.setattr(Changed, "change", staticmethod(change))
    data = Changed()
    return facts_of(data, load_checked(data, "cpu")).notes


@pytest.mark.parametrize(("split", "as_bytes", "change"), UNLIKE.values(), ids=UNLIKE)
def test_pixels_unlike_those_of_training_are_noted(
    monkeypatch: pytest.MonkeyPatch, split: str, as_bytes: bool, change: Change
) -> None:
    (note,) = notes(monkeypatch, split, change, as_bytes=as_bytes)
    assert note.startswith(f"The pixels of the {split} split of data 'changed' are unlike ")
    assert " against " in note
    assert any(figure in note for figure in ("mean", "black", "largest", "smallest"))


@pytest.mark.parametrize("split", ["test", "validation"])
@pytest.mark.parametrize("label", [0, 7])
def test_a_split_of_one_class_is_noted(
    monkeypatch: pytest.MonkeyPatch, split: str, label: int
) -> None:
    (note,) = notes(monkeypatch, split, of_class(label), as_bytes=False)
    assert note.startswith(
        f"Only images of class {label} are in the {split} split of data 'changed', "
    )


@pytest.mark.parametrize("split_seed", range(3))
def test_splits_of_one_kind_give_no_note(split_seed: int) -> None:
    data = Changed(split_seed=split_seed)
    assert facts_of(data, load_checked(data, "cpu")).notes == ()


def test_a_test_that_is_unlike_training_by_design_gives_no_note(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Changed, "shifted_test", True, raising=False)
    _, _, inverted = UNLIKE["inverted"]
    assert notes(monkeypatch, "test", inverted, as_bytes=False) == ()
    (note,) = notes(monkeypatch, "validation", inverted, as_bytes=False)
    assert "share of black 0.0" in note


def test_few_images_give_no_note(monkeypatch: pytest.MonkeyPatch) -> None:
    few: Change = lambda split: Images(split.images[:19] / 255, split.labels[:19])  # noqa: E731
    found = notes(monkeypatch, "test", few, as_bytes=False)
    assert not [note for note in found if "pixels" in note]


def test_shifted_test_is_a_truth_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Changed, "shifted_test", "other objects", raising=False)
    sentence = "shifted_test of data 'changed' must be True, False or None, got 'other objects'."
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        load_checked(Changed(), "cpu")
