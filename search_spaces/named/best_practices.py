"""Do the ranges that write-ups recommend for capsules matter? On 8x8 digits, minutes.

One factor at a time from what most of them start with: 3 iterations, primary capsules of 8 numbers
and class capsules of 16, a constant learning rate, nothing dropped, normalised or weighed.

Source: none that is one paper: tutorials and the READMEs of reimplementations, which recommend 3 to
5 iterations, 8 to 16 and 16 to 32 numbers, a learning rate that falls, dropout of 0.25 to 0.5,
batch normalisation after the convolution, and weights for rare classes.
Difference: a small network on small images. A training has 276 steps, so the rates fall faster than
recommended: the exponential one and that of each epoch to about a tenth, the cosine to zero.

The weights are 719 / (10 * images of the class), of the 719 training images. These digits have
nearly as many of each class, so the weights lie between 0.98 and 1.04 and nothing is to be
expected of them: the row shows how large a difference that means nothing is.

Half of the training images are held out. An arm takes 2 to 3 s a seed on one core, the sweep about
2 minutes on two. For a first look: `--epochs 2 --seeds 0`.
"""

from capsmodel.overrides import with_settings
from search_spaces.plans.listed import ListedArms
from search_spaces.quickstart import SMALL_CAPSNET
from search_spaces.sweep import Sweep
from search_spaces.tables import AblationTable, CurvesFigure

_TRAINING_IMAGES = (71, 73, 71, 73, 73, 73, 73, 71, 69, 72)  # of each digit
_INVERSE_FREQUENCIES = [
    round(sum(_TRAINING_IMAGES) / 10 / images, 4) for images in _TRAINING_IMAGES
]

SWEEP = Sweep(
    name="best_practices",
    description="Recommended settings of a capsule network, one at a time, on digits.",
    base=with_settings(SMALL_CAPSNET, {"data.validation_fraction": 0.5, "stopping.epochs": 12}),
    plan=ListedArms(
        baseline="as recommended first",
        arms={
            "as recommended first": {},
            "4 iterations": {"model.routing.iterations": 4},
            "5 iterations": {"model.routing.iterations": 5},
            "primary dimension 16": {"model.primary_dim": 16},
            "class dimension 32": {"model.class_dim": 32},
            "exponential rate": {
                "optimiser.schedule": {"kind": "exponential", "factor": 0.96, "every_steps": 5}
            },
            "rate per epoch": {"optimiser.schedule": {"kind": "per_epoch", "factor": 0.8}},
            "cosine rate": {"optimiser.schedule": "cosine"},
            "dropout 0.25": {"model.dropout": 0.25},
            "dropout 0.5": {"model.dropout": 0.5},
            "batch normalisation": {"model.batch_norm": True},
            "inverse-frequency class weights": {"loss.class_weights": _INVERSE_FREQUENCIES},
        },
    ),
    seeds=(0, 1, 2, 3, 4),
    tables=(AblationTable(), CurvesFigure()),
)
