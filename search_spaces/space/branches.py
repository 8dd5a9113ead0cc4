"""The kinds that proposals of a search choose before anything is known: each one its share."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence

from search_spaces.space.dimensions import Dimension, Params
from search_spaces.space.space import Space


class Branches:
    """The kinds of each proposal's parts, drawn in permuted blocks: the *branch* of the proposal.

    Of every so many proposals as a part has kinds, each kind is chosen once, in random order. Of
    the proposals that choose a kind, so are the kinds of the parts within it. A branch depends on
    the space, the seed and the number of the proposal alone.

    Args:
        space: The space of the search.
        seed: The seed of the sampler.
    """

    def __init__(self, space: Space, seed: int) -> None:
        self._parts = space.part_choices
        self._seed = seed
        self._branches: list[Params] = []
        self._num_drawn: Counter[str] = Counter()

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
                chosen[part.name] = self._kind(part)
        return chosen

    def _kind(self, part: Dimension) -> str:
        kinds = [str(kind) for kind in part.values()]
        block, place = divmod(self._num_drawn[part.name], len(kinds))
        self._num_drawn[part.name] += 1
        return _permuted(kinds, [self._seed, part.name, block])[place]


def _permuted(kinds: Sequence[str], key: Sequence[int | str]) -> list[str]:
    """Return kinds in a random order that does not depend on theirs, on NumPy or on Python."""

    def place(kind: str) -> bytes:
        return hashlib.sha256(json.dumps([*key, kind]).encode()).digest()

    return sorted(kinds, key=place)
