"""What `capsweep plan` says of a search's importances: which settings will have enough trials."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from capsmodel.search_range import Choices, SearchRange
from search_spaces.plans.expected_counts import ExpectedCounts
from search_spaces.plans.search import Search
from search_spaces.plans.search_checks import LEARNING
from sweeps.aggregation.sensitivity.sample import FEWEST_TRIALS, fewest_trials
from sweeps.records.manifest_plan import ManifestSearch
from sweeps.records.plain_text import counted

_MOST_TRIALS = 10_000  # that are advised


@dataclass(frozen=True)
class PlannedImportances:
    """How many trials each row of the sensitivity table is expected to rest on.

    Attributes:
        expected: Name of a setting -> expected number of proposals that have it and count.
        needed: Name of a setting -> how many its importance needs.
        sampler: The sampler.
        num_start: Number of random proposals at the start, where these alone count; None where all
            count.
        is_chosen: Whether proposals count that a sampler chose, so that nothing will be bold.
        are_drawn_apart: Whether kinds of parts are drawn independently of each other.
        num_open: How many of the proposals that count are not known yet.
        fewest: How many proposals must count until every setting has enough; None if no number is
            known to be enough.
        planned: How many proposals the search makes.
    """

    expected: dict[str, float]
    needed: dict[str, int]
    sampler: str
    num_start: int | None
    is_chosen: bool
    are_drawn_apart: bool
    num_open: int
    fewest: int | None
    planned: int

    @property
    def lacking(self) -> list[str]:
        """Names of the settings that are expected to have too few."""
        return [
            name for name, number in self.expected.items() if round(number, 6) < self.needed[name]
        ]

    @property
    def num_trials(self) -> int | None:
        """The `--trials` with which every setting has enough; None where none is enough."""
        if not self.lacking:
            return self.planned
        return None if self.num_start else self.fewest

    @property
    def startup(self) -> int | None:
        """The `startup` that a search needs so that every setting has enough; None for none."""
        return self.fewest if self.num_start and self.lacking else None

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
        most = max(self.needed.values())
        more = "" if most == FEWEST_TRIALS else f", and up to {most} for choices of many kinds"
        if not (lacking := self.lacking):
            yield (
                f"Every setting is expected to have the {FEWEST_TRIALS} that a verdict needs{more}."
            )
        else:
            names = ", ".join(lacking[:3]) + (", ..." if len(lacking) > 3 else "")
            yield (
                f"A verdict needs {FEWEST_TRIALS} trials that have the setting{more}: "
                f"{counted(len(lacking), 'setting')} of {len(self.expected)} will have fewer "
                f"({names}). {self._advice()}"
            )
        if self.is_chosen:
            yield (
                f"As proposals count that {self.sampler} chooses by their results, there will be "
                f"no verdict: Search(startup={self.fewest or most}) or more, or --sampler random, "
                f"draws a sample without bias."
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
    needed = {each.name: _needed(each.range) for each in plan.space.dimensions}
    from_elsewhere = Counter(name for point in warm for name in point)  # which count for nothing
    expected = ExpectedCounts(plan, known).among(num_counted)
    return PlannedImportances(
        expected={name: number - from_elsewhere[name] for name, number in expected.items()},
        needed=needed,
        sampler=plan.sampler,
        num_start=plan.num_startup if is_start else None,
        is_chosen=learns and not is_start,
        are_drawn_apart=can_be_balanced and not plan.is_balanced,
        num_open=max(0, num_counted - len(known)),
        fewest=ExpectedCounts(longer, known).fewest(
            {name: number + from_elsewhere[name] for name, number in needed.items()}, _MOST_TRIALS
        ),
        planned=search.num_asked,
    )


def _needed(values: SearchRange) -> int:
    is_choice = isinstance(values, Choices)
    return fewest_trials(len(values.values) if is_choice else 0, is_choice=is_choice)
