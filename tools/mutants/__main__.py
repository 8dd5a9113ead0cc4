"""Which small faults in the packages the tests find: seeded mutants, each against its tests.

    python -m tools.mutants draw --seed 1 --number 40 > tools/mutants/mutants.json
    python -m tools.mutants run tools/mutants/mutants.json --column before [--tree FOLDER]
    python -m tools.mutants run tools/mutants/mutants.json --column after --killed-in before

A mutant is one expression changed: a comparison turned, + for -, a number one higher, a condition
negated, a result or a call left out. `draw` takes as many of each package, one a function at most.
A mutant is named by module, function and the text of its lines, not by their numbers, so that a
list that was drawn at one commit can be run at later ones; where a text is gone, so is the mutant.
`run` applies each to a copy of the tree and runs, up to the first failure, the unmarked tests of
those files that import the mutated module, the closest five; it writes what it finds into the list.
Each is a fork of a process that has imported what the packages stand on, and nothing of theirs.
"""

import argparse
import ast
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from tools.mutants.changes import PACKAGES, Change, changes_of, modules_of, source_after

MOST_TEST_FILES = 5
MOST_PROCESSOR_SECONDS = 200
MOST_SECONDS = 900
LOADED = ("torch._dynamo", "torchvision", "mlflow.tracking", "sklearn.datasets")


def draw(tree: Path, seed: int, number: int) -> list[Change]:
    """Return as many changes of each package, by chance, and one a function at most."""
    chance = random.Random(seed)
    modules = modules_of(tree)
    drawn: list[Change] = []
    for index, package in enumerate(PACKAGES):
        share = number // len(PACKAGES) + (index < number % len(PACKAGES))
        changes = [
            change
            for module, path in modules.items()
            if module.split(".")[0] == package
            for change, _ in changes_of(module, path.read_text())
        ]
        chance.shuffle(changes)
        one_a_function: dict[tuple[str, str], Change] = {}
        for change in changes:
            one_a_function.setdefault((change.module, change.function), change)
        drawn += list(one_a_function.values())[:share]
    return drawn


# Which tests look at a module.


def names_in(path: Path) -> set[str]:
    """Return what a module defines."""
    body = ast.parse(path.read_text()).body
    kinds = (ast.FunctionDef, ast.ClassDef)
    targets = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    return {node.name for node in body if isinstance(node, kinds)} | {
        target.id for target in targets if isinstance(target, ast.Name)
    }


def closeness(test: Path, module: str, names: set[str]) -> tuple[int, int]:
    """Return how close a test file is to a module: named as it is, then how often it names it.

    Zeros where it imports nothing of it, neither from where it is nor through its package.
    """
    text = test.read_text()
    imported: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module == module:
            imported |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and f"{module}.".startswith(f"{node.module}."):
            accepted = names | {module.rpartition(".")[2]}
            imported |= {name.name for name in node.names if name.name in accepted}
        elif isinstance(node, ast.Import):
            imported |= {name.name for name in node.names if name.name == module}
    if not imported:
        return (0, 0)
    own_name = test.stem == "test_" + module.rpartition(".")[2]
    return (int(own_name), sum(text.count(name) for name in imported))


def tests_of(module: str, tree: Path, path: Path) -> list[str]:
    """Return the test files that import a module, the closest first; else those of its folder."""
    names = names_in(path)
    tests = sorted((tree / "tests").rglob("test_*.py"))
    tests = [test for test in tests if "end_to_end" not in test.parts]
    near = {test: closeness(test, module, names) for test in tests}
    closest = sorted((test for test in tests if near[test][1]), key=lambda test: near[test])[::-1]
    if not closest:
        folder = tree / "tests" / path.relative_to(tree).parent
        while not any(folder.rglob("test_*.py")):
            folder = folder.parent
        closest = sorted(folder.glob("test_*.py"))
    return [str(test.relative_to(tree)) for test in closest[:MOST_TEST_FILES]]


# Running them.


class FirstFailure:
    """A plugin of pytest that keeps the name of the first test that fails."""

    def __init__(self) -> None:
        self.name = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.name = self.name or (report.nodeid if report.failed else "")

    def pytest_collectreport(self, report: Any) -> None:
        self.name = self.name or (f"collecting {report.nodeid}" if report.failed else "")


def run_in_fork(tree: Path, tests: list[str], result: Path) -> None:
    """Run test files in this process, which is to end with it, and write the first that fails."""
    import pytest

    os.chdir(tree)
    sys.path[0] = str(tree)
    for name in [name for name in sys.modules if name.partition(".")[0] == "tools"]:
        del sys.modules[name]  # tests use those of the tree
    os.environ["PYTHONPATH"] = str(tree)
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_PROCESSOR_SECONDS, MOST_PROCESSOR_SECONDS))
    first = FirstFailure()
    flags = [
        "-x",
        "-q",
        *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
        "-p",
        "no:cacheprovider",
        "--basetemp",
        str(result.with_suffix(".d")),
    ]
    code = pytest.main([*flags, *tests], plugins=[first])
    for package in PACKAGES:
        module = sys.modules.get(package)
        assert module is None or str(module.__file__).startswith(str(tree)), module
    if first.name:
        result.write_text(f"killed: {first.name}")
    elif code == 0:
        result.write_text("survived")


def outcome_of(tree: Path, tests: list[str], scratch: Path) -> str:
    """Return the first test that fails, or that none does, that they never end or cannot be run."""
    result = scratch / "result"
    result.unlink(missing_ok=True)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        log = os.open(scratch / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        try:
            run_in_fork(tree, tests, result)
        except BaseException:  # noqa: BLE001 - a fork that fails must not go on as its parent
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
    end = time.monotonic() + MOST_SECONDS
    ended, status = os.waitpid(child, os.WNOHANG)
    while ended == 0:
        if time.monotonic() > end:
            os.killpg(child, 9)
        time.sleep(0.1)
        ended, status = os.waitpid(child, os.WNOHANG)
    if os.WIFSIGNALED(status):
        return "killed: time limit"
    return result.read_text() if result.exists() else "not run"


def killer(entry: dict[str, Any], column: str, tree: Path) -> list[str]:
    """Return the file of the test that killed a mutant, wherever it is by now."""
    test = entry["outcomes"][column].partition(": ")[2].partition("::")[0]
    paths = sorted((tree / "tests").rglob(Path(test).name)) if test.startswith("tests/") else []
    return [str(path.relative_to(tree)) for path in paths]


def run(tree: Path, listed: Path, column: str, since: str | None) -> None:
    """Run each mutant, write its outcome beside it as soon as it is known, and print it.

    Of an earlier column only those that were killed are run, the file that killed them first.
    """
    entries: list[dict[str, Any]] = json.loads(listed.read_text())
    for name in LOADED:
        __import__(name)
    with tempfile.TemporaryDirectory() as folder:
        scratch, copy = Path(folder), Path(folder) / "tree"
        listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        for name in subprocess.check_output(listing, cwd=tree, text=True).splitlines():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(tree / name, copy / name)
        modules = modules_of(copy)
        for entry in entries:
            earlier = entry.get("outcomes", {}).get(since, "")
            if since is not None and not earlier.startswith("killed"):
                continue
            change = Change(*(entry[field] for field in Change._fields))
            changed, began = source_after(change, modules), time.monotonic()
            outcome = "gone"
            if changed is not None:
                path = modules[changed[0]]
                before = path.read_text()
                tests = [] if since is None else killer(entry, since, copy)
                tests += [test for test in tests_of(changed[0], copy, path) if test not in tests]
                path.write_text(changed[1])
                outcome = outcome_of(copy, tests, scratch)
                path.write_text(before)
            entry.setdefault("outcomes", {})[column] = outcome
            listed.write_text(json.dumps(entries, indent=1) + "\n")
            seconds = time.monotonic() - began
            print(f"{seconds:6.1f} s  {change.module} {change.function}: {outcome}", flush=True)
    outcomes = [entry.get("outcomes", {}).get(column, "not asked") for entry in entries]
    counts = Counter(outcome.split(":")[0] for outcome in outcomes)
    print(", ".join(f"{number} {outcome}" for outcome, number in sorted(counts.items())))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tools.mutants", description=(__doc__ or "").splitlines()[0]
    )
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw", help="print a list of mutants")
    drawing.add_argument("--seed", type=int, default=1)
    drawing.add_argument("--number", type=int, default=40)
    running = commands.add_parser("run", help="run a list of mutants")
    running.add_argument("list", type=Path)
    running.add_argument("--column", required=True, help="what the outcomes are called in the list")
    running.add_argument("--killed-in", metavar="COLUMN", help="only those that were killed there")
    for command in (drawing, running):
        command.add_argument("--tree", type=Path, default=Path.cwd())
    options = parser.parse_args()
    if options.command == "draw":
        drawn = draw(options.tree, options.seed, options.number)
        print(json.dumps([change._asdict() for change in drawn], indent=1))
        return
    os.environ["OMP_NUM_THREADS"] = "1"  # set before torch is imported: a fork takes no threads
    sys.dont_write_bytecode = True  # a mutant may have its file's size and second
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    run(options.tree.resolve(), options.list, options.column, options.killed_in)


if __name__ == "__main__":
    main()
