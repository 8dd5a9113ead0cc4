"""What is left to carry once the driver has no more to do: how far it is, and how long it may take.

It may take as long as it moves: what ends it is silence of the store, and sooner a store that
answers and refuses all that is left, again and again. What is sent again, as a store has refused
what came after it, is no movement.
"""

import time
from collections.abc import Callable

_SECONDS_BETWEEN_WORDS = 1.0
_REFUSED_SECONDS = 15.0
_MOST_REFUSALS = 3


class Rest:
    """How far the rest is.

    Args:
        silence_seconds: That may pass without anything carried.
        num_left: Trials to be carried.
        tell: Told how many are carried, and of how many.
    """

    def __init__(
        self, silence_seconds: float, num_left: int, tell: Callable[[int, int], None]
    ) -> None:
        self._silence_seconds = silence_seconds
        self._num_left = num_left
        self._tell = tell
        self._num_done = self._num_refusals = 0
        self._taken = set[str]()
        self._moved_at = self._told_at = time.monotonic()
        tell(0, num_left)

    @property
    def is_over(self) -> bool:
        """Whether nothing has moved for too long."""
        patience = self._silence_seconds
        if self._num_refusals >= _MOST_REFUSALS:
            patience = min(patience, _REFUSED_SECONDS)
        return time.monotonic() > self._moved_at + patience

    def failed(self, *, is_refusal: bool) -> None:
        """The store has refused what is left, or not answered at all."""
        self._num_refusals = self._num_refusals + 1 if is_refusal else 0

    def moved(self, what: str, is_through: bool) -> None:
        """The store has taken something; with that a trial may be through."""
        if what in self._taken and not is_through:
            return
        self._taken.add(what)
        self._num_refusals = 0
        self._moved_at = time.monotonic()
        self._num_done = min(self._num_left, self._num_done + is_through)
        if is_through or self._moved_at > self._told_at + _SECONDS_BETWEEN_WORDS:
            self._tell(self._num_done, self._num_left)
            self._told_at = self._moved_at
