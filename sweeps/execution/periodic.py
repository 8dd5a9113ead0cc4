"""A function that is called every few seconds while a block runs."""

import contextvars
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager


@contextmanager
def every(
    seconds: float, call: Callable[[], object], *, join_seconds: float | None = None
) -> Generator[None]:
    """Call a function in a thread of its own, again and again, while the block runs.

    The first call comes after `seconds`. A call that raises ends the calls, not the block. The
    function sees the context variables of the caller, which a notebook needs for its displays.

    Args:
        seconds: Between the end of a call and the next one.
        call: Its result is ignored.
        join_seconds: How long the end of the block waits for a call that is running; None to wait
            until it returns.
    """
    is_over = threading.Event()

    def repeat() -> None:
        while not is_over.wait(seconds):
            call()

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(repeat,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(join_seconds)
