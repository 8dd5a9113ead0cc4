"""Which of seven routings is best, each at a learning rate of its own? On digits, minutes.

One small network in which only the routing differs: dynamic routing, the six that were published
after it for fully connected class capsules, and equal shares ("uniform"), the control. Each arm
tries four learning rates on two seeds, keeps the one with the lowest validation error, and is then
trained on five other seeds. All are trained by cross-entropy, since the capsules of two routings
have scores and no lengths; "dynamic, margin loss" shows what that costs. Rates rise over the first
epoch and fall along a cosine: at a constant one, the largest trains some seeds not at all. Arms are
judged on the test digits, on the same rotated and moved, and under attack.

All arms but one have the same number of parameters, within 0.1 %: where a routing learns values of
its own, the decoder is narrower. "self-routing, as published" keeps the decoder, and so is 4 %
larger; other routings add less than 1 %.

Source: Sabour, Frosst and Hinton 2017 (dynamic); Hinton, Sabour and Frosst 2018 (EM); Mazzia,
Salvetti and Chiaberge 2021 (self-attention); Tsai, Srivastava, Goh and Salakhutdinov 2020 (inverted
attention); Hahn, Pyeon and Kim 2019 (self-routing); Heinsen 2019; Ribeiro, Leontidis and Kollias
2020 (variational Bayes). `capsweep parts` and docs/routings.md have the details.
Difference: each paper has a body, data and a training of its own. Here the body is that of dynamic
routing's paper, made small; so the sweep compares routings in that body, and no papers.

130 trainings of 5 to 40 s on one core, 25 minutes on two that others share. For MNIST, on a GPU:
`--set data.kind=mnist`. For solids from new sides: `--set data.kind=viewpoints --set
data.views=azimuth --set model.conv_kernel=9 --set model.conv_stride=3`.
"""

from typing import Any

from capsmodel.evaluation import PGD, AdversarialError, DistortedTestError, ShiftedTestError
from capsmodel.losses import CrossEntropy, MarginLoss
from capsmodel.optimisers import CosineRate
from capsmodel.overrides import with_settings
from search_spaces.plans.tuned_arms import TunedArms
from search_spaces.quickstart import SWEEP as QUICKSTART
from search_spaces.sweep import Sweep
from search_spaces.tables import AblationTable, Curve, CurvesFigure


def _routing(kind: str, decoder_width: int) -> dict[str, Any]:
    """Return the changes of an arm whose decoder makes up for what its routing learns."""
    return {"model.routing": kind, "model.reconstruction.hidden": (decoder_width,)}


SWEEP = Sweep(
    name="six_routings",
    description="Seven routings and none in one body, each at its own rate, on changed digits.",
    base=with_settings(
        QUICKSTART.base,
        {
            "loss": CrossEntropy(),
            "optimiser.schedule": CosineRate(),
            "optimiser.warmup_steps": 40,
        },
    ),
    plan=TunedArms(
        baseline="dynamic",
        arms={
            "dynamic": {},
            "uniform": {"model.routing": "uniform"},
            "EM": {"model.routing": "em"},
            "self-attention": _routing("self_attention", 126),
            "inverted attention": {"model.routing": "inverted_attention"},
            "self-routing": _routing("self_routing", 109),
            "self-routing, as published": {"model.routing": "self_routing"},
            "Heinsen": _routing("heinsen", 124),
            "variational Bayes": {"model.routing": "variational_bayes"},
            "dynamic, margin loss": {"loss": MarginLoss()},
        },
        nuisance={"optimiser.learning_rate": (1e-3, 3e-3, 1e-2, 3e-2)},
    ),
    seeds=(0, 1, 2, 3, 4),
    evaluations=(
        ShiftedTestError(pixels=2),
        DistortedTestError(distortion="rotation", values=(0, 15, 30, 45)),
        AdversarialError(
            epsilons=(0, 1 / 16, 2 / 16, 3 / 16), attack=PGD(), objective="lengths", num_images=100
        ),
    ),
    tables=(AblationTable(), CurvesFigure(), Curve(x="shift"), Curve(x="epsilon")),
)
