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
    """The launch is to end now; everything that lasts is already on disk."""


@contextmanager
def interruptible() -> Generator[None]:
    """Raise `Interrupted` in the block, once, on SIGINT, SIGTERM or at the time limit.

    A second SIGINT or SIGTERM ends the process at once, after the calls that were registered with
    `on_forced_exit`. Checkpoints are atomic, so nothing is lost. A second signal of the time limit
    does nothing, so a caller may send it twice. Outside the main thread, where Python allows no
    handlers, the block runs unchanged.
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
    """Delay a Ctrl-C to the end of the block, which imports modules that would swallow it.

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
    """Call a function if a second signal ends the process in the block; inner blocks come first.

    Args:
        act: Called from the signal's handler: it may write to descriptors, but not to streams,
            whose buffers the interrupted code may be using.
    """
    _LAST_ACTS.append(act)
    try:
        yield
    finally:
        _LAST_ACTS.remove(act)


def listen() -> None:
    """Install the handlers; call it again after Ray has installed its own."""
    if in_main_thread():
        for number in _SIGNALS:
            signal.signal(number, _interrupt)


def set_time_limit(seconds: float) -> None:
    """Interrupt the launch after this time."""
    signal.setitimer(signal.ITIMER_REAL, seconds)


def clear_time_limit() -> None:
    """Remove the time limit."""
    if in_main_thread():
        signal.setitimer(signal.ITIMER_REAL, 0)


def in_main_thread() -> bool:
    """Return whether this thread can handle signals."""
    return threading.current_thread() is threading.main_thread()


def _interrupt(number: int, frame: FrameType | None) -> None:
    if _is_being_heard(frame):  # the first handler has not installed the next ones yet
        return _handle_later_signal(number, frame)
    signal.setitimer(signal.ITIMER_REAL, 0)
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, _end_at_once)
    signal.signal(signal.SIGALRM, _go_on_ending)
    raise Interrupted


def _is_being_heard(frame: FrameType | None) -> bool:
    """Return whether the signal interrupts the handler of an earlier one."""
    while frame and frame.f_code is not _interrupt.__code__:
        frame = frame.f_back
    return frame is not None


def _handle_later_signal(number: int, frame: FrameType | None) -> None:
    later = _go_on_ending if number == signal.SIGALRM else _end_at_once
    later(number, frame)


def _go_on_ending(number: int, frame: FrameType | None) -> None:
    """Ignore the time limit's signal: the launch is ending already."""


def _end_at_once(number: int, frame: FrameType | None) -> None:
    del number, frame
    for act in reversed(_LAST_ACTS):
        with suppress(OSError):  # a terminal that is gone
            act()
    os._exit(130)
