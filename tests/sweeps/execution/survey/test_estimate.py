"""How long a launch takes follows from trainings of the same networks, which are named."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_spaces import Hyperband
from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.survey.estimate import (
    Estimate,
    Timing,
    estimate,
    estimate_seconds,
    timings_of_cells,
)
from sweeps.execution.survey.survey import survey_of
from sweeps.execution.survey.surveyed_cells import CellState, FolderState, SurveyedCell, surveyed
from sweeps.records.manifest import ManifestCell
from sweeps.records.trial_record import Outcome, TrialRecord
from tests.sweeps.execution.examples import KEY, manifest
from tests.sweeps.execution.search.examples import search, sweep


def cells_of(*epochs: int, arm: str = "base") -> tuple[SurveyedCell, ...]:
    return tuple(
        SurveyedCell(
            ManifestCell(arm=arm, seed=seed, trial_key=KEY), CellState.UNFINISHED, epochs=done
        )
        for seed, done in enumerate(epochs)
    )


def test_without_empty_cells_nothing_is_left() -> None:
    assert estimate_seconds((), {}, {}, 1) == 0.0


def test_without_anything_trained_there_is_no_estimate() -> None:
    assert estimate_seconds(cells_of(0), {"base": 5}, {}, 1) is None


def test_the_estimate_counts_the_epochs_that_are_left() -> None:
    assert estimate_seconds(cells_of(0, 3), {"base": 5}, {"base": 2.0}, 1) == (5 + 2) * 2.0


def test_a_trial_that_waits_to_be_promoted_stands_so_and_takes_no_time_in_the_estimate() -> None:
    declared = manifest(arms=("base",), seeds=(0, 1))
    first, second = (cell.trial_key for cell in declared.cells)
    folders = {first: FolderState(epochs=3), second: FolderState(epochs=3)}
    cells = surveyed(declared.cells, folders, {}, {first})
    assert [cell.state for cell in cells] == [CellState.WAITING, CellState.UNFINISHED]
    assert estimate_seconds(cells, {"base": 5}, {"base": 2.0}, 1) == 4.0
    assert estimate_seconds(cells, {"base": 5}, {"base": 2.0}, 1, num_to_come=0.5) == 4.0 + 5.0
    done = FolderState(Outcome.FINISHED, 5)
    assert surveyed(declared.cells, {first: done}, {}, {first})[0].state is CellState.TO_RECORD


def test_an_arm_never_trained_takes_the_mean_of_the_others() -> None:
    cells = cells_of(0, arm="new")
    assert estimate_seconds(cells, {"new": 5}, {"a": 1.0, "b": 3.0}, 1) == 10.0


def test_no_more_trials_run_at_once_than_there_are() -> None:
    assert estimate_seconds(cells_of(0, 0), {"base": 5}, {"base": 1.0}, 8) == 5.0


@given(
    st.lists(st.integers(0, 20), min_size=1, max_size=6),
    st.floats(0.01, 100),
    st.integers(1, 8),
    st.integers(1, 8),
)
def test_more_trials_at_once_never_take_longer(
    done: list[int], seconds: float, few: int, more: int
) -> None:
    few, more = sorted((few, more))
    slow, fast = (
        estimate_seconds(cells_of(*done), {"base": 10}, {"base": seconds}, number)
        for number in (few, more)
    )
    assert slow is not None
    assert fast is not None
    assert 0 <= fast <= slow


CPU, GPU = "cpu: Xeon", "cuda: H200"


def estimated(*timings: Timing, device: str = CPU) -> Estimate:
    return estimate(cells_of(0, 0), {"base": 10}, {"base": timings}, 1, device=device)


def test_an_epoch_takes_the_median_of_the_trials_and_the_estimate_says_how_many() -> None:
    of_three = estimated(Timing(1.0, 5, CPU), Timing(2.0, 20, CPU), Timing(60.0, 20, CPU))
    assert of_three.seconds == 2 * 10 * 2.0
    assert of_three.source == "from 3 trials of 5 to 20 epochs"
    assert estimated(Timing(1.0, 1, CPU)).source == "from 1 trial of 1 epoch"


def test_trials_of_another_device_count_only_where_there_are_no_others_and_are_named() -> None:
    both = estimated(Timing(8.0, 5, CPU), Timing(1.0, 5, GPU))
    assert (both.seconds, both.source) == (160.0, "from 1 trial of 5 epochs")
    other = estimated(Timing(1.0, 5, GPU), Timing(3.0, 5, GPU))
    assert other.seconds == 40.0
    assert other.source == (
        "from 2 trials of 5 epochs on cuda: H200, where trials here are on cpu: Xeon"
    )
    on_a_cluster = estimated(Timing(1.0, 5, GPU), device="")
    assert on_a_cluster.source == "from 1 trial of 5 epochs on cuda: H200"


def test_an_estimate_counts_the_trials_that_it_follows_from_alone() -> None:
    timings = {"base": [Timing(1.0, 5)], "done": [Timing(9.0, 7)]}
    epochs = {"base": 10, "done": 10}
    of_its_own = estimate(cells_of(0), epochs, timings, 1)
    assert (of_its_own.seconds, of_its_own.source) == (10.0, "from 1 trial of 5 epochs")
    of_the_mean = estimate(cells_of(0), epochs, timings, 1, num_to_come=1)
    assert of_the_mean.source == "from 2 trials of 5 to 7 epochs"


def test_nothing_to_train_and_nothing_known_have_no_source() -> None:
    assert estimate((), {}, {}, 1) == Estimate(0.0)
    unknown = estimate(cells_of(0), {"base": 5}, {}, 1)
    assert (unknown.seconds, unknown.source) == (None, "")


def test_a_trial_in_its_folder_is_timed_too() -> None:
    declared = manifest(arms=("base",), seeds=(0, 1))
    first, second = (cell.trial_key for cell in declared.cells)
    folders = {key: FolderState(epochs=4, duration_seconds=8.0) for key in (first, second)}
    record = TrialRecord(
        record_id="r",
        trial_key=second,
        outcome=Outcome.FINISHED,
        seed=1,
        epochs=4,
        duration_seconds=4.0,
        device=CPU,
    )
    found = timings_of_cells(declared, folders, {second: record})
    assert found == {"base": [Timing(2.0, 4), Timing(1.0, 4, CPU)]}


def test_a_search_in_brackets_takes_what_those_of_its_proposals_take(tmp_path: Path) -> None:
    hyperband = Hyperband(grace=0.3, reduction_factor=2)  # of three epochs: rungs at 1 and 2
    searching = sweep(plan=search(scheduler=hyperband, trials=6))
    options = LaunchOptions(storage=tmp_path, tracking_uri=f"sqlite:///{tmp_path}/none.db")
    of_brackets = [(1 + 1 / 2 + 1 / 4) / 3, (2 + 1 / 2) / 3, 1]  # two proposals each
    assert survey_of(searching, options).mean_share == pytest.approx(sum(of_brackets) / 3)
