"""Which routing, pose size and learning rate err least on digits? A search, then a test.

    capsweep plan my_sweep.py    # the space, and how many trainings there will be
    capsweep run my_sweep.py     # propose, train, confirm; killed, it goes on
    capsweep best my_sweep       # what it found

Change what you like, delete what you do not need. `capsweep parts` lists all parts
with their imports, `capsweep parts capsnet` the settings of one.
"""

from capsmodel import TrainingConfig
from capsmodel.models import CapsNet
from capsmodel.optimisers import Adam
from capsmodel.reconstruction import FullyConnectedDecoder
from capsmodel.stopping import FixedEpochs
from search_spaces import Choices, Confirm, Floats, Ints, Search, Space, Sweep

# --- The base: what a proposal leaves as it is, and what the winner is compared with.
#     Settings left out have their defaults; a part is an object, or its kind alone.

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
        reconstruction=FullyConnectedDecoder(hidden=(128,)),
    ),
    loss="margin",
    optimiser=Adam(learning_rate=3e-3),
    stopping=FixedEpochs(epochs=8),
    batch_size=32,
)

# --- The space: which settings may vary, and over which values.

SPACE = Space(
    {
        "model.routing": ("dynamic", "uniform"),
        "model.routing.iterations": Ints(1, 5),  # only where the routing has iterations
        "model.class_dim": Choices(8, 16, 32),
        "optimiser.learning_rate": Floats(1e-3, 1e-2, log=True),
    }
)

SWEEP = Sweep(
    name="my_sweep",
    description="Routing, pose size and learning rate of a small capsule network.",
    base=BASE,
    plan=Search(
        space=SPACE,
        sampler="tpe",  # or random, gp, qmc, grid
        trials=12,
        seeds=(0,),
        # The best of many is lucky: it meets the base again, on seeds that chose nothing.
        confirm=Confirm(best=2, seeds=(101, 102, 103, 104, 105)),
    ),
)
