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


@pytest.mark.xfail(strict=True, reason="the pixels of splits are not compared yet")
@pytest.mark.parametrize(("split", "as_bytes", "change"), UNLIKE.values(), ids=UNLIKE)
def test_pixels_unlike_those_of_training_are_noted(
    monkeypatch: pytest.MonkeyPatch, split: str, as_bytes: bool, change: Change
) -> None:
    (note,) = notes(monkeypatch, split, change, as_bytes=as_bytes)
    assert note.startswith(f"The pixels of the {split} split of data 'changed' are unlike ")
    assert " against " in note
    assert any(figure in note for figure in ("mean", "black", "largest", "smallest"))


@pytest.mark.xfail(strict=True, reason="a split of one class is not called so yet")
@pytest.mark.parametrize("split", ["test", "validation"])
@pytest.mark.parametrize("label", [0, 7])
def test_a_split_of_one_class_is_noted(
    monkeypatch: pytest.MonkeyPatch, split: str, label: int
) -> None:
    (note,) = notes(monkeypatch, split, of_class(label), as_bytes=False)
    assert f"images of the {split} split of data 'changed' are of class {label}: " in note


@pytest.mark.parametrize("split_seed", range(3))
def test_splits_of_one_kind_give_no_note(split_seed: int) -> None:
    data = Changed(split_seed=split_seed)
    assert facts_of(data, load_checked(data, "cpu")).notes == ()
