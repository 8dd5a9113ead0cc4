"""A first search: 24 random proposals for a small capsule network on 8x8 digits. A minute.

Nothing is stopped early and nothing is confirmed: it shows what a search is, and how much each
setting matters when all are drawn at random. `capsule_search` is the one to trust a winner of.
"""

from capsmodel.config import TrainingConfig
from capsmodel.overrides import with_settings
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
        space=Space.of(TrainingConfig)
        .varied(
            {
                "model": ("capsnet",),
                "model.routing": ("dynamic", "uniform", "random"),
                "model.reconstruction": ("fully_connected",),
                "optimiser": ("adam",),
                "loss": ("margin", "cross_entropy"),
            }
        )
        .only(
            "model.routing.iterations",
            "model.class_dim",
            "model.reconstruction.weight",
            "loss",
            "optimiser.learning_rate",
        )
        .without("loss.positive_margin", "loss.negative_margin", "loss.down_weight")
        .without("loss.scale", "loss.schedule"),
        sampler="random",
        trials=24,
        confirm=None,
    ),
    tables=(SensitivityTable(),),
)
