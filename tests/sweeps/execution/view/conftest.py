"""What the tests of a launch's view share: its log."""

from pathlib import Path

import pytest

from sweeps.execution.sweep_log import SweepLog


@pytest.fixture
def log(tmp_path: Path) -> SweepLog:
    log = SweepLog(tmp_path / "journals", "example")
    log.start_launch(3)
    return log
