"""Do capsules build a parse tree? Which respond, which learn, and whether routing sees the image.

Three findings of others are looked at: capsules that are dead or starve of gradient, couplings that
are the same for every image, and lengths that change when the image moves. Each figure is
also given for the same network with random routing, and for the same network before its training.

Source: Mitterreiter, Koch, Giesen and Laue 2023, arXiv:2301.01583; Everett, Zhong and Leontidis
2023, arXiv:2305.11178. Their formulas could not be found, so the definitions are our own
(`capsule_activity`), and tables do not show their figures. On digits of 8 by 8 pixels,
minutes on a laptop; for MNIST `--set data.kind=mnist`, for clothing `--set
data.kind=fashion_mnist`.
"""

from capsmodel.evaluation import CapsuleActivity
from search_spaces.plans.listed import ListedArms
from search_spaces.quickstart import SMALL_CAPSNET
from search_spaces.sweep import Sweep
from search_spaces.tables import AblationTable, CurvesFigure

SWEEP = Sweep(
    name="parse_tree",
    description="Dead and starving capsules, static couplings, lengths of moved images.",
    base=SMALL_CAPSNET,
    plan=ListedArms(
        baseline="3 iterations",
        arms={
            "3 iterations": {},
            "1 iteration": {"model.routing.iterations": 1},
            "5 iterations": {"model.routing.iterations": 5},
            "random routing": {"model.routing": "random"},
            "no reconstruction": {"model.reconstruction": "none"},
            "cross-entropy loss": {"loss": "cross_entropy"},
        },
    ),
    seeds=(0, 1, 2, 3, 4),
    evaluations=(CapsuleActivity(),),
    tables=(AblationTable(), CurvesFigure()),
)
