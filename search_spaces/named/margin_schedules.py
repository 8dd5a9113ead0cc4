"""Does it help to move the margins of the margin loss over the training? On 8x8 digits, minutes.

The margins for the true class and for the others start closer together than they end, the weight
of the other classes starts lower: alone and together, evenly or along a sigmoid. The baseline is
the loss of the first capsule network, which moves nothing.
"""

from search_spaces.plans.listed import ListedArms
from search_spaces.quickstart import SMALL_CAPSNET
from search_spaces.sweep import Sweep
from search_spaces.tables import AblationTable, CurvesFigure

_MARGINS = {"positive_start": 0.6, "negative_start": 0.3, "down_weight_start": 0.5}
_WEIGHT = {"positive_start": 0.9, "negative_start": 0.1, "down_weight_start": 0.25}
_BOTH = {"positive_start": 0.6, "negative_start": 0.3, "down_weight_start": 0.25}

SWEEP = Sweep(
    name="margin_schedules",
    description="Schedules of the margins and of the down-weight of the margin loss, on digits.",
    base=SMALL_CAPSNET,
    plan=ListedArms(
        baseline="constant",
        arms={
            "constant": {},
            "linear margins": {"loss.schedule": {"kind": "linear", **_MARGINS}},
            "linear down-weight": {"loss.schedule": {"kind": "linear", **_WEIGHT}},
            "linear, both": {"loss.schedule": {"kind": "linear", **_BOTH}},
            "sigmoid margins": {"loss.schedule": {"kind": "sigmoid", **_MARGINS}},
            "sigmoid down-weight": {"loss.schedule": {"kind": "sigmoid", **_WEIGHT}},
            "sigmoid, both": {"loss.schedule": {"kind": "sigmoid", **_BOTH}},
        },
    ),
    seeds=(0, 1, 2, 3, 4),
    tables=(AblationTable(), CurvesFigure()),
)
