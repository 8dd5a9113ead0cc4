"""One run of chaos: two sweeps, what is done to them, and what is found at the end."""

import argparse
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tests.end_to_end.sweep_file import write_search, write_sweep
from tools.chaos import event_plan
from tools.chaos.checks import leftovers, wrong_records, wrong_tables
from tools.chaos.event_plan import Event, plan
from tools.chaos.events import do
from tools.chaos.faults import Link, SmallDisk
from tools.chaos.launches import Launches
from tools.chaos.reference import reference_of
from tools.chaos.world import Clock, World, mark_own_children, report_progress

NUM_EPOCHS = 8
_SECONDS_AN_EPOCH = 0.25
_TRIALS = 8  # of the search
_FEWEST_BETWEEN = 3  # epochs between two events, so that each meets a sweep that goes on
_TICK_SECONDS = 0.2


class Part(NamedTuple):
    """One sweep of a run.

    Attributes:
        options: Options of its launches.
        num_epochs: That all its trials report, about.
        counts: Event -> how often.
    """

    file: Path
    options: list[str]
    num_epochs: int
    counts: dict[str, int]
    joins_cluster: bool


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Run a seed, and return its figures."""
    mark_own_children(f"{options.seed}-{os.getpid()}")
    scratch = options.folder.resolve()
    folder = scratch / f"seed-{options.seed}-{os.getpid()}"
    means = [] if options.short else _means()
    parts = _parts(scratch / ("short" if options.short else "full"), means, is_short=options.short)
    chaos = Chaos(folder, options.seed, 60 * options.minutes, means)
    report_progress("the same sweeps undisturbed, while cluster and server start")
    with ThreadPoolExecutor() as at_once:  # trials sleep: two take little longer than one
        making = at_once.map(partial(_reference_of, scratch), parts)
        references = chaos.run(parts, making)
    for part, reference in zip(parts, references, strict=True):
        report = folder / "reports" / part.file.stem
        chaos.problems["wrong tables"] += list(wrong_tables(report, reference))
    if not any(chaos.problems.values()):
        shutil.rmtree(folder)
    return chaos.figures()


class Chaos:
    """One run: what was done, and what was found."""

    def __init__(self, folder: Path, seed: int, seconds: float, means: list[str]) -> None:
        self._seed = seed
        self._folder = folder
        self._means = means
        self._seconds = seconds
        self._begin()
        self._done: Counter[str] = Counter()
        self._codes: list[int] = []
        self.problems: dict[str, list[str]] = {"launches": [], "wrong tables": []}

    def run(self, parts: list[Part], making: Iterable[Path]) -> list[Path]:
        """Sweep the parts one after the other, and check the results.

        Args:
            parts: The sweeps.
            making: Ends when the undisturbed ones have ended.

        Returns:
            The undisturbed ones' reports.
        """
        with World(self._folder, self._seed, self._means) as world:
            references = list(making)
            self._begin()
            report_progress("cluster and server are there, and what is to come out")
            for part in parts:
                if not self.problems["launches"]:
                    self._sweep(part, world)
            world.end_disturbances()
            self.problems["launches"] += world.problems
            self.problems["records"] = list(wrong_records(world, NUM_EPOCHS))
            self.problems["leftovers"] = list(leftovers(world))
        return references

    def _begin(self) -> None:
        self._clock, self._deadline = Clock(), time.monotonic() + self._seconds

    def figures(self) -> dict[str, Any]:
        """Return what was done and found, as one line of a table to be."""
        problems = {name: sentences for name, sentences in self.problems.items() if sentences}
        for sentences in problems.values():
            for sentence in sentences:
                report_progress(f"WRONG: {sentence}")
        return {
            "seed": self._seed,
            "seconds": self._clock.seconds,
            "launches": len(self._codes),
            "exit_codes": dict(Counter(map(str, self._codes))),
            "events": dict(sorted(self._done.items())),
            "wrong": {name: len(sentences) for name, sentences in self.problems.items()},
            "problems": problems,
        }

    def _sweep(self, part: Part, world: World) -> None:
        arguments = ["run", str(part.file), *part.options, "--tracking-uri", world.proxy.address]
        arguments += ["--address", world.nodes.address] if part.joins_cluster else []
        launches = Launches(world, arguments, joins_cluster=part.joins_cluster)
        events = list(plan(self._seed, part.counts, part.num_epochs))
        begun, last = world.num_epochs(), -_FEWEST_BETWEEN
        while not launches.is_over:
            launches.tend()
            now = world.num_epochs() - begun
            has_gone_on = now >= min(last + _FEWEST_BETWEEN, part.num_epochs)
            due = [event for event in events if now >= event.after_epochs]
            if due and has_gone_on:
                if event := self._do_one(due, world, launches, now):
                    events.remove(event)
                    last = now
                elif now + 2 * _FEWEST_BETWEEN * len(events) > part.num_epochs:
                    world.end_disturbances()  # what lasts would keep the others from being done
            if time.monotonic() > self._deadline:
                launches.problems.append(
                    f"{part.file.stem} takes too long: {launches.last_lines()}"
                )
            time.sleep(_TICK_SECONDS)
        launches.close()
        self._codes += launches.codes
        self.problems["launches"] += launches.problems
        self.problems["launches"] += [f"there was no time for: {event.kind}" for event in events]
        report_progress(f"{self._clock.seconds} s: {part.file.stem}: exit codes {launches.codes}")

    def _do_one(self, due: list[Event], world: World, launches: Launches, now: int) -> Event | None:
        """Do the first event that can be done now: others may wait for one that lasts."""
        for event in due:
            if whom := do(event, world, launches):
                self._done[event.kind] += 1
                report_progress(
                    f"{self._clock.seconds} s: after {now} epochs: {event.kind}: {whom}"
                )
                return event
        return None


def _means() -> list[str]:
    """Return the kinds of events that the machine has the means for, and say which are skipped."""
    lacking = {event_plan.LINK_CUT: Link.lacking(), event_plan.DISK_FULL: SmallDisk.lacking()}
    for sentence in filter(None, lacking.values()):
        report_progress(f"skipped: {sentence}")
    return [kind for kind, sentence in lacking.items() if not sentence]


def _reference_of(scratch: Path, part: Part) -> Path:
    return reference_of(part.file, part.options, scratch)


def _parts(folder: Path, means: list[str], *, is_short: bool) -> list[Part]:
    folder.mkdir(parents=True, exist_ok=True)
    seeds = tuple(range(3 if is_short else 8))
    design = write_sweep(
        folder / "design.py", seeds=seeds, epochs=NUM_EPOCHS, seconds=_SECONDS_AN_EPOCH
    )
    done = event_plan.SHORT if is_short else event_plan.DESIGN
    counts = {**done, **dict.fromkeys(means, 1)}
    designed = Part(design, [], 3 * len(seeds) * NUM_EPOCHS, counts, joins_cluster=True)
    if is_short:
        return [designed]
    search = write_search(
        folder / "search.py", trials=_TRIALS, epochs=NUM_EPOCHS, seconds=_SECONDS_AN_EPOCH
    )
    one_at_a_time = ["--max-concurrent", "1"]  # so that what is proposed depends on nothing else
    num_epochs = _TRIALS * NUM_EPOCHS * 3 // 4 + 4 * NUM_EPOCHS  # half of them stopped half-way
    searched = Part(search, one_at_a_time, num_epochs, dict(event_plan.SEARCH), joins_cluster=False)
    return [designed, searched]
