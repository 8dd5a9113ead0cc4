"""What a machine that is free trains next, so that all machines end together."""

from collections.abc import Iterator, Sequence
from itertools import product

_MOST_PACKED = 32  # trainings; of more, one is a small part of the whole


def next_to_end_together(seconds: Sequence[float], busy_seconds: Sequence[float]) -> int:
    """Return which training a free machine takes now: the longest of those it will have to take.

    The longest first, each to the machine that is free first, leaves machines idle at the end: of
    3, 3, 2, 2 and 2 hours on two machines it puts 3 and 2 on each, and the last 2 on one of them.
    So trainings are moved and exchanged between the machine that ends last and another, as long as
    both then end earlier than that one did. Who is free next plans anew.

    Source: Graham 1969, "Bounds on multiprocessing timing anomalies", the longest first; Finn and
    Horowitz 1979, "A linear time approximation algorithm for multiprocessor scheduling", moves.
    Difference: exchanges as well as moves.

    Args:
        seconds: That each training which nobody has begun is expected to take, at least one.
        busy_seconds: For how long each other machine is expected to be busy with what it has begun.

    Returns:
        The place of the training in `seconds`.
    """
    longest_first = sorted(range(len(seconds)), key=lambda place: -seconds[place])
    if len(seconds) > _MOST_PACKED:
        return longest_first[0]
    machines = [_Machine(0.0, [])] + [_Machine(busy, []) for busy in busy_seconds]
    for place in longest_first:
        min(machines, key=lambda one: one.end(seconds)).places.append(place)
    while _is_improved(machines, seconds):
        pass
    return max(machines[0].places or longest_first, key=lambda place: seconds[place])


class _Machine:
    """A machine: for how long it is busy, and the places of what it takes then."""

    def __init__(self, busy: float, places: list[int]) -> None:
        self.busy = busy
        self.places = places

    def end(self, seconds: Sequence[float]) -> float:
        return self.busy + sum(seconds[place] for place in self.places)

    def exchange(self, given: int, other: "_Machine", taken: int | None) -> None:
        """Give a training to another machine and take one of its own, or none."""
        self.places.remove(given)
        other.places.append(given)
        if taken is not None:
            other.places.remove(taken)
            self.places.append(taken)


def _is_improved(machines: Sequence[_Machine], seconds: Sequence[float]) -> bool:
    """Make the best exchange of the machine that ends last; return whether there was one."""
    last = max(machines, key=lambda one: one.end(seconds))
    best, earliest = None, last.end(seconds) * (1 - 1e-9)
    for other, given, taken in _exchanges(last, machines):
        moved = seconds[given] - (0.0 if taken is None else seconds[taken])
        end = max(last.end(seconds) - moved, other.end(seconds) + moved)
        if end < earliest:
            best, earliest = (given, other, taken), end
    if best:
        last.exchange(*best)
    return best is not None


def _exchanges(
    last: _Machine, machines: Sequence[_Machine]
) -> Iterator[tuple[_Machine, int, int | None]]:
    for other in machines:
        if other is not last:
            for given, taken in product(last.places, [None, *other.places]):
                yield other, given, taken
