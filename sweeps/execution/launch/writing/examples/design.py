"""Does sharper routing, another loss or no decoder change the errors on my images?

    capsweep plan my_sweep.py    # what a run would do
    capsweep run my_sweep.py     # train, record, make tables; killed, it goes on

Change what you like, delete what you do not need. `capsweep parts` lists all parts
with their imports, `capsweep parts capsnet` the settings of one.
"""

from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
from capsmodel import TrainingConfig
from capsmodel.data import DataSet, DataSplits, Images
from capsmodel.functional import squash
from capsmodel.losses import Loss
from capsmodel.models import CapsNet
from capsmodel.optimisers import Adam
from capsmodel.reconstruction import FullyConnectedDecoder
from capsmodel.routing import VectorRouting
from capsmodel.stopping import FixedEpochs
from pydantic import Field
from search_spaces import ListedArms, Sweep
from sklearn.datasets import load_digits
from torch import Tensor

NUM_TEST = 360


# --- Data of your own: arrays. For a built-in data set write data="mnist" in the base, for a
#     folder of pictures data=ImageFolder("photos/", size=32), from capsmodel.data.


def arrays() -> tuple[np.ndarray, np.ndarray]:
    """Return images [images, channels, height, width] in [0, 1], and their classes.

    Yours may come from np.load("/data/mine.npz"): a path that every machine has.
    """
    pixels, labels = load_digits(return_X_y=True)
    images = np.asarray(pixels, dtype=np.float32).reshape(-1, 1, 8, 8) / 16
    return images, np.asarray(labels, dtype=np.int64)


class MyImages(DataSet):
    """Small images of handwritten digits."""

    kind: Literal["my_images"] = "my_images"
    image_shape: ClassVar[tuple[int, int, int]] = (1, 8, 8)
    num_classes: ClassVar[int] = 10

    def load(self, device: str | torch.device) -> DataSplits:
        """Return the splits; the last images are the test's, and stay so."""
        images, labels = arrays()
        split = self.split(labels[:-NUM_TEST].tolist(), labels[-NUM_TEST:].tolist())
        first_test = len(labels) - NUM_TEST

        def some(indices: list[int]) -> Images:
            """Return some of the images on the device."""
            pixels = torch.from_numpy(images[indices])
            classes = torch.from_numpy(labels[indices])
            return Images(pixels.to(device), classes.to(device))

        return DataSplits(
            train=some(split.train),
            validation=some(split.validation),
            test=some([first_test + index for index in split.test]),
        )


# --- A routing of your own: a pure function of votes. Its settings can vary too.


class SharpenedRouting(VectorRouting):
    """Routing by agreement whose softmax is made sharper."""

    kind: Literal["sharpened"] = "sharpened"
    iterations: Annotated[int, Field(ge=1)] = 3
    sharpness: Annotated[float, Field(gt=0)] = 2.0

    def route(self, votes: Tensor, *, generator: torch.Generator | None) -> Tensor:
        """Turn votes [batch, in_caps, out_caps, pose] into poses [batch, out_caps, pose]."""
        logits = votes.new_zeros(votes.shape[:-1])
        poses = votes.mean(dim=1)
        for _ in range(self.iterations):
            couplings = torch.softmax(self.sharpness * logits, dim=2)  # over outputs
            poses = squash(torch.einsum("bio,biop->bop", couplings, votes))
            logits = logits + torch.einsum("biop,bop->bio", votes, poses)
        return poses


# --- A loss of your own, of the capsules' lengths: how much the network believes in
#     each class, from 0 to 1. `progress` goes from 0 to 1 over the training.


class SquaredError(Loss):
    """Lengths should be 1 for the true class and 0 for every other."""

    kind: Literal["squared_error"] = "squared_error"

    def loss(self, lengths: Tensor, labels: Tensor, progress: float) -> Tensor:
        """Return the mean over images of the sum of squares over classes."""
        truth = torch.nn.functional.one_hot(labels, lengths.shape[1])
        return ((lengths - truth) ** 2).sum(dim=1).mean()


# --- The base: what all arms have in common. Settings left out have their defaults; a
#     part is an object, or its kind alone.

BASE = TrainingConfig(
    data=MyImages(),
    augmentation="none",
    model=CapsNet(
        conv_channels=64,
        conv_kernel=3,
        conv_padding=1,
        primary_types=8,
        primary_dim=8,
        primary_kernel=3,
        primary_stride=2,
        reconstruction=FullyConnectedDecoder(hidden=(128,)),
    ),
    loss="margin",
    optimiser=Adam(learning_rate=3e-3),
    stopping=FixedEpochs(epochs=8),
    batch_size=32,
)


# --- The sweep: each arm says what it changes of the base, as path -> value.

SWEEP = Sweep(
    name="my_sweep",
    description="Routing, loss and decoder of a small capsule network.",
    parts=(MyImages, SharpenedRouting, SquaredError),
    base=BASE,
    plan=ListedArms(
        baseline="by agreement",
        arms={
            "by agreement": {},
            "sharpened": {"model.routing": SharpenedRouting(sharpness=4)},
            "equal shares": {"model.routing": "uniform"},
            "squared error": {"loss": "squared_error"},
            "no decoder": {"model.reconstruction": "none"},
        },
    ),
    seeds=(0, 1, 2, 3, 4),
    # Differences below this many percentage points do not matter to you; decide on it
    # before you see results: margin_points=0.5,
)
