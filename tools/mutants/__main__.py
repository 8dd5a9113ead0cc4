"""Mutation tests of the packages: seeded mutants, each against its own tests.

    python -m tools.mutants draw LIST --seed 1 --number 150
    python -m tools.mutants draw LIST --seed 2 --number 15 --suite slow --within MODULE MODULE
    python -m tools.mutants run LIST --column after --processes 2
    python -m tools.mutants run LIST --column before --survived-in after --tree FOLDER
    python -m tools.mutants compare LIST --before before --after after

A mutant is one expression changed: a comparison turned or moved by its edge, + for -, a constant
moved, a condition negated, two arguments exchanged, a result or a call left out. `draw` adds to a
list as many of each package and kind, one a function at most.
A mutant is named by module, function and the text of its lines, not by their numbers, so that a
list that was drawn at one commit can be run at later ones; where a text is gone, so is the mutant.
`run` puts each into a copy of the tree and runs, up to the first failure, those unmarked tests
whose files import the mutated module, then those of its folder and the golden ones: five files,
then all others. A mutant of the slow suite has the slow tests of these files, then of those that
test whole programs. A survivor may still be seen by a test elsewhere that reaches its module
through others, as most tests of commands do.
A test that fails without the mutant too is no verdict. What is found is written into the list at
once, so that a run that was stopped goes on with the others. A mutant that changes nothing that a
test could see has "equivalent" in the list, with the reason, and is not run.
"""

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tools.mutants.changes import PACKAGES, Change
from tools.mutants.drawing import draw
from tools.mutants.verdicts import LOADED, SUITES, Copy, Suite

Entry = dict[str, Any]
MEMORY_DISK = Path("/dev/shm")


def change_of(entry: Entry) -> Change:
    return Change(*(entry[field] for field in Change._fields))


def name_of(entry: Entry) -> str:
    return f"{entry['module']} {entry['function']}: {entry['text']} -> {entry['mutated']}"


def outcome_in(column: str | None, entry: Entry) -> str:
    """Return killed, survived, gone, not run, or nothing."""
    return entry.get("outcomes", {}).get(column, "").partition(":")[0]


def read(listed: Path) -> list[Entry]:
    return json.loads(listed.read_text()) if listed.exists() else []


def write(listed: Path, entries: list[Entry]) -> None:
    new = listed.with_suffix(".new")
    new.write_text(json.dumps(entries, indent=1) + "\n")
    new.replace(listed)


def add_drawn(options: argparse.Namespace) -> None:
    """Add mutants to a list."""
    entries = read(options.list)
    drawn = draw(
        options.tree,
        options.seed,
        options.number,
        within=options.within,
        without=map(change_of, entries),
    )
    entries += [{"suite": options.suite, **change._asdict()} for change in drawn]
    write(options.list, entries)
    counts = Counter(change.kind for change in drawn)
    print(", ".join(f"{number} {kind}" for kind, number in sorted(counts.items())))


def is_to_run(entry: Entry, options: argparse.Namespace) -> bool:
    """Return whether a mutant has no verdict yet, and is one that is asked for."""
    return (
        entry["suite"] == options.suite
        and "equivalent" not in entry
        and outcome_in(options.column, entry) in {"", "not run"}
        and (options.killed_in is None or outcome_in(options.killed_in, entry) == "killed")
        and (options.survived_in is None or outcome_in(options.survived_in, entry) == "survived")
    )


def killer(entry: Entry, column: str | None) -> str | None:
    """Return the name of the file of the test that killed a mutant."""
    test = entry.get("outcomes", {}).get(column, "").partition(": ")[2]
    return Path(test.partition("::")[0]).name or None


copies: list[Copy] = []  # one, of this process


def open_copy(tree: Path, suite: Suite, folder: str) -> None:
    copies.append(Copy(tree, Path(tempfile.mkdtemp(dir=folder)), suite))


def verdict_of(entry: Entry, tests: list[str], killed_in: str | None) -> tuple[Entry, str, float]:
    began = time.monotonic()
    outcome = copies[0].verdict(change_of(entry), tests, killer(entry, killed_in))
    return entry, outcome, time.monotonic() - began


def run(options: argparse.Namespace) -> None:
    """Run each mutant, write its outcome into the list as soon as it is known, and print it."""
    entries = [entry for entry in read(options.list) if is_to_run(entry, options)]
    entries = entries[: options.number]
    for entry, outcome, seconds in verdicts_of(entries, options) if entries else ():
        record(options.list, entry, options.column, outcome)
        print(f"{seconds:6.1f} s  {name_of(entry)}: {outcome}", flush=True)
    asked_for = [entry for entry in read(options.list) if entry["suite"] == options.suite]
    counts = Counter(outcome_in(options.column, entry) or "not asked" for entry in asked_for)
    print(", ".join(f"{number} {outcome}" for outcome, number in sorted(counts.items())))


def verdicts_of(
    entries: list[Entry], options: argparse.Namespace
) -> Iterator[tuple[Entry, str, float]]:
    """Yield mutants with their outcomes and seconds, as they come from the processes."""
    suite = SUITES[options.suite]
    if options.marks is not None:
        suite = suite._replace(marks=options.marks)
    for name in LOADED:
        __import__(name)
    disk = MEMORY_DISK if MEMORY_DISK.is_dir() else None
    with tempfile.TemporaryDirectory(dir=disk, ignore_cleanup_errors=True) as folder:
        opening = (options.tree.resolve(), suite, folder)
        open_copy(*opening)
        tests = copies.pop().test_files()
        print(f"{len(tests)} files with tests, {len(entries)} mutants to run", flush=True)
        asked = partial(verdict_of, tests=tests, killed_in=options.killed_in)
        context = multiprocessing.get_context("fork")
        with context.Pool(options.processes, open_copy, opening) as pool:
            yield from pool.imap_unordered(asked, entries)


def record(listed: Path, entry: Entry, column: str, outcome: str) -> None:
    """Write an outcome into the list as it is by now: a reason may have been added to it."""
    entries = read(listed)
    for listed_entry in entries:
        if change_of(listed_entry) == change_of(entry):
            listed_entry.setdefault("outcomes", {})[column] = outcome
    write(listed, entries)


def compare(entries: list[Entry], before: str, after: str) -> int:
    """Print what was killed and survives, what survives both, and what has no verdict.

    Returns:
        How many were lost, or may have been.
    """
    survivors = [entry for entry in entries if outcome_in(after, entry) == "survived"]
    killed = [entry for entry in survivors if outcome_in(before, entry) == "killed"]
    undecided = [
        entry
        for entry in entries
        if "equivalent" not in entry and outcome_in(after, entry) in {"", "not run"}
    ]
    groups = {
        f"killed in {before}, survive in {after}": killed,
        f"survive in {before} and {after}": [
            entry for entry in survivors if outcome_in(before, entry) == "survived"
        ],
        f"survive in {after}, not run in {before}": [
            entry for entry in survivors if not outcome_in(before, entry)
        ],
        f"without a verdict in {after}": undecided,
    }
    for title, group in groups.items():
        print(f"{len(group)} {title}", *map(name_of, group), sep="\n  ")
    return len(killed) + len(undecided)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tools.mutants", description=(__doc__ or "").splitlines()[0]
    )
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw", help="add mutants to a list")
    drawing.add_argument("--seed", type=int, default=1)
    drawing.add_argument("--number", type=int, default=150)
    drawing.add_argument("--within", nargs="+", metavar="MODULE", default=PACKAGES)
    running = commands.add_parser("run", help="run those of a list that have no outcome yet")
    running.add_argument("--column", required=True, help="what the outcomes are called in the list")
    running.add_argument("--killed-in", metavar="COLUMN", help="only those that were killed there")
    running.add_argument("--survived-in", metavar="COLUMN", help="only those that survived there")
    running.add_argument("--marks", metavar="EXPRESSION", help="in place of the suite's own")
    running.add_argument("--processes", type=int, default=1)
    running.add_argument("--number", type=int, help="how many at most")
    for command in (drawing, running):
        command.add_argument("--tree", type=Path, default=Path.cwd())
        command.add_argument("--suite", choices=sorted(SUITES), default="test")
    comparing = commands.add_parser("compare", help="name the mutants that survive")
    comparing.add_argument("--before", metavar="COLUMN", required=True)
    comparing.add_argument("--after", metavar="COLUMN", required=True)
    for command in commands.choices.values():
        command.add_argument("list", type=Path)
    options = parser.parse_args()
    if options.command != "draw" and not options.list.is_file():
        parser.error(f"There is no list {options.list}: `draw` makes one.")
    if options.command == "draw":
        add_drawn(options)
    elif options.command == "compare":
        sys.exit(compare(read(options.list), options.before, options.after) > 0)
    else:
        os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported: a fork takes no threads
        run(options)


if __name__ == "__main__":
    main()
