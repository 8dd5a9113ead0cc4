"""Python's garbage collector in capsweep's processes, which import a lot and throw away little.

While libraries are imported there is hardly any garbage, and the collector searches all objects
over and over: that takes a fifth of the time.
"""

import atexit
import gc
from collections.abc import Generator
from contextlib import contextmanager

_NUM_NEW_OBJECTS = 100_000  # before a collection; Python's default is 700


def collect_seldom() -> None:
    """Collect garbage seldom in this process, and not when it ends.

    At the end a collection would search all imported modules, which takes up to a second.
    """
    gc.set_threshold(_NUM_NEW_OBJECTS)
    atexit.register(gc.freeze)


@contextmanager
def not_collecting() -> Generator[None]:
    """Collect no garbage in the block; objects that exist at its end are never searched later."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
