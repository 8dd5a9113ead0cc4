"""Seeds until a sweep's verdicts are decided: a plan of looks, made before the first of them."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, Self

from pydantic import Field, GetCoreSchemaHandler, model_validator
from pydantic_core import core_schema

from capsmodel.settings.parts import Settings
from search_spaces.looks import Look, next_looks
from search_spaces.plans.decisions import WAIT, Cell, Decision, Propose
from search_spaces.plans.known import Known

FEWEST_SEEDS = 3
"""Fewer have no verdict."""
_MOST_SEEDS = 1_000
_USUAL_STEP = 1.6  # from one look to the next, as 3, 5, 8, 12, 20

Seed = Annotated[int, Field(ge=0, lt=2**63, strict=True)]
Count = Annotated[int, Field(ge=1, le=_MOST_SEEDS, strict=True)]


class UntilDecided(Settings):
    """Seeds of a design that stops where its verdicts are decided.

        Sweep(seeds=UntilDecided(first=3, most=20, margin_points=0.5), ...)

    All arms are trained on the first seeds. At each look an arm that is different from the
    baseline, or equivalent to it within the margin, is decided and gets no more seeds. The others
    and the baseline go on to the next look. The levels of all looks together keep the usual one: at
    most one table of twenty without a difference has anything in bold at any look. No look is left
    out or added, so the number of seeds is no matter of taste.

    Seeds are 0, 1, 2 and so on, or begin with `first_seed`. Each look costs some certainty at the
    end: plan few.

    Attributes:
        first: Seeds of every arm at the first look.
        most: Seeds at the last look, whatever is decided by then.
        looks: Seeds at all looks, from `first` to `most`; by default each has about 1.6 times as
            many as the one before: 3, 5, 8, 12, 20.
        margin_points: As `Sweep.margin_points`: without it no arm is decided by being equivalent.
        primary_of: Kind of the sweep's evaluation whose primary figure is judged, in place of the
            test error.
        first_seed: The first of its seeds.
    """

    first: Annotated[Count, Field(ge=FEWEST_SEEDS)] = FEWEST_SEEDS
    most: Count = 20
    looks: tuple[Count, ...] = ()
    margin_points: Annotated[float, Field(gt=0, le=100, strict=True)] | None = None
    primary_of: str = ""
    first_seed: Seed = 0

    @model_validator(mode="after")
    def _looks_rise(self) -> Self:
        if self.most <= self.first:
            raise ValueError(
                f"most must be above first, as a single look needs no plan, got first="
                f"{self.first} and most={self.most}: give seeds=range({self.first}) for one look."
            )
        if not self.looks:
            return self
        rising = all(later > earlier for earlier, later in pairwise(self.looks))
        if not rising or (self.looks[0], self.looks[-1]) != (self.first, self.most):
            raise ValueError(
                f"looks must rise from first={self.first} to most={self.most}, got "
                f"{list(self.looks)}: leave it out for {list(_usual(self.first, self.most))}."
            )
        return self

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of an arm that is decided at no look before the last."""
        return tuple(range(self.first_seed, self.first_seed + self.most))

    @property
    def seeds_at_looks(self) -> tuple[int, ...]:
        """Numbers of seeds at the looks, in order."""
        return self.looks or _usual(self.first, self.most)


class SeedsOrLooks:
    """Annotation of a field that holds seeds or `UntilDecided`; errors are those of seeds alone."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Build the schema of seeds, which lets `UntilDecided` through."""
        return core_schema.no_info_wrap_validator_function(
            lambda value, seeds: value if isinstance(value, UntilDecided) else seeds(value),
            handler.generate_schema(tuple[Seed, ...]),
        )


def _usual(first: int, most: int) -> tuple[int, ...]:
    """Return looks of which each has about 1.6 times as many seeds as the one before."""
    num = max(round(math.log(most / first) / math.log(_USUAL_STEP)), 1)
    numbers = (round(first * (most / first) ** (step / num)) for step in range(num + 1))
    return tuple(dict.fromkeys(numbers))


def decide_by_looks(
    cells: Sequence[Cell], baseline: str, seeds_at_looks: Sequence[int], known: Known
) -> Sequence[Decision]:
    """Return what follows in a plan of looks: cells of the next look, or the look itself.

    An arm of which a trial has failed waits, as the next launch tries that again; where one of the
    baseline has, all do.

    Args:
        cells: Every arm with every seed, up to the most.
        baseline: The arm that all others are compared with.
        seeds_at_looks: In order.
        known: The cells, their outcomes and the looks so far.
    """
    seeds = list(dict.fromkeys(cell.seed for cell in cells))
    arms = dict.fromkeys(cell.arm for cell in cells if cell.arm != baseline)
    due = next_looks(arms, seeds_at_looks, known.looked)
    if not due:
        return ()
    numbers = {**due, baseline: max(due.values())}
    wanted = [cell for cell in cells if seeds.index(cell.seed) < numbers.get(cell.arm, 0)]
    if missing := tuple(cell for cell in wanted if cell.place not in known.cells):
        return (Propose(_named(missing) if known.cells else missing),)
    if any(known.trial(*cell.place).is_open for cell in wanted):
        return (WAIT,)
    failed = {cell.arm for cell in wanted if known.trial(*cell.place).ended == "failed"}
    ready = {arm: due[arm] for arm in due if not {arm, baseline} & failed}
    return tuple(
        Look(number, tuple(arm for arm in ready if ready[arm] == number))
        for number in sorted({*ready.values()})
    )


def _named(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """Return cells of arms that the sweep declares, whose settings the log need not repeat."""
    return tuple(Cell(cell.arm, {}, cell.seed) for cell in cells)
