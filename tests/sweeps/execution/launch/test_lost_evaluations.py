"""Evaluations that the store lacks and folders hold are carried, by a launch and by a repair."""

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capsmodel.evaluation import Confidence
from sweeps.execution.cells.evaluations import CellEvaluations
from sweeps.execution.launch.flush_records import queue_evaluations
from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.survey.survey import survey_of
from sweeps.tracking.record_facts import TAG_OUTCOME
from tests.sweeps.execution.launch.launches import ADDRESS, Launches, RecorderHere, design
from tests.sweeps.execution.recorder.test_evaluations import evaluation_record

MEASURED = {"mean_belief": 0.5}


@pytest.fixture
def launches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Launches:
    """Return a sweep whose trials were looked at, which the store has not heard of."""
    sweep = design().model_copy(update={"evaluations": (Confidence(),)})
    launches = Launches(tmp_path, sweep, monkeypatch)
    launches.run()
    manifest = launches.store.manifest("example")
    (declared,) = manifest.evaluations
    for cell in manifest.cells:
        about: dict[str, Any] = {"evaluation": {"kind": "confidence"}, "metrics": MEASURED}
        key = declared.evaluation_key
        record = evaluation_record(key, trial_key=cell.trial_key, images=(), pictures=(), **about)
        CellEvaluations(launches.storage.cells / cell.trial_key).write(record, b"", {})
    return launches


def expect_evaluated(launches: Launches) -> None:
    """Check that each trial has one record, with its evaluation."""
    manifest = launches.store.manifest("example")
    records = launches.store.records(manifest.cell_keys().values())
    assert records.keys() == {cell.trial_key for cell in manifest.cells}
    assert [list(record.evaluations.values()) for record in records.values()] == [[MEASURED]] * 6
    for run in launches.store.backend.live("trial"):
        assert run.facts[TAG_OUTCOME] == "finished"


def lose_store(launches: Launches) -> None:
    launches.lose_store()


def lose_an_evaluation(launches: Launches) -> None:
    run = launches.store.backend.live("trial")[0]
    run.facts = {name: fact for name, fact in run.facts.items() if "evaluation" not in name}


LOSSES = (lose_store, lose_an_evaluation)


@pytest.mark.parametrize("lose", LOSSES)
def test_a_repair_fills_them(launches: Launches, lose: Callable[[Launches], None]) -> None:
    assert launches.run().exit_code == 0
    expect_evaluated(launches)
    lose(launches)
    repaired = launches.repair("example")
    assert repaired.exit_code == 0
    assert "were filled" in " ".join(repaired.sentences)
    expect_evaluated(launches)
    assert launches.repair().sentences == ()


@pytest.mark.parametrize("lose", LOSSES)
def test_those_that_are_lost_once_carried_are_carried_again(
    launches: Launches, lose: Callable[[Launches], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: list[bool] = []
    finish = RecorderHere.finish

    def finish_and_lose(recorder: RecorderHere, *arguments: Any) -> bool:
        is_carried = finish(recorder, *arguments)
        trials = launches.store.backend.live("trial")
        if not lost and any("evaluation" in name for run in trials for name in run.facts):
            lost.append(True)
            lose(launches)
        return is_carried

    monkeypatch.setattr(RecorderHere, "finish", finish_and_lose)
    result = launches.run()
    assert lost
    assert (result.exit_code, result.complaint) == (0, "")
    expect_evaluated(launches)


def num_open_files() -> int:
    return len([*Path("/proc/self/fd").iterdir()])


def test_queueing_them_leaves_no_file_open(launches: Launches) -> None:
    places = {"storage": launches.storage.root, "tracking_uri": ADDRESS}
    survey = survey_of(design(), LaunchOptions.model_validate(places))
    gc.disable()  # it would close the files of a queue that is left open
    try:
        before = num_open_files()
        queue_evaluations(survey, [survey.cells[0].cell.trial_key])
        assert num_open_files() == before
    finally:
        gc.enable()
