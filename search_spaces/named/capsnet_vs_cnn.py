"""Which part of a capsule network makes it more robust than a CNN, or less? On digits, minutes.

The parts of a capsule network are left out one at a time, and it is compared with CNNs with kernels
of 3, 5 and 9 pixels that have the same number of parameters. All are judged on clean digits, on
moved and on rotated ones, and under attack. Two arms are trained on what they are judged by.

Source: Gu, Tresp and Hu 2021, "Capsule Network is Not More Robust than Convolutional Network",
arXiv:2103.15459: routing and the transformation of votes harm robustness, the size of kernels
explains much of it. Their figures are of other networks on MNIST, so tables do not show them.
Difference: a small network on digits with 2 pixels of black around them; of their five parts, the
squash and the transformation stay, as a network without them is another one. For MNIST `--set
data.kind=mnist`, for clothing `--set data.kind=fashion_mnist`, on a GPU; there the CNNs are a
quarter smaller or more, as `plan` shows: copy this file and change `hidden`.

"CNN, longer" is trained for as many seconds as the capsules on one core; on other machines compare
the seconds in cost.md.
"""

from capsmodel.augmentation import Shift
from capsmodel.evaluation import PGD, AdversarialError, DistortedTestError, ShiftedTestError
from capsmodel.models import ConvNet
from search_spaces.plans.listed import ListedArms
from search_spaces.quickstart import SWEEP as QUICKSTART
from search_spaces.sweep import Sweep
from search_spaces.tables import AblationTable, Curve, CurvesFigure


def _cnn(kernel: int, channels: tuple[int, int], hidden: int) -> dict[str, object]:
    model = ConvNet(conv_channels=channels, conv_kernel=kernel, pooling=2, hidden=(hidden,))
    return {"model": model, "loss": "cross_entropy"}


_CNN = _cnn(3, (32, 64), 207)
_SHIFTS = {"augmentation": Shift(pixels=2)}

SWEEP = Sweep(
    name="capsnet_vs_cnn",
    description="The parts of a capsule network, and CNNs of its size, on changed digits.",
    base=QUICKSTART.base,
    plan=ListedArms(
        baseline="capsules",
        arms={
            "capsules": {},
            "without routing": {"model.routing": "uniform"},
            "without reconstruction": {"model.reconstruction": "none"},
            "without margin loss": {"loss": "cross_entropy"},
            "capsules, trained on shifts": _SHIFTS,
            "CNN, kernel 3": _CNN,
            "CNN, kernel 5": _cnn(5, (32, 64), 150),
            "CNN, kernel 9": _cnn(9, (16, 32), 326),
            "CNN, longer": {**_CNN, "stopping.epochs": 25},
            "CNN, trained on shifts": {**_CNN, **_SHIFTS},
        },
    ),
    seeds=(0, 1, 2, 3, 4),
    evaluations=(
        ShiftedTestError(pixels=2),
        DistortedTestError(distortion="rotation", values=(0, 15, 30, 45)),
        AdversarialError(
            epsilons=(0, 1 / 16, 2 / 16, 3 / 16), attack=PGD(), objective="lengths", num_images=200
        ),
    ),
    tables=(AblationTable(), CurvesFigure(), Curve(x="shift"), Curve(x="epsilon")),
)
