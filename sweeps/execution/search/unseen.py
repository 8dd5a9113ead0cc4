"""Points that a search has not tried yet, in spaces whose points can be counted."""

from collections.abc import Mapping, Sequence
from typing import Any

from search_spaces.plans.search import Search
from sweeps.records.manifest_plan import Plain

_MOST_DRAWS = 200


def unseen(
    search: Search,
    proposed: Mapping[str, Plain],
    seen: Sequence[Mapping[str, Any]],
    number: int,
    *,
    branch: Mapping[str, Plain],
) -> dict[str, Plain]:
    """Return a proposal if it is new, else an unseen point drawn at random.

    The same point with the same seeds gives the same trainings, and a sampler that has found the
    best point of a small space proposes it over and over. If all points are seen, the proposal is
    returned.

    Args:
        search: A search whose space can be counted.
        proposed: The proposal of its sampler.
        seen: All points so far: the earlier proposals, then others that were trained, which are
            proposed last.
        number: The number of the proposal; it seeds the draw.
        branch: The kinds that the point is to have, unless all such points are seen.
    """
    import numpy as np

    known = {identity(point) for point in seen}
    if identity(proposed) not in known:
        return dict(proposed)
    space, chance = search.space, np.random.default_rng([search.sampler_seed, number])
    for _ in range(_MOST_DRAWS):
        point = space.at(chance.random(len(space.dimensions)).tolist(), branch)
        if identity(point) not in known:
            return point
    points = list(space.grid())
    for passed in (known, {identity(point) for point in seen[:number]}):
        remaining = [point for point in points if identity(point) not in passed]
        if remaining := [each for each in remaining if is_in(each, branch)] or remaining:
            return remaining[int(chance.integers(len(remaining)))]
    return dict(proposed)


def is_in(point: Mapping[str, Any], branch: Mapping[str, Plain]) -> bool:
    """Return whether a point has the kinds of a branch."""
    return branch.items() <= point.items()


def identity(point: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return a hashable key of a point."""
    return tuple((name, repr(value)) for name, value in sorted(point.items()))
