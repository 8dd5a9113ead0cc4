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

pytestmark = pytest.mark.nightly  # cli/test_damaged_stores.py reads hostile stores

CHECKOUT = Path(__file__).parents[2]
ABSENT = ("matplotlib", "mlflow", "optuna", "pandas", "ray", "search_spaces", "sklearn", "torch")
HURT = """
import socket, sys, time
def main():
    asked = sys.argv[1]
    if asked == "status":
        print("fine\\x1b[2J")
    elif asked == "report":
        content = open("../victim/note.txt").read()
        open("../victim/note.txt", "w").write(content)
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
SERVER = """
import http.server, sys
class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(open(sys.argv[2], "rb").read())
server = http.server.HTTPServer((sys.argv[1], 0), Answers)
print(server.server_port, flush=True)
server.serve_forever()
"""
UI = """
import signal, subprocess, sys
def main():
    if sys.argv[1] == "ui":
        command = [sys.executable, "-c", {server!r}, {host!r}, {file!r}]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            def end(*_):
                {ends}
                sys.exit(0)
            signal.signal(signal.SIGTERM, end)
            print("http://127.0.0.1:" + server.stdout.readline().strip(), flush=True)
            server.wait()
"""
BAD_UI = UI.format(
    server=SERVER, host="0.0.0.0", file="../victim/note.txt", ends="import os; os._exit(0)"
)
GOOD_UI = UI.format(
    server=SERVER, host="127.0.0.1", file=f"{STORAGE}/mlflow.db", ends="server.terminate()"
)


@pytest.mark.parametrize(
    ("program", "options", "seen"),
    [
        (
            HURT,
            ("--other", "clean --yes"),
            [
                "status: control character: ['\\x1b']",
                "report: write outside: victim/note.txt",
                "best: traceback: code 1",
                "show: request: 192.0.2.1:80",
                "plan: long complaint",
                "run: write outside: work/beside.txt",
                "clean: write outside: work/beside.txt",
            ],
        ),
        (
            STUCK,
            ("--limit", "0.1", "--other", "repair"),
            [f"{command}: hang" for command in ("status", "best", "plan", "run", "repair")],
        ),
        (
            BAD_UI,
            ("--other", "ui"),
            [f"ui: {kind}" for kind in ("read outside", "listens elsewhere", "left process")],
        ),
        (GOOD, ("--other", "ui"), ["ui: no answer: it ended without a word"]),
        (GOOD_UI, ("--other", "ui"), ["minutes: nothing was found"]),
        (GOOD, ("--other", "repair"), ["minutes: nothing was found"]),
    ],
    ids=["hurts", "is stuck", "serves too much", "serves nothing", "serves well", "is good"],
)
def test_what_a_command_does_is_seen(
    program: str, options: tuple[str, ...], seen: list[str], tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    for name in ABSENT:
        (tree / name).mkdir(parents=True)
        (tree / name / "__init__.py").touch()
    (tree / "sweeps").mkdir()
    (tree / "sweeps" / "__init__.py").touch()
    (tree / "sweeps" / "cli.py").write_text(program)
    _store_of_one_cell(tmp_path / "fuzzed" / "pristine" / STORAGE)

    round_one = ("--rounds", "1", "--match", "no file of note", "--launch", "one")
    ended = fuzzed(tmp_path / "fuzzed", *round_one, *options, "--tree", str(tree))

    is_good = seen == ["minutes: nothing was found"]
    assert ended.returncode == (not is_good), ended.stderr + ended.stdout
    assert [sentence for sentence in seen if sentence not in ended.stdout] == [], ended.stdout


@pytest.mark.parametrize("store", [FINISHED_DESIGN, FINISHED_SEARCH], ids=lambda store: store.name)
def test_a_hostile_store_does_not_hurt_its_reader(store: Store, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    store.unpacked(tmp_path / "work")
    shutil.copytree(tmp_path / "work", tmp_path / "pristine")

    options = ("--seed", "3", "--rounds", "2", "--limit", "120")
    ended = fuzzed(tmp_path, *options, "--launch", " ".join(store.words))

    assert ended.returncode == 0, ended.stdout + ended.stderr


def fuzzed(folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """Run the fuzzer to its end."""
    program = [sys.executable, "-m", "tools.fuzz"]
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
