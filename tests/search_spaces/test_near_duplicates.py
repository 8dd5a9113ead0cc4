"""Copies of images of one split in another are noted, however they were changed on the way."""

import io
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from capsmodel.data import DataSplits, Digits, Images, load_checked
from search_spaces.data_fingerprint import check_unchanged, facts_of_own_data, forget_loaded_data

NUM_COPIES = 60


def saved_again(file_format: str, quality: int) -> Callable[[Tensor], Tensor]:
    """Return a change that writes each image to a file of pictures and reads it back."""

    def change(images: Tensor) -> Tensor:
        read = []
        for image in (images * 255).round().byte().numpy():
            file = io.BytesIO()
            Image.fromarray(image[0]).save(file, file_format, quality=quality)
            read.append(np.asarray(Image.open(file).convert("L")))
        return torch.from_numpy(np.stack(read))[:, None].float() / 255

    return change


def noisy(deviation: float) -> Callable[[Tensor], Tensor]:
    """Return a change that adds noise to each pixel."""
    generator = torch.Generator().manual_seed(0)
    return lambda images: (
        images + deviation * torch.randn(images.shape, generator=generator)
    ).clamp(0, 1)


def mirrored(images: Tensor) -> Tensor:
    return images.flip(-1)


CHANGES: dict[str, Callable[[Tensor], Tensor]] = {
    "JPEG of quality 75": saved_again("JPEG", 75),
    "noise of 2/255": noisy(2 / 255),
    "mirrored": mirrored,
    "noise of 1e-6": noisy(1e-6),
    "WebP of quality 80": saved_again("WEBP", 80),
    "mirrored, then JPEG": lambda images: saved_again("JPEG", 75)(mirrored(images)),
    "darker": lambda images: 0.9 * images,
}
PLACES = ("validation", "test", "more")


class Copied(Digits):
    """The digits, with changed copies of training images in another split."""

    kind: Any = "copied"
    change: str = ""
    place: str = "test"

    def load(self, device: str | torch.device) -> DataSplits:
        splits = super().load(device)
        splits = replace(splits, extra_tests={"more": splits.test.take(slice(180, None))})
        splits = replace(splits, test=splits.test.take(slice(180)))
        if not self.change:
            return splits
        originals = splits.train.take(torch.arange(NUM_COPIES) * 20)
        copies = Images(CHANGES[self.change](originals.images), originals.labels)
        if self.place == "more":
            return replace(splits, extra_tests={"more": joined(copies, splits.extra_tests["more"])})
        return replace(splits, **{self.place: joined(copies, getattr(splits, self.place))})


def joined(copies: Images, others: Images) -> Images:
    """Return copies, then the other images."""
    return Images(
        torch.cat([copies.images, others.images]), torch.cat([copies.labels, others.labels])
    )


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    forget_loaded_data()


@pytest.mark.parametrize(
    ("change", "place"),
    [*((change, "test") for change in CHANGES), *(("JPEG of quality 75", p) for p in PLACES[::2])],
)
def test_changed_copies_of_training_images_are_noted(change: str, place: str) -> None:
    notes = facts_of_own_data(Copied(change=change, place=place)).notes
    (note,) = (note for note in notes if "near-duplicate" in note)
    split = "the extra test 'more'" if place == "more" else f"the {place} split"
    counted = re.match(
        rf"(\d+) images of {split} of data 'copied' are near-duplicates of images in the "
        "training split",
        note,
    )
    assert counted
    assert 0.95 * NUM_COPIES <= int(counted[1]) <= NUM_COPIES
    assert "first image 0 and image 0, image 1 and image 20, image 2 and image 40" in note


def test_a_trial_of_any_share_records_the_notes_of_the_launch() -> None:
    data = Copied(change="darker", place="test")
    notes = facts_of_own_data(data).notes
    for trained_on in (data, data.model_copy(update={"train_fraction": 0.5})):
        splits = load_checked(trained_on, "cpu")
        assert check_unchanged(trained_on, splits, "").notes == notes


def test_data_without_copies_have_no_note() -> None:
    assert facts_of_own_data(Copied()).notes == ()
