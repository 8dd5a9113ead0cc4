"""Proposals within the limits of a search: points that break a limit are redrawn.

So are points whose network cannot be built, which break a limit of every search.

The sampler sees each draw that breaks a limit when it is asked for the same proposal once more. A
sampler with constraints also sees, from the start, points all over the space that break a limit:
what it saw for other proposals would be lost with the process, these are not. So every proposal is
a pure function of the results of the search.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Any

from search_spaces.plans.base import Definition
from search_spaces.plans.search import Search
from sweeps.execution.search.measures import Measures, Params
from sweeps.execution.search.observation import Observation
from sweeps.execution.search.proposals import ObservedPoint, Proposer, ask_sampler, sobol_point
from sweeps.execution.search.unseen import identity, is_in

MOST_REDRAWN = 20
"""How often a sampler is asked before points are drawn at random."""

_MOST_DRAWN = 2000
_MOST_DRAWN_IN_BRANCH = 200  # which may hold no point within the limits
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
        branch = self._proposer.branch(len(params))
        seen = {identity(point) for point in params} if search.space.num_points else set()
        while not self.measures.holds(proposed) or identity(proposed) in seen:
            if len(rejected) == MOST_REDRAWN:
                return self._drawn(len(params), seen, branch)
            rejected.append(proposed)
            history = list(zip(params, went, strict=True))
            proposed = ask_sampler(
                search, history, base, measures=self.measures, rejected=rejected, branch=branch
            )
        return proposed

    @property
    def _is_in_order(self) -> bool:
        """Whether proposals are numbered points; without limits, repeated ones are redrawn."""
        search = self._search
        if search.sampler == "qmc" and not search.limits_before_training:
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
        if self._search.sampler == "grid":
            yield from filter(self.measures.holds, self._proposer.grid)
            return
        space, number, num_broken = self._search.space, 0, 0
        for place in count():
            branch = self._proposer.branch(number) if num_broken < _MOST_DRAWN_IN_BRANCH else {}
            point = space.at(sobol_point(self._search, place), branch)
            if self.measures.holds(point):
                number, num_broken = number + 1, 0
                yield point
            elif (num_broken := num_broken + 1) == _MOST_DRAWN:
                return

    def _drawn(self, number: int, seen: set[Any], branch: Params) -> Params | None:
        """Return a point drawn at random; of a small space, any point that is left.

        It is one of the branch, unless none was found there.
        """
        import numpy as np

        search, chance = self._search, np.random.default_rng([self._search.sampler_seed, number, 1])
        if search.space.num_points and search.space.num_points <= _MOST_DRAWN:
            grid = list(search.space.grid())
            fresh = self._fresh((grid[index] for index in chance.permutation(len(grid))), seen)
            first = next(fresh, None)
            if first is None or is_in(first, branch):
                return first
            return next((point for point in fresh if is_in(point, branch)), first)
        size = len(search.space.dimensions)

        def drawn(number: int, branch: Params) -> Iterator[Params]:
            points = (search.space.at(chance.random(size).tolist(), branch) for _ in range(number))
            return self._fresh(points, seen)

        in_branch = drawn(_MOST_DRAWN_IN_BRANCH, branch) if branch else iter(())
        return next(chain(in_branch, drawn(_MOST_DRAWN, {})), None)

    def _fresh(self, points: Iterable[Params], seen: set[Any]) -> Iterator[Params]:
        """Yield the points that were not proposed yet and keep the limits."""
        for point in points:
            if identity(point) not in seen and self.measures.holds(point):
                yield point
