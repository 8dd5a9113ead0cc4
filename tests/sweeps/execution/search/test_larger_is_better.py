"""Where a larger objective is better, the same are stopped and chosen as where a smaller one is."""

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capsmodel.metrics import VALIDATION_ERROR, Metric, Objective
from search_spaces import Median
from search_spaces.plans.decisions import Cell, CellEnded, Continue, EpochTold, Propose, Stop
from sweeps.execution.plan.definition import LostDecisions
from sweeps.execution.search.decider import SearchDecider, best_arms
from sweeps.execution.search.search_known import SearchKnown
from tests.sweeps.execution.search.examples import params, search, sweep

LARGER = Metric(name="validation_accuracy", unit="fraction", direction="larger")
NUM_EPOCHS = 3
PLAN = search(scheduler=Median(grace=0.34, rivals=1))
SWEEP = sweep(plan=PLAN)
DECIDER = SearchDecider(PLAN, SWEEP, LostDecisions())


def decided_by(metric: Metric, values: list[float]) -> tuple[list[str], list[int]]:
    """Return the verdicts on proposals that stay at a value each, and the best two of them."""
    cells = [Cell(f"proposal {number}", params(number), 0) for number in range(len(values))]
    keys = {cell.place: cell.arm for cell in cells}
    known = SearchKnown(PLAN, Objective(metric), keys, dict.fromkeys(keys.values(), NUM_EPOCHS))
    verdicts: list[str] = []
    for cell, value in zip(cells, values, strict=True):
        known.take(Propose((cell,)))
        for epoch in range(1, NUM_EPOCHS + 1):
            report = EpochTold(cell.arm, epoch, {metric.name: value})
            known.take(report)
            for decision in DECIDER.decide(SWEEP, known, report):
                verdicts.append(f"{cell.arm} {type(decision).__name__}")
                known.take(cast(Stop | Continue, decision))
        if f"{cell.arm} Stop" not in verdicts:
            known.take(CellEnded(cell.arm, "finished", NUM_EPOCHS, {metric.name: value}))
    return verdicts, best_arms(known.weighed, [cell.arm for cell in cells], 2, by_loss=True)


@given(st.lists(st.integers(0, 8), min_size=1, max_size=8))
def test_verdicts_and_choices_are_those_of_the_error(eighths: list[int]) -> None:
    errors = [number / 8 for number in eighths]
    accuracies = [1 - error for error in errors]
    assert decided_by(LARGER, accuracies) == decided_by(VALIDATION_ERROR, errors)


@pytest.mark.parametrize(
    ("metric", "is_stopped"), [(LARGER, "proposal 2 Stop"), (VALIDATION_ERROR, "proposal 1 Stop")]
)
def test_the_worse_is_stopped_and_the_better_chosen(metric: Metric, is_stopped: str) -> None:
    verdicts, best = decided_by(metric, [0.5, 0.9, 0.1])
    assert [verdict for verdict in verdicts if verdict.endswith("Stop")] == [is_stopped]
    assert best == ([1, 0] if metric is LARGER else [2, 0])
