"""Seven arms that differ in nothing that matters, and one that learns ten times too slowly.

    capsweep run tools/acceptance/null_arms.py

What a table may say of arms that are as the baseline, and of one that is not. The seven change
what nobody would expect to matter: a hundredth of a margin, a hair of the learning rate, ten hidden
units of the decoder. Two minutes on two cores.
"""

from search_spaces import ListedArms, Sweep
from search_spaces.quickstart import SWEEP as QUICKSTART

SWEEP = Sweep(
    name="null_arms",
    description="Seven arms that differ in nothing that matters, and one that learns too slowly.",
    base=QUICKSTART.base,
    plan=ListedArms(
        baseline="as quickstart",
        arms={
            "as quickstart": {},
            "margin 0.91": {"loss.positive_margin": 0.91},
            "margin 0.89": {"loss.positive_margin": 0.89},
            "learning rate + 3 %": {"optimiser.learning_rate": 3.09e-3},
            "learning rate - 3 %": {"optimiser.learning_rate": 2.91e-3},
            "decoder of 138": {"model.reconstruction.hidden": [138]},
            "decoder of 118": {"model.reconstruction.hidden": [118]},
            "batches of 31": {"batch_size": 31},
            "learning rate / 10": {"optimiser.learning_rate": 3e-4},
        },
    ),
    seeds=(0, 1, 2, 3, 4),
    margin_points=1.5,
)
