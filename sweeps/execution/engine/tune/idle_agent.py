"""A process in place of one of Ray's agents: it does nothing and ends with its parent.

It is run by its path, so that it loads nothing of the package, with the id of the engine's process:
if its parent has died before this one started, it ends with the engine.
"""

import os
import sys
import time


def _lives(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


def main() -> int:
    """Wait until either process ends."""
    parent = os.getppid()
    while os.getppid() == parent and _lives(int(sys.argv[1])):
        time.sleep(1)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
