"""How a launch is interrupted: Ctrl-C, a termination signal, or its time limit."""

import os
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)


_LAST_ACTS: list[Callable[[], None]] = []


class Interrupted(KeyboardInterrupt):
    """The launch is to end now; everything that is kept, is kept already."""


@contextmanager
def interruptible() -> Generator[None]:
    """Raise `Interrupted` in the block, once, on SIGINT, SIGTERM or at the time limit.

    A second SIGINT or SIGTERM ends the process at once, but for the acts that were given to
    `on_forced_exit`: checkpoints are atomic, so nothing is lost by it. The time limit's signal does
    nothing then, so that who asks for an end by it may ask twice.
    Outside the main thread, where Python allows no handlers, it does nothing.
    """
    if not in_main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    listen()
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


@contextmanager
def interrupt_delayed() -> Generator[None]:
    """Hold a Ctrl-C back while modules are loaded in the block, some of which swallow it.

    Raises:
        KeyboardInterrupt: At the end, if there was one.
    """
    if not in_main_thread():
        yield
        return
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
    if heard:
        raise KeyboardInterrupt


@contextmanager
def on_forced_exit(act: Callable[[], None]) -> Generator[None]:
    """Have something done if a second signal ends the process in the block, the inner ones first.

    Args:
        act: Called from the signal's handler: it may write to descriptors, but not to streams,
            whose buffers the interrupted code may hold.
    """
    _LAST_ACTS.append(act)
    try:
        yield
    finally:
        _LAST_ACTS.remove(act)


def listen() -> None:
    """Set the handlers, also once more after Ray has set its own."""
    if in_main_thread():
        for number in _SIGNALS:
            signal.signal(number, _interrupt)


def set_time_limit(seconds: float) -> None:
    """Interrupt the block after a time."""
    signal.setitimer(signal.ITIMER_REAL, seconds)


def clear_time_limit() -> None:
    """Take the time limit back."""
    if in_main_thread():
        signal.setitimer(signal.ITIMER_REAL, 0)


def in_main_thread() -> bool:
    """Return whether signals can be handled here."""
    return threading.current_thread() is threading.main_thread()


def _interrupt(number: int, frame: FrameType | None) -> None:
    if _is_being_heard(frame):  # the first signal's handler has not come to name the next one's
        return _handle_later_signal(number, frame)
    signal.setitimer(signal.ITIMER_REAL, 0)
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, _end_at_once)
    signal.signal(signal.SIGALRM, _go_on_ending)
    raise Interrupted


def _is_being_heard(frame: FrameType | None) -> bool:
    """Return whether what a signal interrupts is the handler of another."""
    while frame and frame.f_code is not _interrupt.__code__:
        frame = frame.f_back
    return frame is not None


def _handle_later_signal(number: int, frame: FrameType | None) -> None:
    later = _go_on_ending if number == signal.SIGALRM else _end_at_once
    later(number, frame)


def _go_on_ending(number: int, frame: FrameType | None) -> None:
    """Take the time limit's signal for what it asks, which is done already."""


def _end_at_once(number: int, frame: FrameType | None) -> None:
    del number, frame
    for act in reversed(_LAST_ACTS):
        with suppress(OSError):  # a terminal that is gone
            act()
    os._exit(130)
