"""How many layers of capsules can be trained, and what helps? On 8x8 digits, minutes.

One to six layers of capsules above the primary ones, routed by agreement; then three and six of
them with each remedy that was published: a bias in the routing, normalisation of poses over the
batch, poses that skip a layer, the last two together, and routing by expectation maximisation.
The tables also show what becomes of the primary capsules: which are dead, which starve of
gradient, and whether their shares depend on the image.

Source: Peer, Stabinger and Rodriguez-Sanchez 2021, arXiv:1905.08744, for the limit and the bias;
Gugglberger, Peer and Rodriguez-Sanchez 2021, arXiv:2104.07393, for connections that skip layers;
Everett, Zhong and Leontidis 2023, arXiv:2305.11178, for capsules that die with depth.
Difference: a small network on digits, so figures do not compare with theirs.

In three layers without a remedy, poses are so short that the error stays that of chance: the
gradient of the first layers is zero from the first step. An arm takes 5 to 25 s a seed on one core.
"""

from capsmodel.evaluation import CapsuleActivity
from capsmodel.overrides import with_settings
from search_spaces.plans.listed import ListedArms
from search_spaces.quickstart import SMALL_CAPSNET
from search_spaces.sweep import Sweep
from search_spaces.tables import AblationTable, CurvesFigure

_REMEDIES = {
    "bias": {"model.routing.bias": True},
    "batch norm": {"model.hidden_batch_norm": True},
    "skips": {"model.hidden_skip": True},
    "batch norm and skips": {"model.hidden_batch_norm": True, "model.hidden_skip": True},
    "EM": {"model.routing": "em"},
}


def _layers(number: int) -> dict[str, object]:
    """Return the changes that make this number of capsule layers, class capsules included."""
    return {"model.hidden_capsules": (16,) * (number - 1)} if number > 1 else {}


SWEEP = Sweep(
    name="depth",
    description="One to six layers of capsules, and what helps to train them, on digits.",
    base=with_settings(SMALL_CAPSNET, {"data.validation_fraction": 0.5}),
    plan=ListedArms(
        baseline="1 layer",
        arms={
            "1 layer": {},
            **{f"{number} layers": _layers(number) for number in range(2, 7)},
            **{
                f"{number} layers, {remedy}": {**_layers(number), **changes}
                for number in (3, 6)
                for remedy, changes in _REMEDIES.items()
            },
        },
    ),
    seeds=(0, 1, 2, 3, 4),
    evaluations=(CapsuleActivity(),),
    tables=(AblationTable(), CurvesFigure()),
)
