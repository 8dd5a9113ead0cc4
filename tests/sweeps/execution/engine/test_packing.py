"""The last trainings are shared out so that machines end together, simulated with known lengths."""

import heapq
import random
from collections.abc import Callable, Sequence
from statistics import fmean

import pytest

from sweeps.execution.engine.cell_source import next_to_end_together

Policy = Callable[[Sequence[float], Sequence[float]], int]


def longest_first(seconds: Sequence[float], busy_seconds: Sequence[float]) -> int:
    del busy_seconds
    return seconds.index(max(seconds))


def end_of(policy: Policy, seconds: Sequence[float], busy_seconds: Sequence[float]) -> float:
    """Return when the last of some machines ends, each taking what the policy says when free."""
    remaining, machines = list(seconds), list(busy_seconds)
    heapq.heapify(machines)
    while remaining:
        now = heapq.heappop(machines)
        place = policy(remaining, [end - now for end in machines])
        heapq.heappush(machines, now + remaining.pop(place))
    return max(machines)


@pytest.mark.parametrize(
    ("seconds", "busy_seconds", "end", "end_of_longest_first"),
    [
        ([3.0, 3.0, 2.0, 2.0, 2.0], [0.0, 0.0], 6.0, 7.0),
        ([2.0, 2.0, 3.0, 2.0, 3.0], [0.0, 0.0], 6.0, 7.0),
        ([3.0, 3.0, 2.0, 2.0, 2.0], [0.0, 0.0, 9.0], 9.0, 9.0),
        ([4.0, 3.0, 3.0, 2.0], [0.0, 0.0, 0.0], 5.0, 5.0),
        ([1.0], [0.0, 5.0], 5.0, 5.0),
        ([0.0, 0.0], [0.0, 0.0], 0.0, 0.0),
    ],
)
def test_machines_end_together_where_they_can(
    seconds: list[float], busy_seconds: list[float], end: float, end_of_longest_first: float
) -> None:
    assert end_of(next_to_end_together, seconds, busy_seconds) == end
    assert end_of(longest_first, seconds, busy_seconds) == end_of_longest_first


@pytest.mark.parametrize("num_machines", [2, 3, 8])
def test_on_the_whole_they_end_earlier_than_with_the_longest_first(num_machines: int) -> None:
    chance, ratios = random.Random(0), list[float]()
    for _ in range(100):
        seconds = [chance.uniform(1, 4) for _ in range(3 * num_machines)]
        busy = [0.0, *(chance.uniform(0, 3) for _ in range(num_machines - 1))]
        end = end_of(next_to_end_together, seconds, busy)
        assert end >= (sum(seconds) + sum(busy)) / num_machines - 1e-9
        ratios.append(end / end_of(longest_first, seconds, busy))
    assert fmean(ratios) < 0.985
    assert max(ratios) < 1.05


def test_of_very_many_the_longest_comes_first() -> None:
    seconds = [1.0 + place / 1000 for place in range(1000)]
    assert next_to_end_together(seconds, [0.5]) == 999
