"""The end of a process that has said all that it has to say."""

import atexit
import os
import sys
import threading


def end_at_once(exit_code: int) -> None:
    """End this process without taking apart what it has loaded: a fifth of a second after torch.

    What was registered for the end is done, and all that was printed is written. Returns where
    that is not the whole of it, so that Python ends as it does: another thread has work to do
    still, or nobody takes what was printed.

    Args:
        exit_code: What the process ends with.
    """
    others = [one for one in threading.enumerate() if one is not threading.current_thread()]
    if not all(one.daemon for one in others):
        return
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage] - no other way to have it done
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):  # nobody reads there, or it was closed
        return
    os._exit(exit_code)
