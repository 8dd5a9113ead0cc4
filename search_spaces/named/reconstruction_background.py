"""Does reconstruction harm where the image has more to draw than the object? For GPUs.

MNIST's digits lie over crops of clothing: of none of its contrast, of half and of all of it. Each
capsule network is trained with a decoder and without. If a capsule that has to draw the whole image
spends its numbers on the ground, the decoder helps without a ground and harms with one: that is the
interaction in the table of effects.

Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, section 7, say that capsules like to
account for everything in the image, and that cluttered backgrounds are why CIFAR-10 is harder for
them; they print no figure of it. The protocol is our own.

A CNN has no decoder and so no place in this design: `capsnet_vs_cnn` has some. For a first look:
`--epochs 2 --seeds 0-2 --set data.fraction=0.05`.
"""

from capsmodel.config import TrainingConfig
from capsmodel.data import MnistOnFashion
from capsmodel.losses import MarginLoss
from capsmodel.models import CapsNet
from capsmodel.optimisers import Adam, ExponentialRate
from capsmodel.stopping import FixedEpochs
from search_spaces.plans.designs.factorial import FullFactorial
from search_spaces.sweep import Sweep
from search_spaces.tables import AblationTable, CurvesFigure, EffectsTable

SWEEP = Sweep(
    name="reconstruction_background",
    description="With a decoder and without, over grounds of three contrasts.",
    base=TrainingConfig(
        data=MnistOnFashion(),
        model=CapsNet(),
        loss=MarginLoss(),
        optimiser=Adam(learning_rate=1e-3, schedule=ExponentialRate(factor=0.96, every_steps=2000)),
        stopping=FixedEpochs(epochs=50),
        batch_size=128,
    ),
    plan=FullFactorial(
        factors={
            "data.contrast": (0.0, 0.5, 1.0),
            "model.reconstruction": ("fully_connected", "none"),
        },
    ),
    seeds=(0, 1, 2),
    tables=(EffectsTable(), AblationTable(), CurvesFigure()),
)
