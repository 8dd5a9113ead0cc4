"""A hostile store cannot hurt its reader, and what looks for that does see it."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.golden.stores.archive import STORAGE
from tests.golden.stores.questions import FINISHED_DESIGN, FINISHED_SEARCH, Store

CHECKOUT = Path(__file__).parents[2]
ABSENT = ("matplotlib", "mlflow", "optuna", "pandas", "ray", "search_spaces", "sklearn", "torch")
HURT = """
import socket, sys, time
def main():
    asked = sys.argv[1]
    if asked == "status":
        print("fine\\x1b[2J")
    elif asked == "report":
        held = open("../victim/note.txt").read()
        open("../victim/note.txt", "w").write(held)
    elif asked == "best":
        raise RecursionError
    elif asked == "show":
        socket.create_connection(("192.0.2.1", 80))
    elif asked == "plan":
        print("no sentence\\n" * 9, file=sys.stderr)
        sys.exit(2)
    else:
        open("beside.txt", "w").close()
"""
STUCK = "import time\ndef main():\n    while True: time.sleep(1)\n"
GOOD = "def main(): print('fine')\n"


@pytest.mark.parametrize(
    ("program", "limit", "seen"),
    [
        (
            HURT,
            "60",
            [
                "status: control character: ['\\x1b']",
                "report: write outside: victim/note.txt",
                "best: traceback: code 1",
                "show: request: 192.0.2.1:80",
                "plan: long complaint",
                "run: write outside: work/beside.txt",
            ],
        ),
        (STUCK, "0.1", [f"{command}: hang" for command in ("status", "best", "plan", "run")]),
        (GOOD, "60", ["minutes: nothing was found"]),
    ],
    ids=["that hurts", "that is stuck", "that is good"],
)
def test_what_a_command_does_is_seen(
    program: str, limit: str, seen: list[str], tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    for name in ABSENT:
        (tree / name).mkdir(parents=True)
        (tree / name / "__init__.py").touch()
    (tree / "sweeps").mkdir()
    (tree / "sweeps" / "__init__.py").touch()
    (tree / "sweeps" / "cli.py").write_text(program)
    _store_of_one_cell(tmp_path / "fuzzed" / "pristine" / STORAGE)

    options = ("--rounds", "1", "--limit", limit, "--match", "no file of note", "--launch", "one")
    ended = fuzzed(tmp_path / "fuzzed", *options, "--tree", str(tree))

    assert ended.returncode == (program != GOOD), ended.stderr
    assert [words for words in seen if words not in ended.stdout] == [], ended.stdout


@pytest.mark.slow
@pytest.mark.parametrize("store", [FINISHED_DESIGN, FINISHED_SEARCH], ids=lambda store: store.name)
def test_a_hostile_store_does_not_hurt_its_reader(store: Store, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    store.unpacked(tmp_path / "work")
    shutil.copytree(tmp_path / "work", tmp_path / "pristine")

    options = ("--seed", "3", "--rounds", "4", "--limit", "120")
    ended = fuzzed(tmp_path, *options, "--launch", " ".join(store.words))

    assert ended.returncode == 0, ended.stdout + ended.stderr


def fuzzed(folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """Run the fuzzer to its end."""
    program = [sys.executable, str(CHECKOUT / "benchmarks" / "fuzz_store.py")]
    return subprocess.run(
        [*program, "--folder", str(folder), *options],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder.parent,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
    )


def _store_of_one_cell(storage: Path) -> None:
    (storage / "cells" / "key").mkdir(parents=True)
    (storage / "note.txt").write_text("a file of the store")
    with closing(sqlite3.connect(storage / "mlflow.db")) as opened, opened:
        opened.execute("create table tags (key, value, run_uuid)")
        opened.execute("create table runs (run_uuid, artifact_uri)")
