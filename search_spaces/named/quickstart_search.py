"""Which settings of a small capsule network matter on digits? 44 random proposals, two minutes.

It asks what is disputed about capsules: the number of routing iterations, of which one is the
uniform average, the dimensions of the capsules, the loss and the schedule of its margins, and
beside them the learning rate. Nothing is stopped early and nothing is confirmed: it shows what a
search is, and how much each setting matters when all are drawn at random. `capsule_search` is the
one to trust a winner of.

Half of the proposals have the margin loss and so a schedule: 22, and a setting takes 20 for a
verdict. Half of the training images are held out, as with few of them many networks tie.
"""

from capsmodel.overrides import with_settings
from capsmodel.search_range import Floats, Ints
from search_spaces.plans.search import Search
from search_spaces.quickstart import SMALL_CAPSNET
from search_spaces.space.space import Space
from search_spaces.sweep import Sweep
from search_spaces.tables import SensitivityTable

SWEEP = Sweep(
    name="quickstart_search",
    description="Random proposals for a small capsule network on digits.",
    base=with_settings(SMALL_CAPSNET, {"data.validation_fraction": 0.5, "stopping.epochs": 10}),
    plan=Search(
        space=Space(
            {
                "model.routing.iterations": Ints(1, 5),
                "model.primary_dim": Ints(4, 16, step=4),
                "model.class_dim": Ints(8, 32, step=8),
                "loss": ("margin", "cross_entropy"),
                "loss.schedule": ("constant", "linear"),
                "optimiser.learning_rate": Floats(5e-4, 1e-2, log=True),
            }
        ),
        sampler="random",
        trials=44,
        confirm=None,
    ),
    tables=(SensitivityTable(),),
)
