"""Proposals that keep the limits of their search: what breaks them is drawn anew.

Each draw that breaks them is told to the sampler while it is asked again for the same proposal. One
that has constraints knows points all over the space besides that break them, from the start: what
it was told for other proposals would be lost with the process, and these are not. So all of it is a
pure function of how the search went.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from search_spaces.plans.base import Definition
from search_spaces.plans.search import Search
from sweeps.execution.search.measures import Measures, Params
from sweeps.execution.search.observation import Observation
from sweeps.execution.search.proposals import ObservedPoint, Proposer, ask_sampler, sobol_point
from sweeps.execution.search.unseen import identity

MOST_REDRAWN = 20
"""How often a sampler is asked again before points are drawn at random."""

_MOST_DRAWN = 2000
_IN_ORDER = {"grid", "qmc"}


class WithinLimits:
    """Proposes for one search within its limits.

    Args:
        search: With limits, or with none.
        definition: Of its sweep.

    Attributes:
        measures: What points come to.
    """

    def __init__(self, search: Search, definition: Definition) -> None:
        self._search = search
        self.measures = Measures(search, definition)
        self._proposer = Proposer(search, self.measures)
        self._in_order: list[Params] = []
        self._rest = self._kept_in_order()

    def propose(
        self,
        params: Sequence[Mapping[str, Any]],
        went: Sequence[Observation],
        base: ObservedPoint | None = None,
    ) -> Params | None:
        """Return the next proposal, None where no other was found that keeps the limits.

        Args:
            params: What was proposed before, in order.
            went: How each of them went so far.
            base: The base's own point and how it went, None where the space does not hold it.
        """
        search = self._search
        if not search.limits:
            return self._proposer.propose(params, went, base)
        if search.sampler in _IN_ORDER:
            return self._number(len(params))
        proposed, rejected = self._proposer.propose(params, went, base), list[Params]()
        seen = {identity(point) for point in params} if search.space.num_points else set()
        while not self.measures.holds(proposed) or identity(proposed) in seen:
            if len(rejected) == MOST_REDRAWN:
                return self._drawn(len(params), seen)
            rejected.append(proposed)
            history = list(zip(params, went, strict=True))
            proposed = ask_sampler(search, history, base, measures=self.measures, rejected=rejected)
        return proposed

    def _number(self, number: int) -> Params | None:
        """Return a point by its number among those in order that keep the limits."""
        while len(self._in_order) <= number:
            point = next(self._rest, None)
            if point is None:
                return None
            self._in_order.append(point)
        return self._in_order[number]

    def _kept_in_order(self) -> Iterator[Params]:
        search, num_broken = self._search, 0
        is_grid = search.sampler == "grid"
        in_order = iter(self._proposer.grid) if is_grid else _sobol_points(search)
        for point in in_order:
            if self.measures.holds(point):
                num_broken = 0
                yield point
            elif not is_grid and (num_broken := num_broken + 1) == _MOST_DRAWN:
                return

    def _drawn(self, number: int, seen: set[Any]) -> Params | None:
        """Return a point drawn at random, of a small space any that is left."""
        import numpy as np

        search, chance = self._search, np.random.default_rng([self._search.sampler_seed, number, 1])
        if search.space.num_points and search.space.num_points <= _MOST_DRAWN:
            points = list(search.space.grid())
            draws = (points[index] for index in chance.permutation(len(points)))
        else:
            size = len(search.space.dimensions)
            draws = (search.space.at(chance.random(size).tolist()) for _ in range(_MOST_DRAWN))
        points = (
            point for point in draws if identity(point) not in seen and self.measures.holds(point)
        )
        return next(points, None)


def _sobol_points(search: Search) -> Iterator[Params]:
    number = 0
    while True:
        yield search.space.at(sobol_point(search, number))
        number += 1
