"""How tests wait: for a condition, and with patience, as other people use the machine too."""

import time
from collections.abc import Callable

PATIENCE_SECONDS = 600.0
"""For what comes within seconds on a quiet machine. Only a test that fails ever waits so long."""


_LONGEST_PAUSE_SECONDS = 0.25


def wait_until(is_so: Callable[[], object], pause_seconds: float = 0.02) -> None:
    """Wait until something holds, which is asked for ever less often: to ask may start a process.

    Args:
        is_so: Whether it holds.
        pause_seconds: Before it is asked for the second time.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(pause_seconds)
        pause_seconds = max(pause_seconds, min(1.05 * pause_seconds, _LONGEST_PAUSE_SECONDS))
