"""Processes of our own look for no garbage while they load; the habit is left as it was."""

import subprocess
import sys

_PROGRAM = """
import atexit, gc
from sweeps.execution.garbage import collect_seldom, not_collecting
made = gc.get_threshold()
"""


def said_by(program: str) -> list[str]:
    """Return what a program prints, in a process whose collector nothing else has touched."""
    command = [sys.executable, "-c", _PROGRAM + program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_nothing_is_collected_in_the_block_and_what_is_there_is_passed_over() -> None:
    said = said_by(
        "with not_collecting(): print(gc.isenabled(), gc.get_freeze_count())\n"
        "print(gc.isenabled(), gc.get_freeze_count() > 0, gc.get_threshold() == made)"
    )
    assert said == ["False", "0", "True", "True", "True"]


def test_a_collector_that_was_off_stays_off_and_an_error_leaves_it_on() -> None:
    said = said_by(
        "try:\n    with not_collecting(): raise ValueError\n"
        "except ValueError: print(gc.isenabled())\n"
        "gc.disable()\nwith not_collecting(): pass\nprint(gc.isenabled())"
    )
    assert said == ["True", "False"]


def test_one_that_collects_seldom_looks_through_nothing_at_its_end() -> None:
    said = said_by(
        "atexit.register(lambda: print(gc.get_freeze_count() > 0))\n"  # done after what follows
        "collect_seldom()\nprint(gc.isenabled(), gc.get_threshold()[0] > 10_000)"
    )
    assert said == ["True", "True", "True"]
