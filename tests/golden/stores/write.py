"""Make the stores that are kept, with the code of the commit that they pin; a minute or two.

With a clean checkout of that commit in the folder PINNED, and its `capsweep` installed:

    cp -r tests/golden PINNED/tests
    (cd PINNED && PYTHONPATH=$PWD python -m tests.golden.stores.write)
    cp -r PINNED/tests/golden tests

The interrupted ones are broken off by Ctrl-C and SIGKILL once they have finished some trials and
stand in the middle of another. What a store is asked is answered after it was unpacked elsewhere,
as in the tests.

Where tables are meant to change, the stores stay as they are, and what today's code tells of them
is written anew, to be read in the difference of the files:

    python -m tests.golden.stores.write answers
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.end_to_end.command import Terminal
from tests.end_to_end.storage_view import num_epochs_told
from tests.golden.stores.archive import STORAGE, changes, contents, pack, pack_files
from tests.golden.stores.questions import (
    BROKEN_OFF,
    FINISHED,
    FINISHED_DESIGN,
    FOLDER,
    KILLED_SEARCH,
    Store,
    answer,
    predicted_classes,
    trials_text,
    without_the_disk,
)
from tests.golden.write import pinned_checkout

_PACE = "GOLDEN_SECONDS"
_SECONDS = "0.5"  # a step, where a launch is to be broken off


def write(names: Sequence[str]) -> None:
    """Make stores and what they answer: those of the names, all if none is given."""
    pinned_checkout()
    for store in (*FINISHED, *BROKEN_OFF):
        if not names or store.name in names:
            with tempfile.TemporaryDirectory() as here:
                make(store, Path(here).resolve() / "made")
            with tempfile.TemporaryDirectory() as here:
                ask(store, Path(here).resolve())


def tell_again() -> None:
    """Write what the stores that are kept answer to the code of today."""
    for store in (*FINISHED, *BROKEN_OFF):
        with tempfile.TemporaryDirectory() as here:
            ask(store, Path(here).resolve())


def make(store: Store, folder: Path) -> None:
    """Launch the sweep, break it off if it is to be, and pack what it left."""
    terminal = Terminal(folder)
    shutil.copy(FOLDER / f"{store.sweep}.py", folder)
    if store in BROKEN_OFF:
        _break_off(store, terminal)
    else:
        ended = terminal.run(*store.run_again)
        assert ended.code == 0, ended.explained()
    shutil.rmtree(folder / "reports", ignore_errors=True)
    for path in (*folder.glob("command-*"), folder / f"{store.sweep}.py"):
        path.unlink()
    pack(folder, store.archive)


def _break_off(store: Store, terminal: Terminal) -> None:
    os.environ[_PACE] = _SECONDS
    command = terminal.start(*store.run_again)
    del os.environ[_PACE]
    command.wait_until(lambda: _is_in_the_middle(terminal.storage, store.epochs_told or 0), 600)
    if store is KILLED_SEARCH:
        command.kill_all()
    else:
        ended = command.interrupt()
        assert ended.code == 130, ended.explained()


def _is_in_the_middle(storage: Path, epochs: int) -> bool:
    """Return whether enough was told, and the trial that told last has more to do."""
    if num_epochs_told(storage) < epochs:
        return False
    begun = [path.parent for path in storage.glob("cells/*/checkpoint.safetensors")]
    lines = [(cell / "outbox.jsonl").read_text().splitlines() for cell in begun]
    return any(json.loads(told[-1])["type"] == "epoch" for told in lines if told)


def ask(store: Store, folder: Path) -> None:
    """Write what an unpacked store answers, and what running a finished one once more changes."""
    store.unpacked(folder)
    expected: dict[str, Any] = {
        "answers": [
            (words, without_the_disk(answer(folder, *words))) for words in store.questions(folder)
        ],
        "trials": trials_text(store, folder),
    }
    if store is FINISHED_DESIGN:
        expected["predicted classes"] = predicted_classes(store, folder)
    pack_files(folder / "reports" / store.sweep, store.reports)
    if store in FINISHED:
        answer(folder, *store.run_again)  # publishes the report as it is made today
        before = contents(folder / STORAGE)
        expected["run again"] = answer(folder, *store.run_again)
        expected["changed"] = changes(before, contents(folder / STORAGE))
    text = json.dumps(expected, indent=1, ensure_ascii=False) + "\n"
    store.answers.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["answers"]:
        tell_again()
    else:
        write(sys.argv[1:])
