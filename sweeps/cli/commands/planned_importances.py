"""What `capsweep plan` says of a search's importances: which settings will have enough trials."""

from collections.abc import Iterator
from dataclasses import dataclass

from search_spaces.plans.expected_counts import ExpectedCounts
from search_spaces.plans.search import Search
from search_spaces.plans.search_checks import LEARNING
from sweeps.aggregation.sensitivity.sample import FEWEST_TRIALS
from sweeps.records.manifest_plan import ManifestSearch
from sweeps.records.plain_text import counted

_MOST_TRIALS = 10_000  # that are advised


@dataclass(frozen=True)
class PlannedImportances:
    """How many trials each row of the sensitivity table is expected to rest on.

    Attributes:
        expected: Name of a setting -> expected number of proposals that have it and count.
        needed: How many its importance needs.
        sampler: The sampler.
        num_start: Number of random proposals at the start, where these alone count; None where all
            count.
        is_chosen: Whether proposals count that a sampler chose, so that nothing will be bold.
        are_drawn_apart: Whether kinds of parts are drawn independently of each other.
        num_open: How many of the proposals that count are not known yet.
        fewest: How many proposals must count until every setting has enough; None if no number is
            known to be enough.
    """

    expected: dict[str, float]
    needed: int
    sampler: str
    num_start: int | None
    is_chosen: bool
    are_drawn_apart: bool
    num_open: int
    fewest: int | None

    @property
    def lacking(self) -> list[str]:
        """Names of the settings that are expected to have too few."""
        return [name for name, number in self.expected.items() if round(number, 6) < self.needed]

    @property
    def num_trials(self) -> int | None:
        """The `--trials` with which every setting has enough; None where that is not enough."""
        return None if self.num_start else self.fewest

    def sentences(self) -> Iterator[str]:
        """Yield which settings will have too few trials, how they are counted, and what helps."""
        if self.are_drawn_apart and self.num_open:
            yield (
                "Kinds of parts are drawn independently (balance=False, or as the search began), "
                "so that these numbers are means."
            )
        if self.is_chosen and self.num_open:
            yield (
                f"What {self.sampler} will choose is counted as if it chose each kind equally "
                f"often."
            )
        if self.num_start:
            yield (
                f"Of these, the first {self.num_start} proposals alone count for importances, as "
                f"{self.sampler} chooses the later ones by their results."
            )
        if not (lacking := self.lacking):
            yield f"Every setting is expected to have the {self.needed} that its importance needs."
        else:
            names = ", ".join(lacking[:3]) + (", ..." if len(lacking) > 3 else "")
            yield (
                f"An importance needs {self.needed} trials that have the setting: "
                f"{counted(len(lacking), 'setting')} of {len(self.expected)} will have fewer "
                f"({names}). {self._advice()}"
            )
        if self.is_chosen:
            yield (
                f"As proposals count that {self.sampler} chooses by their results, no importance "
                f"is bold: Search(startup={self.needed}) or more, or --sampler random, draws a "
                f"sample without bias."
            )

    def _advice(self) -> str:
        if self.fewest is None:
            return "No number of trials is known to reach it: let fewer settings vary."
        if self.num_start:
            return (
                f"Search(startup={self.fewest}) with --trials {self.fewest + 1} or more reaches it "
                f"for every setting."
            )
        return f"--trials {self.fewest} reaches it for every setting."


def planned_importances(plan: Search, search: ManifestSearch) -> PlannedImportances:
    """Return how many trials each setting of a search is expected to have.

    Args:
        plan: The search as it is launched.
        search: What it has proposed so far.
    """
    learns = plan.sampler in LEARNING and plan.trials > plan.num_startup
    is_start = learns and plan.num_startup >= FEWEST_TRIALS
    warm = search.warm_start.points if search.warm_start else ()
    made = [proposal.params for proposal in search.proposals]
    longer = plan.model_copy(update={"startup": _MOST_TRIALS}) if is_start else plan
    known = [*made, *warm[len(made) :]]
    num_counted = plan.num_startup if is_start else search.num_asked
    can_be_balanced = plan.model_copy(update={"balance": True}).is_balanced
    return PlannedImportances(
        expected=ExpectedCounts(plan, known).among(num_counted),
        needed=FEWEST_TRIALS,
        sampler=plan.sampler,
        num_start=plan.num_startup if is_start else None,
        is_chosen=learns and not is_start,
        are_drawn_apart=can_be_balanced and not plan.is_balanced,
        num_open=max(0, num_counted - len(known)),
        fewest=ExpectedCounts(longer, known).fewest(FEWEST_TRIALS, _MOST_TRIALS),
    )
