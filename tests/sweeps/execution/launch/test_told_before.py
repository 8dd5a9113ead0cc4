"""A launch says how many cells there will be before it starts anything."""

from pathlib import Path

import pytest

from sweeps.execution.launch import launch as launching
from sweeps.execution.launch.run import run


def interrupted(*_: object) -> None:
    """Stand in for the stage that trains."""
    raise KeyboardInterrupt


def test_the_cells_are_told_before_any_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(launching, "fill", interrupted)
    result = run(
        "quickstart_search", trials=5, storage=tmp_path / "store", reports=tmp_path / "reports"
    )
    assert result.exit_code == 130
    told = capsys.readouterr().out
    assert told == "quickstart_search: 5 proposals + 1 base training = 6 cells.\n"
