"""The order in which proposals that have reached a rung are promoted."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sweeps.records.fronts import Point, fronts


class RungResult(NamedTuple):
    """The result of a proposal at a rung.

    Attributes:
        number: The number of the proposal.
        point: What is to be small: the objective, and the second one, equal for all if there is
            none.
        violation: By how much it breaks limits, 0 if it keeps them.
    """

    number: int
    point: Point
    violation: float = 0.0


def promotion_order(results: Iterable[RungResult]) -> Iterator[int]:
    """Yield the numbers of proposals, the first to be promoted first.

    Those that break limits less come first, of these the front, then the front of the others, and
    so on. A front is ordered so that each proposal is the farthest from all before it, the first
    having the best objective. With one objective that is the order by the objective, of equals the
    earlier proposal.

    Source: Schmucker, Donini, Zafar, Salinas and Archambeau 2021, arXiv:2106.12639, with the
    epsilon-net of a front; limits as in Deb, Pratap, Agarwal and Meyarivan 2002, NSGA-II.
    Difference: distances are between ranks in the front, so that no unit counts. In a front of two
    objectives the ranks by one are those by the other in reverse, so that one of them suffices.
    """
    by_violation: dict[float, list[RungResult]] = defaultdict(list)
    for result in sorted(results):
        by_violation[result.violation].append(result)
    for violation in sorted(by_violation):
        tied = by_violation[violation]
        points = [result.point for result in tied]
        for places in fronts(points):
            net = _epsilon_net({place: points[place] for place in places})
            yield from (tied[place].number for place in net)


def _epsilon_net(front: dict[int, Point]) -> list[int]:
    """Return the places of a front, each the farthest from all before it, of equals the first.

    Args:
        front: Place -> point, ascending by the first value.
    """
    rank_of = {point: rank for rank, point in enumerate(dict.fromkeys(front.values()))}
    ranks = {place: rank_of[point] for place, point in front.items()}
    first, *others = front
    chosen, distances = [first], {place: ranks[place] for place in others}
    while distances:
        farthest = max(distances, key=lambda place: (distances[place], -place))
        chosen.append(farthest)
        distances = {
            place: min(distance, abs(ranks[place] - ranks[farthest]))
            for place, distance in distances.items()
            if place != farthest
        }
    return chosen
