"""ruff, as a user has it who sets nothing but the length of a line."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

RUFF = Path(sys.executable).parent / "ruff"
_FORMAT = ("format", "--check")
_CHECK = ("check", "--select=E,F,I,D,N,B,UP", "--ignore=D203,D213,D400,D413,D415")


def assert_nothing_to_do(folder: Path, texts: Mapping[str, str], *more: str) -> None:
    """Assert that ruff neither formats the texts otherwise nor finds anything in them.

    Args:
        folder: An empty folder.
        texts: Name of a file -> its text.
        more: Further options of the check.
    """
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    for arguments in (_FORMAT, (*_CHECK, *more)):
        done = subprocess.run(
            [RUFF, *arguments, "--isolated", "--line-length=100", "--target-version=py311", "."],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
