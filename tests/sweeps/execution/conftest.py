"""Folders of cells."""

import os
from pathlib import Path

import pytest

from sweeps.execution.cells.folder import CellFolder
from tests.sweeps.execution.examples import KEY

os.environ.setdefault("RAY_AUTH_MODE", "token")  # which ray reads when a test first imports it


@pytest.fixture
def cell(tmp_path: Path) -> CellFolder:
    """An empty cell's folder."""
    folder = CellFolder(tmp_path / "cells", KEY)
    folder.path.mkdir(parents=True)
    return folder


@pytest.fixture(scope="module", autouse=True)
def _no_pixels(unpainted_figures: None) -> None:
    """Leave figures unpainted: launches write reports that no test here looks at."""
