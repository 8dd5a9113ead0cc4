"""Which small capsule network reads 8x8 digits best, and what about it matters? Minutes.

It varies what is disputed about capsules: the number of routing iterations, of which one is the
uniform average, the capsules' number and dimensions, the loss and the schedule of its margins, the
weight of the reconstruction, and the learning rate beside them. The first 44 proposals are random
and show which settings matter: half of them have the margin loss and so a schedule, and a setting
takes 20 for a verdict. The others learn from them. Once ten trials have passed half-way, those that
are there worse than half of the others are stopped. The best three are trained again on five fresh
seeds, beside the base.

Half of the training images are held out, 718 of 1,437, and a trial has 8 epochs. With the usual
180 one image is 0.56 % of error; and with longer trainings on more images most good networks tie
at one or two wrong images, so that the best could not be told from the middling.
"""

from capsmodel.config import TrainingConfig
from capsmodel.overrides import with_settings
from capsmodel.search_range import Floats, Ints
from search_spaces.plans.scheduler import Asha
from search_spaces.plans.search import Confirm, Search
from search_spaces.quickstart import SMALL_CAPSNET
from search_spaces.space.space import Space
from search_spaces.sweep import Sweep
from search_spaces.tables import ConfirmationTable, CurvesFigure, SensitivityTable

SWEEP = Sweep(
    name="capsule_search",
    description="Iterations, capsules, loss and learning rate of a capsule network on digits.",
    base=with_settings(SMALL_CAPSNET, {"data.validation_fraction": 0.5, "stopping.epochs": 8}),
    plan=Search(
        space=Space.of(TrainingConfig)
        .varied(
            {
                "model": ("capsnet",),
                "model.routing": ("dynamic",),
                "model.reconstruction": ("fully_connected",),
                "optimiser": ("adam",),
                "model.primary_types": Ints(4, 16, step=4),
                "loss": ("margin", "cross_entropy"),
                "loss.schedule": ("constant", "linear", "sigmoid"),
                "optimiser.learning_rate": Floats(5e-4, 1e-2, log=True),
            }
        )
        .only(
            "model.routing.iterations",
            "model.primary_types",
            "model.primary_dim",
            "model.class_dim",
            "model.reconstruction.weight",
            "loss",
            "loss[margin].schedule",
            "optimiser.learning_rate",
        ),
        sampler="tpe",
        startup=44,
        scheduler=Asha(grace=0.5, reduction_factor=2, rivals=10),
        trials=60,
        confirm=Confirm(best=3),
    ),
    tables=(ConfirmationTable(), SensitivityTable(), CurvesFigure()),
)
