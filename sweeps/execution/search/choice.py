"""Which arms of a search are confirmed: a pure function of how its proposals went."""

from collections.abc import Sequence

from sweeps.execution.search.observation import Observation
from sweeps.records.fronts import spread


def best_arms(
    observations: Sequence[Observation],
    keys: Sequence[str],
    count: int,
    costs: Sequence[Sequence[float]] = (),
    *,
    by_loss: bool,
) -> list[int]:
    """Return the numbers of the best proposals that ran to full length, the best first.

    Of equals the one of the lower validation loss is taken, then the earlier. Where there are costs
    they are points of the front, spread over it, the first with the best value.

    Args:
        observations: Of each proposal, in order; small is good.
        keys: What tells configurations apart: a point proposed twice is chosen once.
        count: How many at most.
        costs: Of each proposal, of a search with two objectives; () of one.
        by_loss: Whether their losses measure the same, so that they can be compared.
    """
    ranked = sorted(
        (observation.value, observation.loss if by_loss else 0.0, number)
        for number, observation in enumerate(observations)
        if observation.state == "complete" and observation.value is not None
    )
    chosen: dict[str, tuple[float, int]] = {}
    for value, _, number in ranked:
        chosen.setdefault(keys[number], (value, number))
    numbers = [number for _, number in chosen.values()]
    if not any(costs):
        return numbers[:count]
    points = [(value, costs[number][0]) for value, number in chosen.values()]
    return [numbers[place] for place in spread(points, count)]
