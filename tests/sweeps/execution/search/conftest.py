"""What the tests of searches share: a simulated world, and launches over it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sweeps.execution.plan.definition import SweepDefinition
from sweeps.execution.search import measures
from tests.sweeps.execution.search.simulated import Launch, Score, World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "world")


@pytest.fixture
def few_points_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have launches look for broken points among eight: among 64 that is a third of their time."""
    few = {"tpe": {"points_tried": 8}, "gp": {"points_tried": 0}}
    monkeypatch.setattr(measures, "FLAGS_WITH_LIMITS", few)


@pytest.fixture
def run(world: World) -> Callable[..., Launch]:
    """Launches over one world."""

    def begin(definition: SweepDefinition, score: Score, **more: Any) -> Launch:
        return Launch(world, definition, score, **more).run()

    return begin
