"""Scores of simulated trials, and what a launch over them did."""

from typing import Any

from search_spaces.plans.search import BASE
from sweeps.execution.plan.definition import SweepDefinition
from sweeps.records.cell_contents import TrialSpec
from tests.sweeps.execution.search.examples import searched
from tests.sweeps.execution.search.simulated import Launch, Score


def number_of(spec: TrialSpec) -> int:
    """Return the number of a proposal, -1 for the base."""
    return -1 if spec.arm == BASE else int(spec.arm.removeprefix("proposal "))


def of(*values: float) -> Score:
    """Return a score that each proposal has throughout, by its number; the base has a half."""
    return lambda spec, epoch: (*values, 0.5)[number_of(spec)]


def falling(spec: TrialSpec, epoch: int) -> float:
    """Return a score by which each proposal is better than those before it."""
    return 0.5 - number_of(spec) / 100


def random(**changes: Any) -> SweepDefinition:
    return searched(**({"sampler": "random"} | changes))


def stopped_arms(launch: Launch) -> list[str]:
    return list(dict.fromkeys(cell.arm for cell in launch.manifest.cells if cell.stopped))


def verdicts(launch: Launch) -> list[tuple[int, bool]]:
    """Return the verdicts: of which proposal and whether it was stopped."""
    cells = [cell for cell in launch.manifest.cells if cell.arm != BASE]
    number = {cell.trial_key: int(cell.arm.split()[1]) for cell in cells}
    return [(number[verdict.trial_key], verdict.is_stop) for verdict in launch.verdicts()]
