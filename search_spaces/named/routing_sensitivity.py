"""How much do routing's iterations, start and weight scale matter? 8x8 digits, minutes.

One factor at a time from the first capsule network's own: 1 to 10 iterations; logits that start at
zero, are learned, or are drawn in each pass; class capsules whose matrices begin 0.1 to 10 times as
large.

Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, appendix A, for the iterations and for the
question whether more of them overfit; widespread reimplementations for drawn logits and for
unscaled matrices, which are 10 times those of the authors' code.
Difference: a small network on small images.

Whether the loss oscillates is told by the health of each trial, `loss_turns` and `loss_swing` of
its last eight epochs, by a sentence beside the table where it does, and by the figure of the
training loss. Half of the training images are held out. An arm takes 2 to 3 s a seed on one core,
the sweep about 2 minutes on two. For a first look: `--epochs 2 --seeds 0`.
"""

from typing import Any

from capsmodel.overrides import with_settings
from search_spaces.plans.listed import ListedArms
from search_spaces.quickstart import SMALL_CAPSNET
from search_spaces.sweep import Sweep
from search_spaces.tables import AblationTable, CurvesFigure

_ITERATIONS: dict[str, dict[str, Any]] = {
    "1 iteration": {"model.routing.iterations": 1},
    "2 iterations": {"model.routing.iterations": 2},
    "3 iterations": {},
    **{f"{rounds} iterations": {"model.routing.iterations": rounds} for rounds in range(4, 11)},
}

SWEEP = Sweep(
    name="routing_sensitivity",
    description="Iterations, initial logits and initial scale of dynamic routing, on digits.",
    base=with_settings(SMALL_CAPSNET, {"data.validation_fraction": 0.5, "stopping.epochs": 12}),
    plan=ListedArms(
        baseline="3 iterations",
        arms={
            **_ITERATIONS,
            "learned logits": {"model.routing.initial_logits": "learned"},
            "normal logits": {"model.routing.initial_logits": "normal"},
            "scale 0.1": {"model.init_scale": 0.1},
            "scale 0.3": {"model.init_scale": 0.3},
            "scale 3": {"model.init_scale": 3.0},
            "scale 10": {"model.init_scale": 10.0},
        },
    ),
    seeds=(0, 1, 2, 3, 4),
    tables=(
        AblationTable(),
        CurvesFigure(name="train_loss", metric="train_loss"),
        CurvesFigure(),
    ),
)
