"""Folders of cells."""

from pathlib import Path

import pytest

from sweeps.execution.cells import CellFolder
from tests.sweeps.execution.examples import KEY


@pytest.fixture
def cell(tmp_path: Path) -> CellFolder:
    """An empty cell's folder."""
    folder = CellFolder(tmp_path / "cells", KEY)
    folder.path.mkdir(parents=True)
    return folder
