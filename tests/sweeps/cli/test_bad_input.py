"""What cannot be is refused: one sentence, exit code 2, and nothing is written.

Each refusal has a row in `refusals.toml`; a new command has its rows there.
"""

import os
import re
import shlex
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from sweeps.cli.program import COMMANDS
from tests.sweeps.cli.shell import Shell

FOLDERS: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("refusals.toml").read_text(encoding="utf-8")
)
ROWS = [
    (folder, " ".join([name, *rest]), sentence)
    for folder, table in FOLDERS.items()
    for row, sentence in table["refused"].items()
    for names, *rest in [row.split(" ", 1)]
    for name in names.split("|")
]
NAMES = [re.sub(r"[^ -~]", "?", command)[:80] for _, command, _ in ROWS]


def repeated(text: str) -> str:
    """Return a text in which {60*x} is x sixty times."""
    return re.sub(r"\{(\d+)\*(.)\}", lambda match: int(match[1]) * match[2], text)


def fill(folder: Path, files: dict[str, str]) -> None:
    """Write files; their names end as `ls -F` has them: a folder in /, a pipe in |, a link in @."""
    for name, text in files.items():
        path = folder / name.rstrip("/|@")
        if name.endswith("/"):
            path.mkdir()
        elif name.endswith("|"):
            os.mkfifo(path)
        elif name.endswith("@"):
            path.symlink_to(text)
        else:
            path.write_text(repeated(text), encoding="utf-8")


@pytest.mark.filterwarnings("always")  # a warning of a user's file would be a second line
@pytest.mark.parametrize(("folder", "command", "sentence"), ROWS, ids=NAMES)
def test_a_bad_command_is_refused_in_one_sentence_and_nothing_is_written(
    shell: Shell,
    launched_store: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    folder: str,
    command: str,
    sentence: str,
) -> None:
    if FOLDERS[folder].get("is_launched"):
        shutil.copytree(launched_store, shell.folder / "capsweep-store")
    fill(shell.folder, FOLDERS[folder].get("files", {}))
    monkeypatch.setenv("PATH", "/nowhere")  # no other program is asked
    refusal = shell.refused(*shlex.split(repeated(command)))
    assert sentence.replace("{folder}", str(shell.folder)) in refusal
    assert refusal.isprintable(), "nothing in it commands the terminal"
    assert "secret" not in refusal


@pytest.mark.parametrize(
    "arguments", [["best", "odd\udcff"], ["show", "ab", "--storage", "odd\udcff"]]
)
def test_what_is_no_text_is_refused(shell: Shell, arguments: list[str]) -> None:
    assert "is not valid UTF-8" in shell.refused(*arguments)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_its_rows(command: str) -> None:
    assert any(row.split()[0] == command for _, row, _ in ROWS)
