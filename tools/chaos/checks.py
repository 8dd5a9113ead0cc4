"""What must hold after a sweep, whatever was done to it: sentences on what does not."""

import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from sweeps.storage.file_lock import is_locked
from sweeps.storage.folder import Folder
from tests.end_to_end.expectations import EPOCH_METRICS
from tests.end_to_end.storage_view import RunFacts, outboxes, parent_runs, trial_runs
from tools.chaos.processes import marked, trainers
from tools.chaos.world import World

_COSTS = ("cost.", "report-runs.")
_TEMPORARY = (".tmp", ".unfinished", ".damaged")
_LEAVING_SECONDS = 60.0
_OF_STORE = re.compile(
    rb"(No|\d+) earlier sweeps? in this store looked at the same test images(\.|; [^.]*\.)"
    rb"|<code>[0-9a-f]{64}</code>"
)


def wrong_tables(produced: Path, reference: Path) -> Iterator[str]:
    """Yield the result files of a sweep that are not those of the reference, byte for byte.

    But for what depends on the store, where that of the reference has no other sweep: how many
    looked at the same test images, and the digest, which is of that number too.
    """
    names = {path.name for folder in (produced, reference) for path in folder.glob("*")}
    for name in sorted(name for name in names if not name.startswith(_COSTS)):
        path, expected = produced / name, reference / name
        if not path.is_file() or not expected.is_file():
            yield f"{path} is there in one of both only"
        elif _without_store(path) != _without_store(expected):
            yield f"{path} differs from the reference's"


def _without_store(path: Path) -> bytes:
    return _OF_STORE.sub(b"", path.read_bytes())


def wrong_records(world: World, num_epochs: int) -> Iterator[str]:
    """Yield what is wrong in the tracking server and in the cells' folders."""
    database, artifacts = world.server.database, world.server.artifacts
    runs = trial_runs(database, artifacts)
    outbox_facts = outboxes(world.storage)
    counts = Counter(run.tags["capsweep.trial_key"] for run in runs)
    yield from (f"trial {key} has {number} records" for key, number in counts.items() if number > 1)
    yield from (f"trial {key} has no record" for key in outbox_facts.keys() - counts.keys())
    for run in runs:
        yield from _wrong_run(run, num_epochs)
    for name, run in parent_runs(database).items():
        if run.status != "FINISHED":
            yield f"the record of the sweep {name} is {run.status}"
    for key, facts in outbox_facts.items():
        epochs = [epoch for epoch, _ in facts.epochs]
        if epochs != list(range(1, len(epochs) + 1)):
            yield f"the outbox of {key} tells of the epochs {epochs}"


def leftovers(world: World) -> Iterator[str]:
    """Yield processes, locks and files that should be gone; the cluster and the server run."""
    yield from _processes(world)
    for path in list(world.storage.rglob("*")):
        is_lock = path.name == "lock" or path.suffix == ".lock"
        with suppress(FileNotFoundError):
            if is_lock and path.is_file() and is_locked(Folder(path.parent), path.name):
                yield f"the lock {path} is held"
    for folder in (world.storage, world.folder / "reports"):
        for path in folder.rglob("*"):
            is_hidden = path.name.startswith(".") and folder != world.storage
            if is_hidden or any(end in path.name for end in _TEMPORARY):
                yield f"the temporary file {path} is left"


def _processes(world: World) -> Iterator[str]:
    """Yield what runs but cluster and server, once those that are ending had time for it."""
    deadline = time.monotonic() + _LEAVING_SECONDS
    remaining = _own_processes(world)
    while remaining and time.monotonic() < deadline:
        time.sleep(0.5)
        remaining = _own_processes(world)
    for process in remaining:
        with suppress(psutil.Error):
            yield f"process {process.pid} is left: {' '.join(process.cmdline())[:150]}"


def _own_processes(world: World) -> list[psutil.Process]:
    infrastructure = {process.pid for process in world.infrastructure()}
    busy = {process.pid for process in trainers(world.storage)}
    return [
        process for process in marked() if process.pid not in infrastructure or process.pid in busy
    ]


def _wrong_run(run: RunFacts, num_epochs: int) -> Iterator[str]:
    key = run.tags["capsweep.trial_key"]
    expected = {"FINISHED": "finished", "KILLED": "pruned"}.get(run.status)
    outcome = run.tags.get("capsweep.outcome")
    if outcome is None or outcome != expected:
        yield f"the record of {key} is {run.status} and {outcome}"
    last = int(run.tags.get("capsweep.epochs", 0)) if outcome == "pruned" else num_epochs
    for metric in EPOCH_METRICS:
        if (steps := run.steps.get(metric, [])) != list(range(1, last + 1)):
            yield f"the record of {key} has the epochs {steps} of {metric}"
    if outcome == "finished" and run.steps.get("test_error") != [num_epochs]:
        yield f"the record of {key} has the test errors of {run.steps.get('test_error')}"
