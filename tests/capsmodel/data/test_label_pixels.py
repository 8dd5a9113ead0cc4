"""A label that was written into a pixel of each image is noted, and nothing else is."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from capsmodel.data import DataSplits, Digits, Images, facts_of, load_checked
from capsmodel.data.label_pixels import label_pixels


class Marked(Digits):
    """The digits with their labels in some pixels."""

    kind: Any = "marked"
    pixels: tuple[int, ...] = ()
    except_image: int = -1

    def load(self, device: str | torch.device) -> DataSplits:
        splits = super().load(device)
        return replace(splits, train=self._marked(splits.train), test=self._marked(splits.test))

    def _marked(self, split: Images) -> Images:
        images = split.images.clone()
        for pixel in self.pixels:
            images[:, 0, pixel // 8, pixel % 8] = split.labels / 20
        images[self.except_image, 0, 0, 0] += 0.01 * (self.except_image >= 0)
        return replace(split, images=images)


def notes(data: Marked) -> list[str]:
    facts = facts_of(data, load_checked(data, "cpu"))
    return [note for note in facts.notes if "alone tells the class" in note]


@pytest.mark.parametrize(
    ("pixels", "start"),
    [
        ((0,), "The pixel in row 0, column 0 of channel 0 alone tells the class"),
        ((20, 31), "Each of 2 pixels, the first in row 2, column 4 of channel 0, alone tells"),
    ],
)
def test_a_pixel_that_tells_the_class_is_noted(pixels: tuple[int, ...], start: str) -> None:
    (note,) = notes(Marked(pixels=pixels))
    assert note.startswith(start)


def test_a_single_image_that_differs_is_enough_for_no_note() -> None:
    assert notes(Marked(pixels=(0,), except_image=300)) == []


def test_plain_images_black_ones_and_few_have_no_note() -> None:
    assert notes(Marked()) == []
    black = Images(torch.zeros(30, 1, 4, 4), torch.arange(30) % 3)
    assert not len(label_pixels(black, 3))
    few = Images(
        torch.tensor([0.0, 0, 0, 0, 1, 1]).view(6, 1, 1, 1), torch.tensor([0] * 4 + [1] * 2)
    )
    assert not len(label_pixels(few, 2))


def test_images_are_ruled_out_beyond_the_first_that_are_tried() -> None:
    images = Images((torch.arange(5000) % 2).float().view(-1, 1, 1, 1), torch.arange(5000) % 2)
    assert label_pixels(images, 2).tolist() == [[0, 0, 0]]
    images.images[1] = 0.5
    assert not len(label_pixels(images, 2))
