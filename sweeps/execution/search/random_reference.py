"""Random points that a search is compared with, at the same number of epochs.

They are no proposals: samplers do not see them, schedulers do not stop them. They depend on the
space, its limits and a seed alone, so a longer search is compared with the same points and more.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from search_spaces.plans.confirm import Confirm
from search_spaces.plans.decisions import ProposeRandom
from search_spaces.plans.search import Search
from sweeps.execution.search.unseen import identity
from sweeps.records.manifest_plan import Plain

Params = dict[str, Plain]
_MOST_MISSED = 2000  # draws in a row that break the limits, or come back
_MOST_LISTED = 100_000  # points of a space


class DrawnPoints:
    """The random points drawn so far.

    Args:
        confirm: The declaration of the search; draws by another seed are ignored.

    Attributes:
        names: The arms, in order.
        trial_keys: The trial keys of each arm, one per seed.
    """

    def __init__(self, confirm: Confirm | None) -> None:
        self.names: list[str] = []
        self.trial_keys: list[Sequence[str]] = []
        self._seed = confirm.random_seed if confirm and confirm.against_random else None
        self._keys: set[str] = set()

    def take(self, draw: ProposeRandom, trial_keys: Sequence[str]) -> bool:
        """Add a draw; return whether it is new and belongs to this reference."""
        arm = draw.cells[0].arm
        if draw.random_seed != self._seed or arm in self.names:
            return False
        self.names.append(arm)
        self.trial_keys.append(trial_keys)
        self._keys.update(trial_keys)
        return True

    def has(self, trial_key: str) -> bool:
        """Return whether a trial belongs to a random point; it may belong to the search too."""
        return trial_key in self._keys


class RandomPoints:
    """Points drawn evenly from a space, none twice, by their numbers.

    Args:
        search: The search with the space.
        random_seed: The seed of the draws.
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
        """Return a point by its number, None if there is no other."""
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
            shuffled = (points[index] for index in chance.permutation(len(points)))
            yield from (
                point for point in shuffled if identity(point) not in seen and self._holds(point)
            )
