"""Which known mistakes ruin EM routing? Each is made on purpose, on 8x8 digits, minutes.

Three mistakes that an implementation of EM routing invites, one at a time and all at once, beside a
baseline that makes none:

- a parent that sees a single child explains it perfectly: its variance is zero, and without a
  floor the logarithm of it ends the training. Where parents see more children, the floor hardly
  matters;
- layers differ in the children that a place sees for each type of parent, here 8 and 3.2, in the
  network of the paper on EM routing 9, 9 and 102: unless masses are scaled, the temperature that
  is right depends on that;
- parents at different places must compete for a child. Where only the types at each place do, a
  child that four places see counts four times.

Source: Gritzman 2019, arXiv:1907.00652, "Avoiding implementation pitfalls of matrix capsules with
EM routing".
Difference: no figure is published for a single pitfall; a small network on small images, trained
for 276 steps. One child a parent needs another network, with one type of primary capsules and
windows of one place, so its two arms stand beside each other, not beside the baseline.

Temperatures were chosen on the validation images, one seed: 0.003 with scaled masses, of 0.0005 to
0.03; 0.1 without, of 0.01 to 0.3. The arm without scaling is there at both: at the other's
temperature it shows the mistake, at its own what a search for the temperature mends of it.

The arm "one child a parent, no floor" diverges; that is its point. An arm takes 5 to 14 s a seed on
one core, the sweep about 5 minutes on two. For a first look: `--epochs 2 --seeds 0`.
"""

from capsmodel.config import TrainingConfig
from capsmodel.data import Digits
from capsmodel.losses import SpreadLoss
from capsmodel.models import MatrixCapsNet
from capsmodel.optimisers import Adam
from capsmodel.routing import EMRouting, RisingInverseTemperature
from capsmodel.stopping import FixedEpochs
from search_spaces.plans.listed import ListedArms
from search_spaces.sweep import Sweep
from search_spaces.tables import AblationTable, CurvesFigure

_NO_FLOOR = {"model.routing.variance_floor": 0.0}
_NOT_SCALED = {"model.routing.scale_by_children": False}
_PLACES_APART = {"model.routing.competition": "types"}
_ONE_CHILD = {"model.primary_types": 1, "model.first_kernel": 1}

SWEEP = Sweep(
    name="em_pitfalls",
    description="Known mistakes of implementations of EM routing, made on purpose, on digits.",
    base=TrainingConfig(
        data=Digits(validation_fraction=0.5),
        model=MatrixCapsNet(
            conv_channels=32,
            conv_kernel=3,
            primary_types=16,
            first_types=8,
            first_kernel=2,
            first_stride=1,
            second_types=0,
            routing=EMRouting(
                inverse_temperature=RisingInverseTemperature(final=0.003), scale_by_children=True
            ),
        ),
        loss=SpreadLoss(),
        optimiser=Adam(learning_rate=3e-3),
        stopping=FixedEpochs(epochs=12),
        batch_size=32,
    ),
    plan=ListedArms(
        baseline="none of them",
        arms={
            "none of them": {},
            "masses not scaled": _NOT_SCALED,
            "masses not scaled, own temperature": {
                **_NOT_SCALED,
                "model.routing.inverse_temperature.final": 0.1,
            },
            "places do not compete": _PLACES_APART,
            "no floor": _NO_FLOOR,
            "all three": {**_NOT_SCALED, **_PLACES_APART, **_NO_FLOOR},
            "one child a parent": _ONE_CHILD,
            "one child a parent, no floor": {**_ONE_CHILD, **_NO_FLOOR},
        },
    ),
    seeds=(0, 1, 2, 3, 4),
    tables=(
        AblationTable(),
        CurvesFigure(name="train_loss", metric="train_loss"),
        CurvesFigure(),
    ),
)
