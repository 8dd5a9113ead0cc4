"""What does the released code of the first capsule network do beyond its paper? On MNIST.

The code departs from the text in five ways, of which the paper says nothing: each alone, all
together, and all but each.

Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, and the code that its authors released.
Difference: there is no published figure for any of these; the paper's 0.25 % is that of the code.

The arm "paper" is the winning row of `sabour2017_table1` to the last setting, so that whichever of
both sweeps runs second finds its trials done. Matrix capsules have departures of their own, on
images and with a loss of their own: `official_vs_paper_em`, a sweep of its own, so that each table
compares with the paper that it is about.

36 trainings of 50 epochs on MNIST are work for a GPU; with five seeds instead of three it would be
60. For a first look, some 10 minutes on two cores: `--epochs 2 --seeds 0 --set data.fraction=0.02`.
"""

from typing import Any

from search_spaces.named import sabour2017_table1
from search_spaces.plans.listed import ListedArms
from search_spaces.sweep import Sweep
from search_spaces.tables import AblationTable, CurvesFigure

_DEPARTURES: dict[str, dict[str, Any]] = {
    "primary poses divided by types": {"model.primary_coupling": "uniform"},
    "truncated normal weights": {"model.initialisation": "truncated"},
    "biases begin at 0.1": {"model.initial_bias": 0.1},
    "biases in the class capsules": {"model.routing.bias": True},
    "half the mean of the classes' losses": {"loss.reduction": "half_mean"},
}


def _all_but(left_out: str) -> dict[str, Any]:
    others = [changes for name, changes in _DEPARTURES.items() if name != left_out]
    return {path: value for changes in others for path, value in changes.items()}


SWEEP = Sweep(
    name="official_vs_paper",
    description="Departures of the first capsule network's released code from its paper, on MNIST.",
    base=sabour2017_table1.SWEEP.base,
    plan=ListedArms(
        baseline="paper",
        arms={
            "paper": {},
            "official": {"model.profile": "official", "loss.profile": "official"},
            **_DEPARTURES,
            **{f"official but: {name}": _all_but(name) for name in _DEPARTURES},
        },
    ),
    seeds=(0, 1, 2),
    tables=(AblationTable(), CurvesFigure()),
)
