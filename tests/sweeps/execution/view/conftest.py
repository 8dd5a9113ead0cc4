"""What the tests of a launch's view share: its journal."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sweeps.execution.cells.journal import Journal


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal(tmp_path / "journals", "example")
    journal.open_launch(3)
    yield journal
    journal.close()
