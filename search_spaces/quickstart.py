"""Which choices of a small capsule network matter on digits, and on digits that have moved?

One baseline, and arms that each change one thing: how votes are routed, whether the image is
reconstructed, and a convolutional network of the same size in its place. One iteration, which is
uniform routing, and random routing are the controls that any claim about routing has to beat. Each
network is judged on the test digits, and on the same moved by up to 2 of 12 pixels, from which 2
pixels of black around each digit protect its ink. Minutes on a laptop.
"""

from capsmodel.config import TrainingConfig
from capsmodel.data import Digits
from capsmodel.evaluation import ShiftedTestError
from capsmodel.models import CapsNet, ConvNet
from capsmodel.optimisers import Adam
from capsmodel.overrides import with_settings
from capsmodel.reconstruction import FullyConnectedDecoder
from capsmodel.stopping import FixedEpochs
from search_spaces.plans.listed import ListedArms
from search_spaces.sweep import Sweep
from search_spaces.tables import AblationTable, Curve, CurvesFigure

SMALL_CAPSNET = TrainingConfig(
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
    data=Digits(),
    optimiser=Adam(learning_rate=3e-3),
    stopping=FixedEpochs(epochs=15),
    batch_size=32,
)
"""A small network on 8 by 8 digits, with which other named sweeps begin too."""

_PADDING = 2  # pixels, by which digits can move
_PADDED = {"data.padding": _PADDING, "model.conv_padding": 0, "model.primary_types": 4}


SWEEP = Sweep(
    name="quickstart",
    description="Routing, reconstruction and a CNN on digits, also on moved ones.",
    base=with_settings(SMALL_CAPSNET, _PADDED),
    plan=ListedArms(
        baseline="3 iterations",
        arms={
            "3 iterations": {},
            "1 iteration": {"model.routing.iterations": 1},
            "random routing": {"model.routing": "random"},
            "no reconstruction": {"model.reconstruction": "none"},
            "CNN of equal size": {
                "model": ConvNet(conv_channels=(32, 64), conv_kernel=3, pooling=2, hidden=(207,)),
                "loss": "cross_entropy",
            },
        },
    ),
    seeds=(0, 1, 2, 3, 4),
    evaluations=(ShiftedTestError(pixels=_PADDING),),
    tables=(AblationTable(), CurvesFigure(), Curve(x="shift")),
)
