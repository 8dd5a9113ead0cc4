"""Does any routing beat equal shares on four data sets at once, and do capsules beat a CNN?

The table that papers print: methods as rows, data sets as columns. One small network in which only
the routing differs, the control that shares equally ("uniform"), and a CNN of its size, on digits,
on the same at random places, on the same under affine maps that training never showed, and on
drawn solids from viewpoints that it never showed. Each data set has three seeds of its own.

Source: Sabour, Frosst and Hinton 2017 (dynamic); Hinton, Sabour and Frosst 2018 (EM); Mazzia,
Salvetti and Chiaberge 2021 (self-attention); Paik, Kwak and Kim 2019, arXiv:1907.13327, for the
control.
Difference: each paper has a body, data and a training of its own; here they share one. Three of
the data sets show the same digits, which Overall allows for.

EM's temperature and cost are those of `routing_controls`; nothing is tuned here. Nothing is
downloaded. 60 trainings, 9 minutes on two cores. For a first look: `--epochs 2`, or `--only
digits`. The same on six published data sets, for a GPU: `routings_across_full`.
"""

from typing import Any

from capsmodel.data import AffineDigits, Digits, Viewpoints
from capsmodel.losses import CrossEntropy
from capsmodel.models import ConvNet
from capsmodel.optimisers import CosineRate
from capsmodel.overrides import with_settings
from search_spaces.plans.listed import ListedArms, MatchedArm
from search_spaces.quickstart import SMALL_CAPSNET
from search_spaces.sweep import Sweep

EM: dict[str, Any] = {
    "kind": "em",
    "inverse_temperature": {"kind": "rising", "final": 0.1},
    "class_cost_bias": 2.0,
}
ROUTINGS: dict[str, dict[str, Any]] = {
    "uniform": {"model.routing": "uniform"},
    "dynamic": {},
    "EM": {"model.routing": EM},
    "self-attention": {"model.routing": "self_attention"},
}
"""Arms that differ in the routing alone."""

SWEEP = Sweep(
    name="routings_across",
    description="Routings and a CNN of equal size on digits, moved and mapped digits, and solids.",
    base=with_settings(
        SMALL_CAPSNET,
        {
            "loss": CrossEntropy(),
            "optimiser.schedule": CosineRate(),
            "optimiser.warmup_steps": 40,
        },
    ),
    plan=ListedArms(
        baseline="uniform",
        arms={
            **ROUTINGS,
            "CNN of equal size": MatchedArm(
                {"model": ConvNet(conv_channels=(32, 64), conv_kernel=3, pooling=2, hidden=(64,))},
                matched_to="dynamic",
                width="model.hidden",
            ),
        },
    ),
    seeds=(0, 1, 2),
    across={
        "digits": {"data": Digits()},
        "moved digits": {
            "data": AffineDigits(rotation=0, shear=0, scaling=0),
            "model.conv_padding": 0,
            "stopping.epochs": 25,
        },
        "mapped digits": {
            "data": AffineDigits(),
            "model.conv_padding": 0,
            "stopping.epochs": 25,
        },
        "solids": {
            "data": Viewpoints(views="azimuth", fraction=0.25),
            "model.conv_kernel": 9,
            "model.conv_stride": 3,
            "model.conv_padding": 0,
            "stopping.epochs": 10,
        },
    },
)
