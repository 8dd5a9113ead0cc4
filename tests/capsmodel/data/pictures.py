"""Folders of pictures for tests."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image


def noise(number: int, *shape: int) -> np.ndarray:
    """Return grey values that no other number has."""
    return np.random.default_rng(number).integers(0, 256, shape, dtype=np.uint8)


def write_classes(
    folder: Path, classes: Sequence[str], each: int, *, first: int = 0, side: int = 8
) -> None:
    """Write grey pictures of each class, each class a folder."""
    for place, name in enumerate(classes):
        (folder / name).mkdir(parents=True)
        for number in range(each):
            values = noise(first + 1000 * place + number, side, side) // 4
            values[place : place + 3] += 150  # what the class shows
            Image.fromarray(values).save(folder / name / f"{number:03}.png")
