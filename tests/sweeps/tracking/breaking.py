"""A store, or its client, that is killed at one of its calls."""

from collections.abc import Callable
from typing import Any


class Killed(BaseException):
    """Stands in for SIGKILL."""


class Breaking:
    """What is killed at one of its calls, before or after the store has done it."""

    def __init__(self, real: Any, at_call: int, after: bool) -> None:
        self._real = real
        self._at_call = at_call
        self._after = after
        self.num_calls = 0

    def __getattr__(self, name: str) -> Any:
        real: Callable[..., Any] = getattr(self._real, name)

        def call(*arguments: Any, **named: Any) -> Any:
            self.num_calls += 1
            is_it = self.num_calls == self._at_call
            if is_it and not self._after:
                raise Killed
            result = real(*arguments, **named)
            if is_it:
                raise Killed
            return result

        return call
