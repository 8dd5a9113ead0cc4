"""Which evaluations are there is told from what is recorded, noted and kept, and nothing else."""

from typing import Any

import pytest

from search_spaces.quickstart import SWEEP as QUICKSTART
from search_spaces.sweep import Sweep
from search_spaces.tables import AblationTable
from sweeps.execution.plan.definition import Changes, define, manifest_evaluations
from sweeps.execution.survey.surveyed_evaluations import (
    EvaluationState,
    count,
    surveyed_evaluations,
)
from sweeps.records.manifest import Manifest, Stopped
from sweeps.records.manifest_evaluation import ManifestEvaluation
from sweeps.records.trial_record import Outcome
from tests.sweeps.execution.examples import key_of, manifest

FIRST = ManifestEvaluation(evaluation_key="ab" * 10, kind="first", looks_at="test")
SECOND = ManifestEvaluation(evaluation_key="cd" * 10, kind="second", looks_at="validation")
KEY, OTHER = key_of("base", 0), key_of("other", 0)


def declared(**changes: Any) -> Manifest:
    return manifest(seeds=(0,)).model_copy(update={"evaluations": (FIRST, SECOND)} | changes)


def states_of(outcomes: dict[str, Outcome], **facts: Any) -> dict[tuple[str, str], str]:
    known: dict[str, Any] = {"recorded": {}, "noted": {}, "has_weights": lambda _: True}
    evaluations = surveyed_evaluations(declared(), outcomes, **(known | facts))
    return {
        (surveyed.trial_key, surveyed.evaluation.kind): surveyed.state.value
        for surveyed in evaluations
    }


def test_each_stands_where_what_is_there_says() -> None:
    outcomes = {KEY: Outcome.FINISHED, OTHER: Outcome.FINISHED}
    facts = {
        "recorded": {KEY: {FIRST.evaluation_key}},
        "noted": {KEY: {FIRST.evaluation_key}, OTHER: {SECOND.evaluation_key}},
        "has_weights": lambda key: key == OTHER,
    }
    assert states_of(outcomes, **facts) == {
        (KEY, "first"): "recorded",
        (KEY, "second"): "not available",
        (OTHER, "first"): "to make",
        (OTHER, "second"): "to record",
    }


@pytest.mark.parametrize("outcome", [o for o in Outcome if o is not Outcome.FINISHED])
def test_only_finished_trials_have_any(outcome: Outcome) -> None:
    assert states_of({KEY: outcome}) == {}


def test_a_trial_that_the_sweep_stopped_has_none_whatever_became_of_it_elsewhere() -> None:
    plain = declared()
    cells = tuple(
        cell.model_copy(update={"stopped": Stopped(epoch=1, value=0.5)})
        if cell.trial_key == KEY
        else cell
        for cell in plain.cells
    )
    outcomes = {KEY: Outcome.FINISHED, OTHER: Outcome.FINISHED}
    evaluations = surveyed_evaluations(
        declared(cells=cells), outcomes, recorded={}, noted={}, has_weights=lambda _: True
    )
    assert {surveyed.trial_key for surveyed in evaluations} == {OTHER}


def test_weights_are_asked_for_only_where_something_is_to_be_made() -> None:
    asked: list[str] = []

    def has_weights(key: str) -> bool:
        asked.append(key)
        return False

    both = {FIRST.evaluation_key, SECOND.evaluation_key}
    outcomes = {KEY: Outcome.FINISHED, OTHER: Outcome.FINISHED}
    states_of(outcomes, recorded={KEY: both}, has_weights=has_weights)
    assert set(asked) == {OTHER}


def test_a_trial_in_two_places_is_looked_at_once() -> None:
    plain = declared()
    twice = tuple(cell.model_copy(update={"trial_key": KEY}) for cell in plain.cells)
    evaluations = surveyed_evaluations(
        declared(cells=twice),
        {KEY: Outcome.FINISHED},
        recorded={},
        noted={},
        has_weights=lambda _: True,
    )
    assert count(evaluations, EvaluationState.TO_MAKE) == len(evaluations) == 2


def test_a_manifest_tells_of_what_is_declared() -> None:
    fields = {name: getattr(QUICKSTART, name) for name in Sweep.model_fields}
    sweep = Sweep(**fields | {"evaluations": ({"kind": "confidence", "bins": 5},), "tables": ()})
    (declaration,) = manifest_evaluations(sweep)
    assert (declaration.kind, declaration.looks_at) == ("confidence", "validation")
    assert declaration.settings == {"split": "validation", "bins": 5}
    assert [metric.name for metric in declaration.metrics] == ["mean_belief", "calibration_error"]


@pytest.mark.parametrize(("kind", "names"), [("confidence", ["evaluations"]), ("pictures", [])])
def test_evaluations_have_a_table_where_they_give_numbers(kind: str, names: list[str]) -> None:
    fields = {name: getattr(QUICKSTART, name) for name in Sweep.model_fields}
    sweep = Sweep(**fields | {"evaluations": ({"kind": kind},), "tables": (AblationTable(),)})
    tables = define(sweep, Changes(), ()).manifest.tables
    assert [table.name for table in tables[len(sweep.tables) :]] == names
    assert define(sweep, Changes(), ()).manifest.evaluations[0].kind == kind


def test_a_manifest_without_evaluations_does_not_tell_of_them() -> None:
    assert "evaluations" not in manifest().model_dump_json()
    reloaded = Manifest.model_validate_json(declared().model_dump_json())
    assert reloaded == declared()
