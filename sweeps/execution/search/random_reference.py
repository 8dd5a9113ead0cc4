"""Random points that a search is held against: as many as take the epochs that it took.

They are no proposals: no sampler is told of them, no scheduler stops them. What is drawn hangs on
the space, its limits and a seed alone, so that a longer search is held against the same and more.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from search_spaces.plans.confirm import Confirm
from search_spaces.plans.decisions import Draw
from search_spaces.plans.search import Search
from sweeps.execution.search.unseen import identity
from sweeps.records.manifest_plan import Plain

Params = dict[str, Plain]
_MOST_MISSED = 2000  # draws in a row that break the limits, or come back
_MOST_LISTED = 100_000  # points of a space


class DrawnPoints:
    """What was drawn so far.

    Args:
        confirm: What the search declares; draws by another seed are not taken.

    Attributes:
        names: Of the arms, in order.
        trial_keys: Of each arm, one a seed.
    """

    def __init__(self, confirm: Confirm | None) -> None:
        self.names: list[str] = []
        self.trial_keys: list[Sequence[str]] = []
        self._seed = confirm.random_seed if confirm and confirm.against_random else None
        self._keys: set[str] = set()

    def take(self, draw: Draw, trial_keys: Sequence[str]) -> bool:
        """Take a draw; return whether it is a new one of this reference."""
        arm = draw.cells[0].arm
        if draw.random_seed != self._seed or arm in self.names:
            return False
        self.names.append(arm)
        self.trial_keys.append(trial_keys)
        self._keys.update(trial_keys)
        return True

    def has(self, trial_key: str) -> bool:
        """Return whether a trial is one of theirs, of the search as well or not."""
        return trial_key in self._keys


class RandomPoints:
    """Points of a space drawn evenly, none of them twice, by their numbers.

    Args:
        search: Of which space.
        random_seed: What all chance comes from.
        holds: Whether a point keeps the limits.
    """

    def __init__(
        self, search: Search, random_seed: int, holds: Callable[[Mapping[str, Any]], bool]
    ) -> None:
        self._space = search.space
        self._seed = random_seed
        self._holds = holds
        self._points: list[Params] = []
        self._rest = self._drawn()

    def point(self, number: int) -> Params | None:
        """Return a point by its number, None where no other is found."""
        while len(self._points) <= number:
            point = next(self._rest, None)
            if point is None:
                return None
            self._points.append(point)
        return self._points[number]

    def _drawn(self) -> Iterator[Params]:
        import numpy as np

        space, chance = self._space, np.random.default_rng([self._seed, 0, 2])
        seen, num_missed = set[object](), 0
        while num_missed < _MOST_MISSED and len(seen) != space.num_points:
            point = space.at(chance.random(len(space.dimensions)).tolist())
            num_missed += 1
            if identity(point) not in seen:
                seen.add(identity(point))
                if self._holds(point):
                    num_missed = 0
                    yield point
        if space.num_points and space.num_points <= _MOST_LISTED:
            points = list(space.grid())
            left = (points[index] for index in chance.permutation(len(points)))
            yield from (one for one in left if identity(one) not in seen and self._holds(one))
