"""Proposals within the limits of a search: points that break a limit are redrawn.

So are points whose network cannot be built, which break a limit of every search.

The sampler sees each draw that breaks a limit when it is asked for the same proposal once more. A
sampler with constraints also sees, from the start, points all over the space that break a limit:
what it saw for other proposals would be lost with the process, these are not. So every proposal is
a pure function of the results of the search.
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
"""How often a sampler is asked before points are drawn at random."""

_MOST_DRAWN = 2000
_IN_ORDER = {"grid", "qmc"}


class WithinLimits:
    """Proposes for one search within its limits.

    Args:
        search: The search, with or without limits.
        definition: The definition of its sweep.

    Attributes:
        measures: The limits and costs of points.
    """

    def __init__(self, search: Search, definition: Definition) -> None:
        self._search = search
        self.measures = Measures(search, definition)
        self._proposer = Proposer(search, self.measures)
        self._in_order: list[Params] = []
        self._rest = self._ordered_points_within()

    def propose(
        self,
        params: Sequence[Mapping[str, Any]],
        went: Sequence[Observation],
        base: ObservedPoint | None = None,
    ) -> Params | None:
        """Return the next proposal, None if no other point within the limits was found.

        Args:
            params: The earlier proposals, in order.
            went: Their results so far.
            base: The base's point and its result, None if the space does not hold it.
        """
        search = self._search
        if self._is_in_order:
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

    @property
    def _is_in_order(self) -> bool:
        """Whether proposals are numbered points; without limits, repeated ones are redrawn."""
        search = self._search
        if search.sampler == "qmc" and not search.limits:
            return search.space.num_points is None
        return search.sampler in _IN_ORDER

    def _number(self, number: int) -> Params | None:
        """Return a point by its number among the ordered points within the limits."""
        while len(self._in_order) <= number:
            point = next(self._rest, None)
            if point is None:
                return None
            self._in_order.append(point)
        return self._in_order[number]

    def _ordered_points_within(self) -> Iterator[Params]:
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
        """Return a point drawn at random; of a small space, any point that is left."""
        import numpy as np

        search, chance = self._search, np.random.default_rng([self._search.sampler_seed, number, 1])
        if search.space.num_points and search.space.num_points <= _MOST_DRAWN:
            grid = list(search.space.grid())
            draws = (grid[index] for index in chance.permutation(len(grid)))
        else:
            size = len(search.space.dimensions)
            draws = (search.space.at(chance.random(size).tolist()) for _ in range(_MOST_DRAWN))
        fresh = (
            point for point in draws if identity(point) not in seen and self.measures.holds(point)
        )
        return next(fresh, None)


def _sobol_points(search: Search) -> Iterator[Params]:
    number = 0
    while True:
        yield search.space.at(sobol_point(search, number))
        number += 1
