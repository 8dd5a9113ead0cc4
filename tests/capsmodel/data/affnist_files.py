"""Small files in affNIST's format, of the digits that `idx_files` has in MNIST's."""

import gzip
from pathlib import Path
from typing import ClassVar

import numpy as np
from scipy.io import savemat

from capsmodel.data import AffNist, Mnist
from tests.capsmodel.data.idx_files import CONTENTS, SmallMnist, write_files


class FewDigits(AffNist):
    """With MNIST's files as small as those of affNIST."""

    digits: ClassVar[type[Mnist]] = SmallMnist


def digits(images: str) -> np.ndarray:
    """Return the digits of MNIST's files with 6 pixels of black on each side."""
    content = gzip.decompress(CONTENTS[f"{images}-images-idx3-ubyte.gz"])
    pixels = np.frombuffer(content, np.uint8, offset=16).reshape(-1, 28, 28)
    return np.pad(pixels, [(0, 0), (6, 6), (6, 6)])


def struct(pixels: np.ndarray) -> dict[str, np.ndarray]:
    """Return images as affNIST stores them: one per column, row after row."""
    labels = np.arange(len(pixels), dtype=np.uint8) % 10
    return {
        "vec": np.zeros((6, len(pixels))),
        "rel_vec": np.zeros((6, len(pixels))),
        "image": pixels.reshape(len(pixels), -1).T,
        "human_readable_transform": np.zeros((6, len(pixels))),
        "label_one_of_n": np.eye(10, dtype=np.uint8)[labels].T,
        "label_int": labels[None],
    }


def write_struct(path: Path, values: dict[str, np.ndarray]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    savemat(path, {"affNISTdata": values}, do_compression=True)


def mapped(images: str, number: int) -> np.ndarray:
    """Return each digit moved as no other file moves it."""
    return np.roll(digits(images), (number, -number), axis=(1, 2))


def write_affnist(root: Path, num_files: int = 2) -> Path:
    """Write both sets of files below a data root; return affNIST's folder."""
    write_files(root / "MNIST" / "raw")
    folder = root / "affNIST" / "raw"
    for images, name in (("train", "training_and_validation"), ("t10k", "test")):
        write_struct(folder / "just_centered" / f"{name}.mat", struct(digits(images)))
        batches = folder / "transformed" / f"{name}_batches"
        for number in range(1, num_files + 1):
            write_struct(batches / f"{number}.mat", struct(mapped(images, number)))
    return folder
