"""All tests are collected alike by every process, and each is run by one target of the Makefile.

The workers of pytest-xdist stop where one has collected others than the rest. So no test's name may
depend on the second of the clock, on the order of a set, on where an object lies in memory or on
the name of a folder.
Cost: about 10 processor seconds, as the whole suite is imported once more: what another process
collects is compared with what this one has. Where that is less than all, two others are compared.
So these are slow tests. In every run of the fast ones pytest-xdist compares its own workers,
whose hash seeds and folders differ.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import COLLECTED
from tests.end_to_end.command import clean_environment
from tests.waiting import PATIENCE_SECONDS

ROOT = Path(__file__).parents[2]
MOST_CHARACTERS = 300  # a test's sentence, and what a person reads of its parameters
UNREADABLE = re.compile(
    r"\\[xuU][0-9a-f]{2}"  # how pytest writes bytes, and characters that are not printable ASCII
    r"|0x[0-9a-f]{6}"
)
PLUGIN = """\
import gc, json, os, time
from pathlib import Path

gc.disable()  # nothing that is imported goes before the process does
shift = int(os.environ["CLOCK_SHIFT_SECONDS"])
seconds, nanoseconds = time.time, time.time_ns
time.time = lambda: seconds() + shift
time.time_ns = lambda: nanoseconds() + shift * 10**9

def pytest_collection_finish(session):
    marks = {item.nodeid: [mark.name for mark in item.iter_markers()] for item in session.items}
    assert len(marks) == len(session.items)
    Path(__file__).with_name("marks.json").write_text(json.dumps(marks))
"""
COLLECT = (
    *("-m", "pytest", "--collect-only", "-q", "-m", "", "-p", "shifted_clock_and_marks"),
    # which take time and change no name
    *("-p", "no:cacheprovider", "-p", "no:unraisableexception", "--assert=plain"),
)

# what `.ci/run` runs; `make test-plain-ray` repeats tests of `make test-slow`
STAGES = ("test", "test-slow", "test-plain-ray", "test-cluster")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")

Marks = Mapping[str, Collection[str]]
"""The names of a test's marks, by the id of the test."""


def collected(folder: Path, hash_seed: int, shift_seconds: int) -> Marks:
    """Return all tests with their marks, the slow ones too, as another process sees them."""
    folder.mkdir()
    (folder / "shifted_clock_and_marks.py").write_text(PLUGIN)
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
    return json.loads((folder / "marks.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def marks(tmp_path_factory: pytest.TempPathFactory) -> Marks:
    return collected(tmp_path_factory.mktemp("collected") / "another", 2, 12_345_678)


class Selection(NamedTuple):
    """The tests that a target of the Makefile runs.

    Attributes:
        expression: Of marks, which a test has to fulfil.
        places: Files and folders; none where it is all.
    """

    expression: str
    places: Collection[str]

    def takes(self, file: str, marks: Collection[str]) -> bool:
        """Return whether a test of this file and these marks is run."""
        places = {file, *map(str, Path(file).parents)}
        return self.fits(marks) and (not self.places or bool(places & {*self.places}))

    def fits(self, marks: Collection[str]) -> bool:
        """Return whether marks fulfil the expression, whose syntax is Python's."""
        return bool(eval(self.expression, {}, defaultdict(bool, dict.fromkeys(marks, True))))


def selection(target: str, config: pytest.Config) -> Selection:
    """Return what a target runs: by its last pytest, as its prerequisites' come before."""
    dry = subprocess.run(
        ["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True, check=True
    )
    *_, typed = re.findall(r"\.venv/bin/pytest ([^;&|\n]*)", dry.stdout.replace("\\\n", " "))
    printing = ["bash", "-c", f"printf '%s\\n' {typed}"]
    expanded = subprocess.run(printing, cwd=ROOT, capture_output=True, text=True, check=True)
    parser = argparse.ArgumentParser()
    parser.add_argument("places", nargs="*")
    parser.add_argument("-m")
    parser.add_argument("-n")
    parser.add_argument("--dist")
    read, _ = parser.parse_known_intermixed_args(
        [*config.getini("addopts"), *expanded.stdout.splitlines()]
    )
    return Selection(read.m, read.places)


def is_readable(name: str) -> bool:
    """Return whether a name is short, and holds neither bytes nor an address of the memory."""
    return len(name) <= MOST_CHARACTERS and name.isascii() and not UNREADABLE.search(name)


def own_names(config: pytest.Config) -> list[str] | None:
    """Return the ids of all tests as this process collected them; None where it has but some."""
    mine = config.stash[COLLECTED]
    files = {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")}
    return mine if {name.split("::")[0] for name in mine} == files else None


@pytest.mark.nightly  # pytest-xdist itself refuses two processes that collect other tests
def test_two_processes_collect_the_same_tests_by_names_that_a_person_can_read(
    tmp_path: Path, request: pytest.FixtureRequest, marks: Marks
) -> None:
    others = [*marks]
    names = own_names(request.config) or [*collected(tmp_path / "one", 1, 0)]
    assert len(names) > 4000
    assert [pair for pair in zip(names, others, strict=False) if pair[0] != pair[1]] == []
    assert len(names) == len(others)
    assert [name for name in names if not is_readable(name)] == []


@pytest.mark.slow
def test_each_test_is_run_by_one_target_or_needs_a_gpu(
    request: pytest.FixtureRequest, marks: Marks
) -> None:
    targets = {target: selection(target, request.config) for target in (*STAGES, "test-nightly")}
    repeated = targets.pop("test-plain-ray")
    kinds = {(name.partition("::")[0], frozenset(of_test)) for name, of_test in marks.items()}
    by = {
        (file, of_test): [
            target for target, selection in targets.items() if selection.takes(file, of_test)
        ]
        for file, of_test in kinds
    }
    assert {kind: taken for kind, taken in by.items() if len(taken) != ("gpu" not in kind[1])} == {}
    again = [kind for kind in kinds if repeated.takes(*kind)]
    assert again
    assert [kind for kind in again if by[kind] != ["test-slow"]] == []


@pytest.mark.parametrize("target", STAGES)
def test_no_target_but_its_own_runs_what_is_nightly(
    target: str, request: pytest.FixtureRequest
) -> None:
    taken = selection(target, request.config)
    assert taken.fits([]) or taken.fits(["slow"]) or taken.fits(["cluster"])
    for mark in ("slow", "cluster", "long"):
        assert not taken.fits([mark, "nightly"])


def test_all_targets_are_run_by_ci_and_before_what_is_nightly() -> None:
    declared = re.findall(r"^(test[\w-]*):", MAKEFILE, re.MULTILINE)
    assert {*declared} == {*STAGES, "test-nightly"}
    (first,) = re.findall(r"^test-nightly: (test.*)$", MAKEFILE, re.MULTILINE)
    assert first.split() == [*STAGES]
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.findall(r"^make ([\w-]+)$", ci, re.MULTILINE) == [*STAGES]
