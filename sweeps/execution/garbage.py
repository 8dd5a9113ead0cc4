"""Python's garbage collector in processes of our own, which load far more than they throw away.

While libraries load, next to nothing is garbage, and the collector looks through all that is there
again and again: a fifth of the time.
"""

import atexit
import gc
from collections.abc import Generator
from contextlib import contextmanager

_MADE_SINCE = 100_000  # objects; Python's own is 700


def collect_seldom() -> None:
    """Have a process that makes little but libraries look for garbage seldom, and not at its end.

    There it would look through all of them once more, which takes up to a second.
    """
    gc.set_threshold(_MADE_SINCE)
    atexit.register(gc.freeze)


@contextmanager
def not_collecting() -> Generator[None]:
    """Look for no garbage in the block, and from then on in nothing that is there at its end."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
