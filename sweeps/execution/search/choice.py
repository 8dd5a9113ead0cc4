"""Which arms of a search are confirmed: pure functions of how its proposals went."""

from collections.abc import Sequence

from search_spaces.plans.search import Search
from sweeps.execution.search.observation import Observation


def best_arms(observations: Sequence[Observation], keys: Sequence[str], count: int) -> list[int]:
    """Return the numbers of the best proposals that ran to full length, the best first.

    Args:
        observations: Of each proposal, in order.
        keys: What tells configurations apart: a point proposed twice is chosen once.
        count: How many at most. Of equals the earlier proposal is taken.
    """
    ranked = sorted(
        (observation.value, number)
        for number, observation in enumerate(observations)
        if observation.state == "complete" and observation.value is not None
    )
    chosen: dict[str, int] = {}
    for _, number in ranked:
        chosen.setdefault(keys[number], number)
    return list(chosen.values())[:count]


def median_of_startup(observations: Sequence[Observation], search: Search) -> int | None:
    """Return the number of the proposal that the best are held against, None if there is none.

    It is the median, the better one of two, of the first random proposals that ran to full length:
    those that the sampler made before it had anything to learn from.
    """
    is_random_throughout = search.sampler in {"random", "qmc", "grid"}
    candidates = [
        (observation.value, number)
        for number, observation in enumerate(observations)
        if observation.state == "complete"
        and observation.value is not None
        and (is_random_throughout or number < search.num_startup)
    ][: search.num_startup]
    return sorted(candidates)[(len(candidates) - 1) // 2][1] if candidates else None
