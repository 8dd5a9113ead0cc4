"""Designs that an earlier version began and was broken off in are ended by this one as by that.

A search is refused, as its rules are others now.

What they end in was written by the same earlier version, unbroken. As the last bit of a loss hangs
on the type of the machine, the numbers in `trials.csv` are compared to rounding, all else to the
byte.
"""

import csv
import json
import math
import re
from pathlib import Path

import pytest

from tests.end_to_end.command import Terminal
from tests.end_to_end.expectations import expect_no_run_left_running
from tests.end_to_end.storage_view import outboxes
from tests.golden.stores.archive import STORAGE, files_of
from tests.golden.stores.questions import (
    FINISHED_DESIGN,
    INTERRUPTED_DESIGN,
    KILLED_SEARCH,
    Store,
    report_files,
)

pytestmark = pytest.mark.slow

TRIALS = "trials.csv"
# of all inputs: losses differ in their last digits from one kind of machine to another
_DIGEST = re.compile(rb"<code>[0-9a-f]{64}</code>")
NUMBER = re.compile(r"-?\d+(\.\d*)?(e-?\d+)?")

PAIRS = [(INTERRUPTED_DESIGN, FINISHED_DESIGN)]


@pytest.mark.parametrize(
    ("broken_off", "unbroken"), PAIRS, ids=[broken_off.name for broken_off, _ in PAIRS]
)
def test_a_sweep_that_an_earlier_version_began_goes_on_to_the_same_results(
    broken_off: Store, unbroken: Store, terminal: Terminal
) -> None:
    broken_off.unpacked(terminal.folder)
    begun = outboxes(terminal.storage)
    filled = finals(terminal.folder)
    half_way = unfinished(terminal.storage)
    assert filled
    assert half_way

    ended = terminal.run(*broken_off.run_again)

    assert ended.code == 0, ended.explained()
    made = results(report_files(broken_off, terminal.folder))
    then = results(files_of(unbroken.reports))
    expect_the_same_trials(made.pop(TRIALS), then.pop(TRIALS))
    assert [name for name in made.keys() | then.keys() if made.get(name) != then.get(name)] == []
    assert current_manifest(terminal.folder) in manifests(unbroken)
    now = outboxes(terminal.storage)
    for key, told in begun.items():
        assert now[key].epochs[: len(told.epochs)] == told.epochs, "nothing is told twice"
        expect_no_epoch_twice(now[key].epochs)
    assert {key: finals(terminal.folder)[key] for key in filled} == filled
    for key, epochs in half_way.items():
        log = (terminal.storage / "cells" / key / "log.txt").read_text()
        assert f"going on after epoch {epochs}" in log, "from the checkpoint that was there"
        assert now[key].went_on()
    expect_no_run_left_running(terminal.storage)


def test_a_search_that_an_earlier_version_left_unfinished_is_refused_and_loses_nothing(
    terminal: Terminal,
) -> None:
    KILLED_SEARCH.unpacked(terminal.folder)
    filled = finals(terminal.folder)

    ended = terminal.run(*KILLED_SEARCH.run_again)

    assert ended.code == 2
    assert "was begun by an earlier release" in ended.errors
    assert "finish it with that release" in ended.errors
    assert finals(terminal.folder) == filled


def expect_the_same_trials(made: bytes, then: bytes) -> None:
    """Check that two tables of trials are equal, their numbers but for the last digits."""
    tables = (csv.reader(table.decode().splitlines()) for table in (made, then))
    for now, before in zip(*tables, strict=True):
        differing = [pair for pair in zip(now, before, strict=True) if not are_alike(*pair)]
        assert differing == []


def are_alike(cell: str, other: str) -> bool:
    """Return whether two cells are equal, or numbers that two trainings differ in by rounding."""
    if NUMBER.fullmatch(cell) and NUMBER.fullmatch(other):
        return math.isclose(float(cell), float(other), rel_tol=1e-3)
    return cell == other


def expect_no_epoch_twice(epochs: list[tuple[int, int]]) -> None:
    """Check that epochs follow each other from the first."""
    assert [epoch for epoch, _ in epochs] == list(range(1, len(epochs) + 1))


def finals(folder: Path) -> dict[str, bytes]:
    """Return the final records of the cells that are filled."""
    paths = (folder / STORAGE).glob("cells/*/final.json")
    return {path.parent.name: path.read_bytes() for path in paths}


def unfinished(storage: Path) -> dict[str, int]:
    """Return how many epochs each trial has told of that was broken off in its middle."""
    begun = [path.parent for path in storage.glob("cells/*/checkpoint.safetensors")]
    lines = {cell.name: (cell / "outbox.jsonl").read_text().splitlines() for cell in begun}
    last = {key: json.loads(told[-1]) for key, told in lines.items()}
    return {key: one["epoch"]["epoch"] for key, one in last.items() if one["type"] == "epoch"}


def results(report: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files of a report that only trial keys decide."""
    return {
        name: _DIGEST.sub(b"", content)
        for name, content in report.items()
        if not name.startswith(("cost.", "report-runs."))
    }


def current_manifest(folder: Path) -> bytes:
    """Return the manifest that a sweep's own run has for people to read."""
    (path,) = (folder / STORAGE).glob("artifacts/*/artifacts/manifest.json")
    return path.read_bytes()


def manifests(store: Store) -> list[bytes]:
    """Return the manifest that a kept sweep has ended with."""
    files = files_of(store.archive)
    return [text for name, text in files.items() if name.endswith("/artifacts/manifest.json")]
