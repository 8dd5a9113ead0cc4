"""How a launch is interrupted: Ctrl-C, a termination signal, or its time limit."""

import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """The launch is to end now; everything that is kept, is kept already."""


@contextmanager
def interruptible(time_limit_seconds: float | None = None) -> Generator[None]:
    """Raise `Interrupted` in the block on SIGINT, SIGTERM or at the time limit.

    A second signal ends the process at once: checkpoints are atomic, so nothing is lost by it.
    Enter it after Ray has started, as Ray sets a handler of its own. Outside the main thread,
    where Python allows no handlers, it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
    before = {number: signal.getsignal(number) for number in signals}

    def interrupt(number: int, frame: FrameType | None) -> None:
        del number, frame
        signal.setitimer(signal.ITIMER_REAL, 0)
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, _end_at_once)
        raise Interrupted

    for number in signals:
        signal.signal(number, interrupt)
    if time_limit_seconds:
        signal.setitimer(signal.ITIMER_REAL, time_limit_seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_at_once(number: int, frame: FrameType | None) -> None:
    del number, frame
    os._exit(130)
