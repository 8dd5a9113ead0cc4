"""A process in the place of one of Ray's agents: it does nothing, and ends with its parent.

Run by its path, so that it loads nothing of the package, with the number of the engine's process:
where its parent has died before it could be asked for, that one's end is the last sign.
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
    """Wait for the end of either."""
    parent = os.getppid()
    while os.getppid() == parent and _lives(int(sys.argv[1])):
        time.sleep(1)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
