"""What the tests of searches share: a simulated world, and launches over it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sweeps.execution.plan.definition import Definition
from tests.sweeps.execution.search.simulated import Launch, Score, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "world")


@pytest.fixture
def run(world: World) -> Callable[..., Launch]:
    """Launches over one world."""

    def begin(definition: Definition, score: Score, **more: Any) -> Launch:
        return Launch(world, definition, score, **more).run()

    return begin
