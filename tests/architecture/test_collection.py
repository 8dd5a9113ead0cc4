"""Every process collects the same tests, as the workers of pytest-xdist have to.

They stop where one has collected others than the rest. So no test's name may depend on the second
of the clock, on the order of a set, on where an object lies in memory or on the name of a folder.
Cost: about 10 processor seconds, as the whole suite is imported once more: what another process
collects is compared with what this one has. Where that is less than all, two others are compared.
So it is one of the slow tests. In every run of the fast ones pytest-xdist compares its own workers,
whose hash seeds and folders differ.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import COLLECTED
from tests.end_to_end.command import clean_environment
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
MOST_CHARACTERS = 300  # a test's sentence, and what a person reads of its parameters
UNREADABLE = re.compile(
    r"\\[xuU][0-9a-f]{2}"  # how pytest writes bytes, and characters that are not printable ASCII
    r"|0x[0-9a-f]{6}"
)
CLOCK = """\
import gc, os, time

gc.disable()  # nothing that is imported goes before the process does
shift = int(os.environ["CLOCK_SHIFT_SECONDS"])
seconds, nanoseconds = time.time, time.time_ns
time.time = lambda: seconds() + shift
time.time_ns = lambda: nanoseconds() + shift * 10**9
"""
COLLECT = (
    *("-m", "pytest", "--collect-only", "-q", "-m", "", "-p", "shifted_clock"),
    # which take time and change no name
    *("-p", "no:cacheprovider", "-p", "no:unraisableexception", "--assert=plain"),
)


def collected(folder: Path, hash_seed: int, shift_seconds: int) -> list[str]:
    """Return the ids of all tests, the slow ones too, as another process sees them."""
    folder.mkdir()
    (folder / "shifted_clock.py").write_text(CLOCK)
    environment = clean_environment() | {
        "PYTHONHASHSEED": str(hash_seed),
        "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]),
        "CLOCK_SHIFT_SECONDS": str(shift_seconds),
        "TMPDIR": str(folder),
        "JAXTYPING_DISABLE": "1",
    }
    done = subprocess.run(
        [sys.executable, *COLLECT],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return [line for line in done.stdout.splitlines() if "::" in line]


def is_readable(name: str) -> bool:
    """Return whether a name is short, and holds neither bytes nor an address of the memory."""
    return len(name) <= MOST_CHARACTERS and name.isascii() and not UNREADABLE.search(name)


def own_names(config: pytest.Config) -> list[str] | None:
    """Return the ids of all tests as this process collected them; None where it has but some."""
    mine = config.stash[COLLECTED]
    files = {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")}
    return mine if {name.split("::")[0] for name in mine} == files else None


def test_two_processes_collect_the_same_tests_by_names_that_a_person_can_read(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    others = collected(tmp_path / "another", 2, 12_345_678)
    names = own_names(request.config) or collected(tmp_path / "one", 1, 0)
    assert len(names) > 4000
    assert [pair for pair in zip(names, others, strict=False) if pair[0] != pair[1]] == []
    assert len(names) == len(others)
    assert len(set(names)) == len(names)
    assert [name for name in names if not is_readable(name)] == []
