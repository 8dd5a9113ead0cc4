"""What a launch has to do follows from manifest, folders and records alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeps.execution.survey.surveyed_cells import (
    CellState,
    FolderState,
    SurveyedCell,
    check_dropped_cells,
    surveyed,
)
from sweeps.records.errors import BadInput
from sweeps.records.trial_record import Outcome, TrialRecord
from tests.sweeps.execution.examples import KEY, manifest


def record(outcome: Outcome, epochs: int = 4, reason: str = "") -> TrialRecord:
    return TrialRecord(
        record_id="r", trial_key=KEY, outcome=outcome, seed=0, epochs=epochs, reason=reason
    )


def planned(folder: FolderState | None, stored: TrialRecord | None) -> SurveyedCell:
    declared = manifest(arms=("base",), seeds=(0,))
    key = declared.cells[0].trial_key
    folders = {key: folder} if folder else {}
    (cell,) = surveyed(declared.cells, folders, {key: stored} if stored else {})
    return cell


FINISHED = FolderState(Outcome.FINISHED, 5)


@pytest.mark.parametrize(
    ("folder", "stored", "state", "epochs", "reason"),
    [
        (None, None, CellState.NEW, 0, ""),
        (FolderState(), None, CellState.NEW, 0, ""),
        (None, record(Outcome.FINISHED), CellState.RECORDED, 4, ""),
        (None, record(Outcome.DIVERGED, 4, "nan"), CellState.RECORDED, 4, "nan"),
        (FINISHED, record(Outcome.FINISHED), CellState.RECORDED, 4, ""),
        (FINISHED, None, CellState.TO_RECORD, 5, ""),
        (FINISHED, record(Outcome.RUNNING), CellState.TO_RECORD, 5, ""),
        (FINISHED, record(Outcome.FAILED, 1, "no"), CellState.TO_RECORD, 5, ""),
        (FolderState(Outcome.DIVERGED, 2), None, CellState.TO_RECORD, 2, ""),
        (FolderState(epochs=3), None, CellState.UNFINISHED, 3, ""),
        (FolderState(epochs=3), record(Outcome.INTERRUPTED), CellState.UNFINISHED, 3, ""),
        (FolderState(epochs=3), record(Outcome.FAILED, 3, "no"), CellState.UNFINISHED, 3, ""),
        (FolderState(epochs=3, failure="no"), None, CellState.FAILED, 3, "no"),
        (None, record(Outcome.FAILED, 3, "no"), CellState.FAILED, 0, "no"),
        (None, record(Outcome.RUNNING), CellState.NEW, 0, ""),
        (None, record(Outcome.INTERRUPTED), CellState.NEW, 0, ""),
        (None, record(Outcome.PRUNED), CellState.NEW, 0, ""),
    ],
)
def test_a_cell_stands_where_its_folder_and_its_record_put_it(
    folder: FolderState | None,
    stored: TrialRecord | None,
    state: CellState,
    epochs: int,
    reason: str,
) -> None:
    cell = planned(folder, stored)
    assert (cell.state, cell.epochs, cell.reason) == (state, epochs, reason)
    assert cell.is_filled == (state in {CellState.RECORDED, CellState.TO_RECORD})


outcomes = st.sampled_from(Outcome)
folder_states = st.builds(
    FolderState,
    outcome=st.sampled_from([None, Outcome.FINISHED, Outcome.DIVERGED]),
    epochs=st.integers(0, 9),
    failure=st.sampled_from([None, "no"]),
)


@given(st.none() | folder_states, st.none() | outcomes.map(record))
def test_a_cell_is_filled_exactly_where_one_of_the_two_holds_a_final_record(
    folder: FolderState | None, stored: TrialRecord | None
) -> None:
    is_final = bool((folder and folder.outcome) or (stored and stored.outcome.is_final))
    assert planned(folder, stored).is_filled == is_final


def test_every_cell_is_planned_once_in_the_manifests_order() -> None:
    declared = manifest(seeds=(0, 1, 2))
    assert tuple(cell.cell for cell in surveyed(declared.cells, {}, {})) == declared.cells


def refusal(current: object, new: object) -> str:
    with pytest.raises(BadInput) as caught:
        check_dropped_cells(current, new)  # pyright: ignore[reportArgumentType]
    return str(caught.value)


def test_a_new_sweep_and_the_same_and_a_larger_one_are_let_through() -> None:
    current = manifest()
    for new in (
        current,
        manifest(seeds=(0, 1, 2)),
        manifest(seeds=(1, 0)),
        manifest(arms=("base", "other", "third")),
        current.model_copy(update={"baseline": "other", "description": "new"}),
    ):
        check_dropped_cells(current, new)
    check_dropped_cells(None, current)


def test_empty_cells_whose_code_was_mended_may_go() -> None:
    old = manifest(seeds=(0, 1))
    first = old.cells[0]
    mended = first.model_copy(update={"trial_key": "f" * 20})
    new = old.model_copy(update={"cells": (mended, *old.cells[1:])})
    check_dropped_cells(old, new, filled=set())
    with pytest.raises(BadInput, match="its data or the code of its parts have changed"):
        check_dropped_cells(old, new, filled={first.trial_key})
    with pytest.raises(BadInput, match="seeds 1 are not in it"):
        check_dropped_cells(old, manifest(seeds=(0,)), filled=set())


def test_fewer_seeds_are_refused_by_name() -> None:
    assert refusal(manifest(seeds=(0, 1, 2)), manifest(seeds=(1, 3))) == (
        "The sweep 'example' exists already, and this launch leaves out 4 of its 6 cells: "
        "the seeds 0, 2 are not in it. No record is deleted, but those cells would no longer be in "
        "the sweep's table. --name NEW keeps both tables; --replace goes on with this launch's "
        "cells alone; the settings of the last launch continue that one."
    )


def test_fewer_arms_are_refused_by_name() -> None:
    assert "leaves out 2 of its 4 cells: the arms other are not in it." in refusal(
        manifest(), manifest(arms=("base",))
    )


def test_an_arm_may_have_another_name_as_its_trials_are_still_there() -> None:
    old = manifest()
    texts = old.model_dump_json().replace('"other"', '"another"')
    check_dropped_cells(old, type(old).model_validate_json(texts))


def test_other_settings_are_refused_with_old_and_new() -> None:
    old = manifest(base={"a": {"b": 1, "kind": "x"}, "c": 1}, other={"a": {"b": 1}, "c": 2})
    new = manifest(base={"a": {"b": 2, "kind": "x"}, "c": 1}, other={"a": {"b": 2}, "c": 2})
    assert "other settings: a.b 1 -> 2." in refusal(old, new)


def test_a_setting_that_came_or_went_is_told_too() -> None:
    assert "other settings: new unset -> 3" in refusal(manifest(base={}), manifest(base={"new": 3}))


def test_many_changed_settings_are_cut_short() -> None:
    old, new = ({f"s{number}": value for number in range(30)} for value in (1, 2))
    assert refusal(manifest(base=old), manifest(base=new)).count("->") == 5


def test_other_code_is_told_where_no_setting_differs() -> None:
    current = manifest()
    cells = tuple(
        cell.model_copy(update={"trial_key": cell.trial_key[::-1]}) for cell in current.cells
    )
    assert "its data or the code of its parts have changed" in refusal(
        current, current.model_copy(update={"cells": cells})
    )


def test_ten_thousand_cells_are_compared_at_once() -> None:
    current = manifest(seeds=tuple(range(5000)))
    check_dropped_cells(current, current)
