"""The fixture that the tests of the recorder share: each gets a scene of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sweeps.execution.recorder.scene import Scene


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path)
    yield scene
    scene.queue.close()
