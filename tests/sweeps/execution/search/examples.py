"""Searches made up for tests, and how their proposals went."""

from collections.abc import Mapping
from typing import Any

from capsmodel import TrainingConfig
from capsmodel.search_range import Choices
from search_spaces import Asha, Confirm, Search, Space, Sweep
from sweeps.execution.plan.definition import Changes, SweepDefinition, define
from sweeps.execution.search.observation import Observation
from sweeps.records.manifest import Manifest
from sweeps.records.manifest_plan import Plain
from tests.capsmodel.small_config import small_config
from tests.sweeps.execution.search.grown import num_proposed, with_proposal

RATE, BATCH = "optimiser.learning_rate", "batch_size"
WHOLE = Space.of(TrainingConfig).varied({"optimiser": ("adam",)})
SPACE = WHOLE.only(RATE, BATCH)
FEW_POINTS = SPACE.varied({RATE: Choices(1e-3, 1e-2), BATCH: Choices(100, 200)})
CONDITIONAL = WHOLE.only("loss.positive_margin", "loss[spread].margin", "loss.scale", RATE)
SCHEDULER = Asha(grace=0.34, reduction_factor=2)  # of three epochs: one rung, after the second


def search(**changes: Any) -> Search:
    known: dict[str, Any] = {"space": SPACE, "trials": 6, "scheduler": SCHEDULER, "confirm": None}
    return Search(**(known | changes))


def sweep(**changes: Any) -> Sweep:
    known: dict[str, Any] = {"name": "example", "base": small_config(), "plan": search()}
    return Sweep(**(known | changes))


def searched(**changes: Any) -> SweepDefinition:
    """Return the definition of a search with some fields changed."""
    return define(sweep(plan=search(**changes)), Changes(), ())


def confirm(best: int = 1, seeds: tuple[int, ...] = (101,)) -> Confirm:
    return Confirm(best=best, seeds=seeds)


def params(number: int) -> dict[str, Plain]:
    """Return a point of the space, another for each number."""
    return {RATE: 1e-3 + number * 1e-4, BATCH: 64}


def proposed(definition: SweepDefinition, count: int) -> SweepDefinition:
    """Return a definition with some proposals more."""
    for _ in range(count):
        definition = with_proposal(definition, params(num_proposed(definition)))
    return definition


def complete(value: float, epoch: int = 3) -> Observation:
    return Observation("complete", value, epoch)


def pruned(value: float, epoch: int = 1) -> Observation:
    return Observation("pruned", value, epoch)


OPEN, FAILED = Observation("open"), Observation("failed")
DIVERGED = Observation("diverged")


def expect_valid(manifest: Manifest) -> None:
    """Check that a manifest can be read back as it is."""
    assert Manifest.model_validate_json(manifest.model_dump_json()) == manifest


def rate_of(config: Mapping[str, Any]) -> float:
    """Return the learning rate of a trial's config."""
    return config["optimiser"]["learning_rate"]
