"""Does a trained network need its routing? It is judged with other routing, its weights unchanged.

Networks that were trained with 1, 3 and 5 iterations of routing by agreement are judged with 1 to
10; with the mean of their couplings over other images, which know nothing of the image; and with
random ones. Where the class hardly changes, what the network does hardly depends on its routing.

Source: none; the question is that of Paik, Kwak and Kim 2019, arXiv:1907.13327, who found random
and uniform routing as good as learnt ones. On digits of 8 by 8 pixels, minutes on a laptop; for
MNIST `--set data.kind=mnist`, for clothing `--set data.kind=fashion_mnist`.
"""

from capsmodel.augmentation import Shift
from capsmodel.evaluation import SwappedRouting
from search_spaces.plans.listed import ListedArms
from search_spaces.quickstart import SMALL_CAPSNET
from search_spaces.sweep import Sweep
from search_spaces.tables import AblationTable, Curve, CurvesFigure

SWEEP = Sweep(
    name="swap_at_inference",
    description="Networks trained with one routing and judged with others.",
    base=SMALL_CAPSNET,
    plan=ListedArms(
        baseline="3 iterations",
        arms={
            "3 iterations": {},
            "1 iteration": {"model.routing.iterations": 1},
            "5 iterations": {"model.routing.iterations": 5},
            "3 iterations, trained on shifts": {"augmentation": Shift(pixels=1)},
        },
    ),
    seeds=(0, 1, 2, 3, 4),
    evaluations=(SwappedRouting(),),
    tables=(AblationTable(), CurvesFigure(), Curve(x="iterations")),
)
