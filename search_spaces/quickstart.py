"""Which choices of a small capsule network matter on 8x8 digits? Minutes on a laptop.

One baseline, and arms that each change one thing: how votes are routed, whether the image is
reconstructed, how many numbers a primary capsule has. Uniform routing, which one iteration is, and
random routing are the controls that any claim about routing has to beat.
"""

from capsmodel.config import TrainingConfig
from capsmodel.data import Digits
from capsmodel.models import CapsNet
from capsmodel.optimisers import Adam
from capsmodel.reconstruction import FullyConnectedDecoder
from capsmodel.stopping import FixedEpochs
from search_spaces.plans.listed import ListedArms
from search_spaces.sweep import Sweep
from search_spaces.tables import AblationTable, CurvesFigure

SWEEP = Sweep(
    name="quickstart",
    description="Routing, reconstruction and dimension of a small capsule network on digits.",
    base=TrainingConfig(
        data=Digits(),
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
        optimiser=Adam(learning_rate=3e-3),
        stopping=FixedEpochs(epochs=15),
        batch_size=32,
    ),
    plan=ListedArms(
        baseline="3 iterations",
        arms={
            "3 iterations": {},
            "1 iteration": {"model.routing.iterations": 1},
            "random routing": {"model.routing": "random"},
            "no reconstruction": {"model.reconstruction": "none"},
            "primary dimension 1": {"model.primary_dim": 1},
        },
    ),
    seeds=(0, 1, 2, 3, 4),
    tables=(AblationTable(), CurvesFigure()),
)
