"""How near may two digits be, and can a network hold two of one class? By distance, with verdicts.

Networks are trained on overlapping digits of unlike classes. Then the same pairs of test digits are
moved apart, from one centre to 6 pixels between centres: both of unlike classes, where both have to
be found; and both of one class, where one capsule a class cannot hold two poses, and all that can
be asked is whether the class is found.

Source: none; Sabour, Frosst and Hinton 2017, arXiv:1710.09829, section 8, say that two of one class
at one place cannot be held ("crowding"), and print no figure. Half as large as MNIST, for a laptop:
a quarter of an hour a network on one core. At full size, on a GPU: `--set data.halved=false --set
data.shift=4`, where the CNN is a third larger; clothing: `--set data.kind=multi_fashion_mnist`.

"CNN, longer" is trained for as many seconds as the capsules on one core.
"""

from capsmodel.config import TrainingConfig
from capsmodel.data import MultiMnist
from capsmodel.evaluation import OverlappingError
from capsmodel.losses import MarginLoss
from capsmodel.models import CapsNet, ConvNet
from capsmodel.optimisers import Adam, CosineRate
from capsmodel.stopping import FixedEpochs
from search_spaces.plans.listed import ListedArms
from search_spaces.sweep import Sweep
from search_spaces.tables import AblationTable, Curve, CurvesFigure

_CNN = {
    "model": ConvNet(conv_channels=(32, 64), pooling=2, hidden=(1000, 217)),
    "loss": "sigmoid",
}
_DISTANCES = (0, 2, 4, 6)

SWEEP = Sweep(
    name="same_class_pairs",
    description="Pairs of digits by the distance between them, of unlike classes and of one.",
    base=TrainingConfig(
        data=MultiMnist(halved=True, shift=2),
        model=CapsNet(
            conv_channels=64,
            conv_kernel=5,
            primary_types=8,
            primary_dim=8,
            primary_kernel=5,
            class_dim=16,
        ),
        loss=MarginLoss(),
        optimiser=Adam(learning_rate=2e-3, schedule=CosineRate()),
        stopping=FixedEpochs(epochs=18),
        batch_size=128,
    ),
    plan=ListedArms(
        baseline="3 iterations",
        arms={
            "3 iterations": {},
            "1 iteration": {"model.routing.iterations": 1},
            "no reconstruction": {"model.reconstruction": "none"},
            "CNN of equal size": _CNN,
            "CNN, longer": {**_CNN, "stopping.epochs": 29},
        },
    ),
    seeds=(0, 1, 2),
    evaluations=(
        OverlappingError(distances=_DISTANCES),
        OverlappingError(distances=_DISTANCES, same_class=True),
    ),
    tables=(AblationTable(), CurvesFigure(), Curve(x="distance")),
)
