"""What a store is asked by the command line and from Python, and how it answers, in words."""

import contextlib
import io
import os
import runpy
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from sklearn.datasets import load_digits

import sweeps
from sweeps.cli import main
from tests.golden.stores.archive import STORAGE, unpack

FOLDER = Path(__file__).parent
_HERE = "HERE"


@dataclass(frozen=True)
class Store:
    """A store that is kept.

    Attributes:
        name: Of its archive.
        sweep: Its sweep, which the file of the same name defines.
        options: Of the launch that made it.
        keep: Whose weights that launch kept.
    """

    name: str
    sweep: str
    options: tuple[str, ...] = ()
    keep: str = "all"

    @property
    def archive(self) -> Path:
        """Where it is kept."""
        return FOLDER / f"{self.name}.tar.xz"

    @property
    def answers(self) -> Path:
        """Where its answers are kept."""
        return self.archive.with_name(f"{self.name}.json")

    @property
    def reports(self) -> Path:
        """Where its report as it is made of it today is kept."""
        return self.archive.with_name(f"{self.name}.report.tar.xz")

    @property
    def words(self) -> tuple[str, ...]:
        """The sweep's file, options of the launch, and what keeps a machine out of the answers."""
        return (f"{self.sweep}.py", *self.options, "--max-concurrent", "1", "--gpus-per-trial", "0")

    @property
    def rerun(self) -> tuple[str, ...]:
        """The command that made it."""
        return "run", *self.words, "--keep-weights", self.keep

    def unpacked(self, folder: Path) -> Path:
        """Unpack it, with the sweep's file beside it, and return the folder."""
        file = FOLDER / f"{self.sweep}.py"
        (folder / file.name).write_bytes(file.read_bytes())
        return unpack(self.archive, folder)

    def questions(self, folder: Path) -> Iterator[tuple[str, ...]]:
        """Yield what it is asked: all that only reads, and one trial of each outcome."""
        yield "status", self.sweep
        yield "plan", *self.words
        yield "plan", *self.words, "--seeds", "5-6", "--name", "another"
        yield "report", self.sweep
        yield "best", self.sweep
        yield "best", self.sweep, "-n", "1"
        trials = sweeps.trials(self.sweep, storage=str(folder / STORAGE))
        for _, rows in trials[trials["outcome"] != "missing"].groupby("outcome"):
            yield "show", str(rows["trial_key"].iloc[0])


_DESIGN = ("--set", "batch_size=512", "--epochs", "3")
FINISHED_DESIGN = Store("finished_design", "small_design", _DESIGN, keep="best:1")
FINISHED_SEARCH = Store("finished_search", "small_search", keep="none")
FINISHED = (FINISHED_DESIGN, FINISHED_SEARCH)


def answer(folder: Path, *words: str) -> str:
    """Return exit code and words of a capsweep command that is given in a folder."""
    output, errors = io.StringIO(), io.StringIO()
    mine = {name: text for name, text in os.environ.items() if not name.startswith("CAPSWEEP_S")}
    mine = {name: text for name, text in mine.items() if name != "COLUMNS"}
    with (
        contextlib.chdir(folder),
        patch.dict(os.environ, mine, clear=True),
        patch.object(sys, "argv", ["capsweep", *words]),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
    ):
        code = _code()
    return f"{code}\n{output.getvalue()}{errors.getvalue()}".replace(str(folder), _HERE)


def without_the_machine(plan: str) -> str:
    """Return a plan without what it says of this machine: its disk, and how fast it is."""
    lines = plan.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(("Disk: ", "Estimate: about ")))


def _code() -> object:
    try:
        main()
    except SystemExit as ended:
        return ended.code
    return 0


def trials_text(store: Store, folder: Path, columns: Sequence[str] | None = None) -> str:
    """Return the frame of all trials as text, all columns by default."""
    frame = sweeps.trials(store.sweep, storage=str(folder / STORAGE))
    return frame.to_csv(index=False, columns=columns)


def report_files(store: Store, folder: Path) -> dict[str, bytes]:
    """Return the files of the report that lies in a folder."""
    paths = sorted((folder / "reports" / store.sweep).iterdir())
    return {path.name: path.read_bytes() for path in paths}


def predicted_classes(store: Store, folder: Path) -> list[int]:
    """Return what the best arm's network sees in some digits; its weights were kept."""
    file = runpy.run_path(str(folder / f"{store.sweep}.py"))
    best = sweeps.best_configs(store.sweep, storage=str(folder / STORAGE))[0]
    images = load_digits().images[:40] / 16
    return best.load_model(parts=file["SWEEP"].parts).predict(images).classes.tolist()
