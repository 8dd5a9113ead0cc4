"""The designs of grids: their plans, and what they ask in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from search_spaces.plans.designs.factorial import FullFactorial
from search_spaces.plans.designs.factors import FactorDesign
from search_spaces.plans.designs.fractional import FractionalFactorial
from search_spaces.plans.designs.one_factor import OneFactor
from search_spaces.plans.designs.plackett_burman import PlackettBurman


@dataclass(frozen=True)
class GridDesign:
    """A design and words about it, with places for `{varied}` and `{combinations}`.

    Attributes:
        plan: Its class.
        title: As the description of the sweep has it.
        question: The first line of the file.
        meaning: What it tells, or does not.
    """

    plan: type[FactorDesign]
    title: str
    question: str
    meaning: str


DESIGNS: Mapping[str, GridDesign] = MappingProxyType(
    {
        "full": GridDesign(
            FullFactorial,
            "{varied} in all combinations",
            "How do results depend on {varied}? All {combinations} combinations.",
            "It tells what each does on average over the others, and whether one depends on "
            "another.",
        ),
        "one_factor": GridDesign(
            OneFactor,
            "{varied}, one change at a time",
            "What does each change of {varied} do, one at a time?",
            "It tells what each change does to this base, not whether two of them help together.",
        ),
        "fractional": GridDesign(
            FractionalFactorial,
            "{varied} in a fraction of all combinations",
            "Which of {varied} matter? A fraction of all {combinations} combinations.",
            "It finds some effects only as a sum with others: capsweep plan names them.",
        ),
        "plackett_burman": GridDesign(
            PlackettBurman,
            "{varied} in a screen",
            "Which of {varied} matter at all? A screen in few arms.",
            "An interaction can pass for a main effect: what it finds is to be confirmed by a "
            "design\nof the few settings that are left.",
        ),
    }
)
