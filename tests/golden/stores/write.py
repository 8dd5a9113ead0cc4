"""Make the golden stores with the code of the commit that they pin; a minute or two.

With a checkout of that commit in the folder PINNED, and its `capsweep` installed:

    cp -r tests/golden PINNED/tests
    (cd PINNED && PYTHONPATH=$PWD python -m tests.golden.stores.write)
    cp -r PINNED/tests/golden tests

The questions are answered after a store was unpacked elsewhere, as in the tests.

Where tables are meant to change, the stores stay as they are, and today's answers are written
instead, to be read in the difference of the files:

    python -m tests.golden.stores.write answers
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.end_to_end.command import Terminal
from tests.golden.stores.archive import pack, pack_files
from tests.golden.stores.questions import (
    FINISHED,
    FINISHED_DESIGN,
    FOLDER,
    Store,
    answer,
    predicted_classes,
    trials_text,
    without_the_machine,
)
from tests.golden.write import pinned_checkout


def write(names: Sequence[str]) -> None:
    """Make stores and their answers: those of the names, all if none is given."""
    pinned_checkout()
    for store in FINISHED:
        if not names or store.name in names:
            with tempfile.TemporaryDirectory() as folder:
                make(store, Path(folder).resolve() / "made")
            write_answers(store)


def make(store: Store, folder: Path) -> None:
    """Launch the sweep and pack what it left."""
    terminal = Terminal(folder)
    shutil.copy(FOLDER / f"{store.sweep}.py", folder)
    ended = terminal.run(*store.rerun)
    assert ended.code == 0, ended.explained()
    shutil.rmtree(folder / "reports", ignore_errors=True)
    for path in (*folder.glob("command-*"), folder / f"{store.sweep}.py"):
        path.unlink()
    pack(folder, store.archive)


def write_answers(store: Store) -> None:
    """Write what an unpacked store answers, and what running its sweep once more prints."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        store.unpacked(folder)
        expected: dict[str, Any] = {
            "answers": [
                (words, without_the_machine(answer(folder, *words)))
                for words in store.questions(folder)
            ],
            "trials": trials_text(store, folder),
        }
        if store is FINISHED_DESIGN:
            expected["predicted classes"] = predicted_classes(store, folder)
        pack_files(folder / "reports" / store.sweep, store.reports)
        answer(folder, *store.rerun)  # publishes the report as it is made today
        expected["run again"] = answer(folder, *store.rerun)
    text = json.dumps(expected, indent=1, ensure_ascii=False) + "\n"
    store.answers.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["answers"]:
        for finished in FINISHED:
            write_answers(finished)
    else:
        write(sys.argv[1:])
