"""What tests say of a mutant: each is put into a copy of the tree, and run in a fork.

The process that forks has imported what the packages stand on, and nothing of theirs.
"""

import os
import resource
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tools.mutants.changes import PACKAGES, Change, modules_of, source_after
from tools.mutants.closest_tests import importers, whole_programs

CLOSEST = 5
LOADED = ("torch._dynamo", "torchvision", "mlflow.tracking", "sklearn.datasets")
SHARE_OF_MEMORY = 0.5
MARGIN = 120  # seconds in which a test that is out of time can clean up
LONG_AGO = 1_000_000_000  # no file of a checkout is of 2001


class Suite(NamedTuple):
    """Which tests are run, their marks those of the tree where none are named."""

    marks: str | None
    seconds: int  # the longest a test may take
    order: Callable[[str, Path, Path, Iterable[str]], list[str]]
    first: int | None  # how many files are run before the others


SUITES = {
    "test": Suite(None, 300, importers, CLOSEST),
    "slow": Suite("slow and not nightly", 900, whole_programs, None),
}


class Observer:
    """A plugin of pytest: keeps the first test that fails, and says which test is running."""

    def __init__(self, running: Path, files: list[str]) -> None:
        self.failed = ""
        self.collected: list[str] = []
        self.running = running
        self.files = files

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Keep the files in the order they are given in, which the project's own hook changes."""
        place = {file: index for index, file in enumerate(self.files)}
        items.sort(key=lambda item: place.get(item.nodeid.partition("::")[0], 0))

    def pytest_collection_finish(self, session: Any) -> None:
        self.collected = sorted({item.nodeid.partition("::")[0] for item in session.items})

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.running.write_text(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.failed = self.failed or (report.nodeid if report.failed else "")

    def pytest_collectreport(self, report: Any) -> None:
        self.failed = self.failed or (f"collecting {report.nodeid}" if report.failed else "")


class Copy:
    """A copy of a tree, and what is known of its tests."""

    def __init__(self, source: Path, folder: Path, suite: Suite) -> None:
        self.tree, self.folder, self.suite = folder / "tree", folder, suite
        listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        for name in subprocess.check_output(listing, cwd=source, text=True).splitlines():
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, self.tree / name)
        self.broken: set[str] = set()  # fail here whatever is changed
        self.sound: set[str] = set()
        self.mutants = 0

    def test_files(self) -> list[str]:
        """Return the files with tests of the suite."""
        self._run(["--collect-only", "tests"])
        files = self.folder / "collected"
        assert files.exists(), (self.folder / "log").read_text()
        return files.read_text().splitlines()

    def verdict(self, change: Change, tests: list[str], killer: str | None) -> str:
        """Return which test fails first with a change; those of one file first that did before."""
        mutated = source_after(change, modules_of(self.tree))
        if mutated is None:
            return "gone"
        module, text = mutated
        path = modules_of(self.tree)[module]
        files = self.suite.order(module, path, self.tree, tests)
        again = [test for test in tests if killer is not None and Path(test).name == killer]
        files = again + [test for test in files if test not in again]
        first = self.suite.first or len(files)
        outcome = self._of_mutant(path, text, files[:first])
        if outcome == "survived" and files[first:]:
            outcome = self._of_mutant(path, text, files[first:])
        return outcome

    def _of_mutant(self, path: Path, text: str, files: list[str]) -> str:
        """Return the first test that fails with a text in a file, and does not without it."""
        while True:
            with self._mutated(path, text):
                outcome = self._run(files)
            test = outcome.removeprefix("killed: ")
            if test == outcome or test in self.sound:
                return outcome
            of_file = ["--collect-only", test.removeprefix("collecting ")]
            if self._run(of_file if test.startswith("collecting ") else [test]).startswith("kill"):
                self.broken.add(test)
                print(f"fails without a mutant too: {test}", flush=True)
                if test.startswith("collecting "):
                    return f"not run: {test}"
            else:
                self.sound.add(test)

    @contextmanager
    def _mutated(self, path: Path, text: str) -> Generator[None]:
        """Put a text into a file, and date it as no other, so that its bytecode is its own."""
        before, times = path.read_bytes(), path.stat()
        self.mutants += 1
        path.write_text(text)
        os.utime(path, (LONG_AGO + self.mutants, LONG_AGO + self.mutants))
        yield
        path.write_bytes(before)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def _run(self, arguments: list[str]) -> str:
        """Return the first test that fails, that none does, or that they cannot be run."""
        result, running = self.folder / "result", self.folder / "running"
        result.unlink(missing_ok=True)
        running.write_text("collecting tests")
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            self._run_in_fork(arguments)
        ended, status = os.waitpid(child, os.WNOHANG)
        out_of_time = ""
        while ended == 0:
            if time.time() - running.stat().st_mtime > self.suite.seconds + MARGIN:
                out_of_time = running.read_text()
                os.killpg(child, 9)
            time.sleep(0.1)
            ended, status = os.waitpid(child, os.WNOHANG)
        with suppress(ProcessLookupError):  # what a test has left behind
            os.killpg(child, 9)
        if out_of_time or os.WIFSIGNALED(status):
            return f"killed: {out_of_time or running.read_text()}"
        return result.read_text() if result.exists() else "not run"

    def _run_in_fork(self, arguments: list[str]) -> None:
        """Run tests in this process, which ends with them."""
        os.setpgid(0, 0)
        log = os.open(self.folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        try:
            self._pytest(arguments)
        except BaseException:  # noqa: BLE001 - a fork that fails must not go on as its parent
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)

    def _pytest(self, arguments: list[str]) -> None:
        """Run pytest, and write the first test that fails."""
        os.chdir(self.tree)
        sys.path[0] = str(self.tree)
        for name in [name for name in sys.modules if name.partition(".")[0] == "tools"]:
            del sys.modules[name]  # tests use those of the tree
        os.environ["PYTHONPATH"] = str(self.tree)
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        most = int(memory * SHARE_OF_MEMORY)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        observer = Observer(self.folder / "running", arguments)
        flags = ["-x", "-q", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
        flags += ["-p", "no:cacheprovider", "--timeout", str(self.suite.seconds)]
        flags += ["--basetemp", str(self.folder / "basetemp")]
        if self.suite.marks is not None:
            flags += ["-m", self.suite.marks]
        for test in self.broken:
            flags += ["--deselect", test]
        code = pytest.main([*flags, *arguments], plugins=[observer])
        for package in PACKAGES:
            module = sys.modules.get(package)
            assert module is None or str(module.__file__).startswith(str(self.tree)), module
        (self.folder / "collected").write_text("\n".join(observer.collected))
        if observer.failed:
            (self.folder / "result").write_text(f"killed: {observer.failed}")
        elif code in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
            (self.folder / "result").write_text("survived")
