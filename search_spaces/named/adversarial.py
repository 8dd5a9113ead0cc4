"""Do capsules withstand attacks better than a CNN? Curves over epsilon, with verdicts. On digits.

Both networks see the 8 by 8 digits with their 17 values of grey, so epsilon counts steps of 1/16.
Three attacks: PGD along the training's loss; PGD along the log-odds of the lengths, which the flat
parts of the margin loss cannot hide; and Square, which needs no gradient. Where Square breaks more
than PGD, figures by gradient are too small, and the table says *masked*.

Source: Hinton, Sabour and Frosst 2018, "Matrix capsules with EM routing", section 5.2, found
capsules less vulnerable to FGSM and BIM; Michels, Uelwer, Upschulte and Harmeling 2019,
arXiv:1906.03612, found no gain under stronger attacks. An undefended CNN on MNIST is right on
6.4 % of the images under FGSM at epsilon 0.3 (Madry et al. 2018, arXiv:1706.06083).
Difference: a small network on digits. For MNIST, on a GPU: `--set data.kind=mnist`; for clothing
`--set data.kind=fashion_mnist`; there the CNN is an eighth smaller, as `plan` shows: copy this file
and change `hidden`. No arm is trained on attacked images.

"CNN, longer" is trained for as many seconds as the capsules on one core; on other machines compare
the seconds in cost.md. The attacks take some minutes a network on one core; on a
GPU let them see more images (`num_images`).
"""

from capsmodel.evaluation import PGD, AdversarialError, SquareAttack
from capsmodel.models import ConvNet
from search_spaces.plans.listed import ListedArms
from search_spaces.quickstart import SMALL_CAPSNET
from search_spaces.sweep import Sweep
from search_spaces.tables import AblationTable, Curve, CurvesFigure

_EPSILONS = (0, 1 / 16, 2 / 16, 3 / 16, 4 / 16)  # grey steps of the digits
_CNN = {
    "model": ConvNet(conv_channels=(32, 64), conv_kernel=3, pooling=2, hidden=(523,)),
    "loss": "cross_entropy",
}

SWEEP = Sweep(
    name="adversarial",
    description="Attacks on capsules and on a CNN of equal size, by gradient and without.",
    base=SMALL_CAPSNET,
    plan=ListedArms(
        baseline="CNN of equal size",
        arms={
            "CNN of equal size": _CNN,
            "CNN, longer": {**_CNN, "stopping.epochs": 30},
            "3 iterations": {},
            "1 iteration": {"model.routing.iterations": 1},
            "no reconstruction": {"model.reconstruction": "none"},
        },
    ),
    seeds=(0, 1, 2),
    evaluations=(
        AdversarialError(epsilons=_EPSILONS, attack=PGD()),
        AdversarialError(
            epsilons=_EPSILONS,
            attack=PGD(),
            objective="lengths",
            strong_epsilon=2 / 16,
            num_images=100,
        ),
        AdversarialError(
            epsilons=_EPSILONS, attack=SquareAttack(), objective="lengths", num_images=50
        ),
    ),
    tables=(AblationTable(), CurvesFigure(), Curve(x="epsilon")),
)
