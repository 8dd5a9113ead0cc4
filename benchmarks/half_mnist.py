r"""Write MNIST at half resolution: 5,000 training, 1,000 validation and all 10,000 test images.

    python benchmarks/half_mnist.py half_mnist.npz

Each pixel is the mean of 2 by 2, rounded. The training and validation images are drawn from the
60,000 with a fixed seed. A sweep takes the file as `Arrays("half_mnist.npz")`.
"""

import argparse
from pathlib import Path

import numpy as np

from capsmodel.data import Mnist

NUM_TRAINING, NUM_VALIDATION = 5_000, 1_000


def halved(images: np.ndarray) -> np.ndarray:
    """Return byte images [images, 28, 28] as means of 2 by 2 pixels, rounded."""
    means = images.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4))
    return np.floor(means + 0.5).astype(np.uint8)


def write(path: Path) -> None:
    """Write the file."""
    data = Mnist()
    pixels, labels = data.read("train")
    test_pixels, test_labels = data.read("test")
    images = halved(pixels)
    drawn = np.random.default_rng(0).permutation(len(images))[: NUM_TRAINING + NUM_VALIDATION]
    training, validation = drawn[:NUM_TRAINING], drawn[NUM_TRAINING:]
    np.savez_compressed(
        path,
        x_train=images[training],
        y_train=labels[training],
        x_val=images[validation],
        y_val=labels[validation],
        x_test=halved(test_pixels),
        y_test=test_labels,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    write(parser.parse_args().path)
