"""Folders with nothing in them, in which the tests give commands."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.end_to_end.command import Terminal


@pytest.fixture
def terminal(tmp_path: Path) -> Generator[Terminal]:
    opened = Terminal(tmp_path / "here")
    yield opened
    opened.close()


@pytest.fixture
def second_terminal(tmp_path: Path) -> Generator[Terminal]:
    opened = Terminal(tmp_path / "there")
    yield opened
    opened.close()
