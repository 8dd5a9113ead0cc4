"""A tracking store that was lost is filled again before a launch says that all is recorded."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sweeps.execution.launch import launch as launch_module
from sweeps.execution.launch.weights import WeightsDeleted, keep_weights
from sweeps.records.cell_contents import TrialSpec
from sweeps.records.trial_record import EPOCH_METRICS
from tests.sweeps.execution.launch.launches import (
    Launches,
    design,
    falling_with_the_rate,
    searching,
)

SWEEPS = {"design": design, "search": searching}


@pytest.fixture(params=SWEEPS.values(), ids=SWEEPS)
def launches(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Launches:
    return Launches(tmp_path, request.param(), monkeypatch)


def expect_whole(launches: Launches) -> None:
    """Check that each trial has one record, with each of its epochs once."""
    store = launches.store
    manifest = store.manifest("example")
    records = store.records(manifest.cell_keys().values())
    assert len(store.backend.live("trial")) == len(records)
    assert records.keys() == {cell.trial_key for cell in manifest.cells}
    for cell in manifest.cells:
        run = store.backend.open(records[cell.trial_key].record_id)
        assert run.facts["capsweep.outcome"] == ("pruned" if cell.stopped else "finished")
        epochs = list(range(1, (cell.stopped.epoch if cell.stopped else 3) + 1))
        for metric in EPOCH_METRICS:
            assert sorted(step for step, _, _ in run.points[metric]) == epochs
    (sweep_run,) = store.backend.live("sweep")
    assert not sweep_run.is_running


def lose_store(launches: Launches) -> None:
    launches.lose_store()


def lose_store_and_the_log(launches: Launches) -> None:
    launches.lose_store()
    (launches.storage.journals / "example.jsonl").unlink()


def lose_store_and_all_journals(launches: Launches) -> None:
    launches.lose_store()
    launches.lose_journals()


@pytest.mark.parametrize("lose", [lose_store, lose_store_and_the_log, lose_store_and_all_journals])
def test_the_next_launch_ends_with_all_records_and_the_same_tables(
    launches: Launches, lose: Callable[[Launches], None]
) -> None:
    assert launches.run().exit_code == 0
    expect_whole(launches)
    tables, num_trained = launches.tables(), launches.num_epochs_trained()
    lose(launches)
    result = launches.run()
    assert (result.exit_code, result.complaint) == (0, "")
    expect_whole(launches)
    assert launches.tables() == tables
    assert launches.num_epochs_trained() == num_trained


def lost_after(launches: Launches, num_epochs: int, *, serving: bool) -> None:
    """Have the store come back empty in the middle of the next launch.

    Args:
        launches: Of the sweep.
        num_epochs: That have been trained by then.
        serving: Whether the recorder goes on meanwhile; else it hears of it at the end.
    """
    trained = list[int]()

    def score(spec: TrialSpec, epoch: int) -> float:
        assert launches.recorder is not None
        if serving:
            launches.recorder.serve()
        trained.append(epoch)
        if len(trained) == num_epochs:
            launches.recorder.serve()
            assert launches.store.backend.live("trial")
            launches.lose_store()
        return falling_with_the_rate(spec, epoch)

    launches.score = score


@pytest.mark.parametrize("serving", [True, False])
@pytest.mark.parametrize("num_epochs", [4, 12])
def test_a_store_that_comes_back_empty_in_mid_sweep_is_filled_in_the_same_launch(
    launches: Launches, num_epochs: int, serving: bool
) -> None:
    lost_after(launches, num_epochs, serving=serving)
    result = launches.run()
    assert (result.exit_code, result.complaint) == (0, "")
    expect_whole(launches)
    assert launches.store.sweeps() == ["example"]


def test_records_that_were_there_before_the_launch_are_filled_again_too(
    launches: Launches,
) -> None:
    assert launches.run().exit_code == 0
    trial = next(launches.storage.cells.iterdir())
    shutil.rmtree(trial)
    launches.store.writer().mark_replaced([trial.name])
    lost_after(launches, 1, serving=False)
    result = launches.run()
    assert (result.exit_code, result.complaint) == (0, "")
    assert result.num_trained == 1
    expect_whole(launches)


def test_a_record_that_is_lost_with_its_folder_ends_no_launch_as_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launches = Launches(tmp_path, design(), monkeypatch)
    assert launches.run(seeds=(0,)).exit_code == 0
    shutil.rmtree(launches.storage.cells)
    lost_after(launches, 1, serving=False)
    result = launches.run(seeds=(0, 1))
    assert result.exit_code == 3
    assert "lost 3 trials whose folders are gone" in result.complaint
    launches.score = falling_with_the_rate
    assert launches.run(seeds=(0, 1)).exit_code == 0
    expect_whole(launches)


def test_a_store_that_goes_away_before_weights_are_deleted_costs_no_result(
    launches: Launches, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = launches.store.backend

    def go_away(*arguments: Any, **named: Any) -> WeightsDeleted:
        gone.is_unreachable = True
        return keep_weights(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(launch_module, "keep_weights", go_away)
        result = launches.run(keep_weights="none")
    assert (result.exit_code, result.is_recorded) == (3, True)
    assert result.report is not None
    assert result.sentences == (
        "Weights are still there: The tracking store at http://memory.invalid does not answer.",
    )
    gone.is_unreachable = False
    assert launches.run(keep_weights="none").exit_code == 0
