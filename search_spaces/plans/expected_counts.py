"""How many proposals of a search will have each setting, as far as is known before they train."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod

from capsmodel.search_range import Plain
from search_spaces.plans.search import Search
from search_spaces.plans.search_checks import spread_points
from search_spaces.space.branches import Branches
from search_spaces.space.dimensions import Dimension


class ExpectedCounts:
    """The expected number of proposals that have a setting.

    It is exact for proposals that are made, and for those whose kinds are balanced, unless a draw
    is refused by a limit so often that another branch is taken. Of all others each kind is taken
    to be as likely, also where a sampler will have learned.

    Args:
        search: The search.
        made: The proposals that are made or known, in order: name of a dimension -> value.
    """

    def __init__(self, search: Search, made: Sequence[Mapping[str, Plain]] = ()) -> None:
        self._search = search
        self._made = made
        self._branches = Branches(search.space, search.sampler_seed)

    def among(self, num_proposals: int) -> dict[str, float]:
        """Return name of a dimension -> how many of so many proposals have it."""
        counts = self._none()
        for number in range(num_proposals):
            counts.update(self._having(number))
        return {name: self._at_most_all(name, counts[name]) for name in self._shares}

    def fewest(self, needed: Mapping[str, int], most: int) -> int | None:
        """Return how many proposals it takes until so many have each setting.

        Args:
            needed: Name of a dimension -> how many are to have it.
            most: The largest number to try.

        Returns:
            Their number, None if there are fewer points of some setting, or it takes more.
        """
        if any(self._at_most_all(name, number) < number for name, number in needed.items()):
            return None
        counts, num_points = self._none(), self._search.space.num_points
        for number in range(most):
            counts.update(self._having(number))
            has_enough = all(counts[name] > least - _ROUNDING for name, least in needed.items())
            if number + 1 == num_points or has_enough:
                return number + 1
        return None

    def _none(self) -> Counter[str]:
        return Counter(dict.fromkeys(self._shares, 0))

    def _having(self, number: int) -> Mapping[str, float]:
        """Return how likely a proposal has each dimension."""
        if number < len(self._made):
            return dict.fromkeys(self._made[number], 1)
        if not (self._search.is_balanced and self._search.is_blind(number)):
            return self._shares
        branch = self._branches.branch(number)
        return {each.name: 1 for each in self._search.space.dimensions if each.is_active(branch)}

    @cached_property
    def _shares(self) -> dict[str, float]:
        """Name of each dimension -> the share of points drawn at random that have it."""
        space = self._search.space
        if self._search.sampler == "grid":
            return {name: number / (space.num_points or 1) for name, number in self._points.items()}
        if space.forbid:
            points = list(spread_points(space, _NUM_DRAWN))
            having = Counter(name for point in points for name in point)
            names = (dimension.name for dimension in space.dimensions)
            return {name: having[name] / max(1, len(points)) for name in names}
        numbers = {part.name: len(part.values()) for part in space.part_choices}

        def share(dimension: Dimension) -> float:
            return 1 / prod(numbers[name] for name, _ in dimension.conditions)

        return {dimension.name: share(dimension) for dimension in space.dimensions}

    @cached_property
    def _points(self) -> Mapping[str, int]:
        """Name of each dimension -> how many points have it; empty if they cannot be listed."""
        number = self._search.space.num_points
        if number is None or number > _MOST_LISTED:
            return {}
        return Counter(name for point in self._search.space.grid() for name in point)

    def _at_most_all(self, name: str, number: float) -> float:
        return min(number, self._points.get(name, number))


_ROUNDING = 1e-9  # of sums of shares
_MOST_LISTED = 100_000
_NUM_DRAWN = 4096
