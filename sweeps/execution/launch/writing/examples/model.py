"""Does my network err less on my images than a capsule network?

    capsweep check my_sweep.py   # try each part on a few images
    capsweep run my_sweep.py     # train, record, make tables; killed, it goes on

Put your own network in the place of SmallNet. docs/yours.md says what else it may do;
`capsweep --version` says where that is.
"""

from typing import Annotated

from capsmodel import TrainingConfig, model
from capsmodel.models import CapsNet
from capsmodel.optimisers import Adam
from capsmodel.search_range import Ints
from capsmodel.stopping import FixedEpochs
from pydantic import Field
from search_spaces import ListedArms, Sweep
from torch import Tensor, nn

# --- Your network: any torch.nn.Module. Its arguments are settings of the sweep.
#     image_shape and num_classes are passed to a constructor that asks for them.
#     It may be in another file of this folder: from my_networks import SmallNet, with @model there


@model
class SmallNet(nn.Module):
    """Two convolutions and a linear layer."""

    def __init__(
        self,
        image_shape: tuple[int, int, int],
        num_classes: int,
        width: Annotated[int, Field(ge=1), Ints(8, 64)] = 32,
        dropout: Annotated[float, Field(ge=0, lt=1)] = 0.2,
    ) -> None:
        """Make the layers; PyTorch draws their weights, from the trial's seed."""
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(image_shape[0], width, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1),
            nn.ReLU(),
            nn.Dropout(dropout),
        )
        places = (image_shape[1] // 2) * (image_shape[2] // 2)
        self.head = nn.Linear(2 * width * places, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        """Turn images [batch, channels, height, width] into logits [batch, classes]."""
        return self.head(self.body(images).flatten(1))


# --- The base: what all arms have in common. Your images: Arrays("mine.npz") or
#     ImageFolder("photos/", size=32), from capsmodel.data.

BASE = TrainingConfig(
    data="digits",
    model=CapsNet(
        conv_channels=64,
        conv_kernel=3,
        conv_padding=1,
        primary_types=8,
        primary_dim=8,
        primary_kernel=3,
        primary_stride=2,
    ),
    optimiser=Adam(learning_rate=3e-3),
    stopping=FixedEpochs(epochs=8),
    batch_size=32,
)


# --- The sweep: each arm says what it changes of the base, as path -> value.

SWEEP = Sweep(
    name="my_sweep",
    description="A network of my own and a capsule network.",
    parts=(SmallNet,),
    base=BASE,
    plan=ListedArms(
        baseline="capsules",
        arms={
            "capsules": {},
            "my network": {"model": SmallNet(), "loss": "cross_entropy"},
            "narrower": {"model": SmallNet(width=16), "loss": "cross_entropy"},
            "no dropout": {"model": SmallNet(dropout=0.0), "loss": "cross_entropy"},
        },
    ),
    seeds=(0, 1, 2, 3, 4),
    # Differences below this many percentage points do not matter to you; decide on it
    # before you see results: margin_points=0.5,
)
