"""A first search: 24 random proposals for a small capsule network on 8x8 digits. A minute.

Nothing is stopped early and nothing is confirmed: it shows what a search is, and how much each
setting matters when all are drawn at random. `capsule_search` is the one to trust a winner of.
"""

from capsmodel.overrides import with_settings
from capsmodel.search_range import Choices, Floats, Ints
from search_spaces.plans.search import Search
from search_spaces.quickstart import SMALL_CAPSNET
from search_spaces.space.space import Space
from search_spaces.sweep import Sweep
from search_spaces.tables import SensitivityTable

SWEEP = Sweep(
    name="quickstart_search",
    description="Random proposals for a small capsule network on digits.",
    base=with_settings(SMALL_CAPSNET, {"stopping.epochs": 10}),
    plan=Search(
        space=Space(
            {
                "model.class_dim": Choices(8, 16, 32),
                "model.routing": ("dynamic", "uniform", "random"),
                "model.routing.iterations": Ints(1, 5),
                "model.reconstruction.weight": Floats(1e-5, 1e-2, log=True),
                "loss": ("margin", "cross_entropy"),
                "optimiser.learning_rate": Floats(1e-4, 1e-2, log=True),
            }
        ),
        sampler="random",
        trials=24,
        confirm=None,
    ),
    tables=(SensitivityTable(),),
)
