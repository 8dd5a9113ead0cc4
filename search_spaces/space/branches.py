"""The kinds that proposals of a search choose before anything is known: each one its share."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence

from capsmodel.search_range import Plain
from search_spaces.space.dimensions import Dimension, Params
from search_spaces.space.space import Space


class Branches:
    """The kinds of each proposal's parts, drawn in permuted blocks: the *branch* of the proposal.

    Of every so many proposals as a part has kinds, each kind is chosen once, in random order. Of
    the proposals that choose a kind, so are the kinds of the parts within it. Where a combination
    is forbidden, the part that comes later in the space gives way. A branch depends on the space,
    the seed and the number of the proposal alone.

    Args:
        space: The space of the search.
        seed: The seed of the sampler.
    """

    def __init__(self, space: Space, seed: int) -> None:
        self._space = space
        self._parts = space.part_choices
        self._seed = seed
        self._branches: list[Params] = []
        self._num_drawn: Counter[tuple[str, ...]] = Counter()
        self._constrained = {each.name: each for each in space.constrained}
        self._possible: dict[frozenset[tuple[str, Plain]], bool] = {}

    def branch(self, number: int) -> Params:
        """Return the kinds of a proposal, name of a dimension -> kind.

        Args:
            number: The number of the proposal, from 0.
        """
        while len(self._branches) <= number:
            self._branches.append(self._next())
        return self._branches[number]

    def _next(self) -> Params:
        chosen: Params = {}
        for part in self._parts:
            if part.is_active(chosen):
                chosen[part.name] = self._kind(part, chosen)
        return chosen

    def _kind(self, part: Dimension, chosen: Params) -> str:
        """Return the next kind of a part; each set of kinds that may be has blocks of its own."""
        every = [str(kind) for kind in part.values()]
        possible = [kind for kind in every if self._is_possible({**chosen, part.name: kind})]
        kinds = sorted(possible or every)
        block, place = divmod(self._num_drawn[part.name, *kinds], len(kinds))
        self._num_drawn[part.name, *kinds] += 1
        return _permuted(kinds, [self._seed, part.name, block])[place]

    def _is_possible(self, chosen: Params) -> bool:
        """Return whether some point with these kinds is not forbidden."""
        key = frozenset((name, chosen[name]) for name in self._constrained.keys() & chosen.keys())
        if key not in self._possible:
            self._possible[key] = self._has_point(chosen)
        return self._possible[key]

    def _has_point(self, chosen: Params) -> bool:
        if self._space.forbids(chosen):
            return False
        free = (each for name, each in self._constrained.items() if name not in chosen)
        following = next((each for each in free if each.is_active(chosen)), None)
        return following is None or any(
            self._has_point({**chosen, following.name: value}) for value in following.values()
        )


def _permuted(kinds: Sequence[str], key: Sequence[int | str]) -> list[str]:
    """Return kinds in a random order that does not depend on theirs, on NumPy or on Python."""

    def place(kind: str) -> bytes:
        return hashlib.sha256(json.dumps([*key, kind]).encode()).digest()

    return sorted(kinds, key=place)
