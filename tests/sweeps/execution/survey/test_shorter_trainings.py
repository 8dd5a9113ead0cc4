"""What a plan says of cells whose shorter trainings were kept, and what removes these."""

from pathlib import Path
from typing import Any

import pytest

from capsmodel.optimisers import Adam
from capsmodel.optimisers.rate_schedule import CosineRate
from sweeps.cli.commands.plan import _shorter
from sweeps.execution.cells.kept_states import KeptStates
from sweeps.execution.housekeeping.leftovers import Kind
from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.survey.disk_estimate import DiskDemand, estimate_disk
from sweeps.execution.survey.survey import Survey, survey_of
from sweeps.execution.survey.surveyed_cells import CellState
from sweeps.records.errors import BadInput
from tests.capsmodel.small_config import small_config
from tests.sweeps.execution.examples import manifest, spec
from tests.sweeps.execution.launch.launches import ADDRESS, Launches, design

SHORT, LONG = 3, 5


@pytest.fixture
def launches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Launches:
    return Launches(tmp_path, design(num_arms=2), monkeypatch)


def surveyed(launches: Launches, **changes: Any) -> Survey:
    places = {"storage": launches.storage.root, "tracking_uri": ADDRESS}
    return survey_of(launches._sweep, LaunchOptions(**{"epochs": LONG, **places, **changes}))


def keep(launches: Launches, seed: int) -> None:
    """Keep the state of a training of an arm, as its worker does."""
    (config,) = [arm.config for arm in launches._sweep.initial_arms() if arm.name == "rate 1"]
    states = KeptStates(launches.storage.states, config, seed, "")
    states.keep(b"all of it", spec(), num_epochs=SHORT, steps_per_epoch=2)


def test_a_cell_whose_shorter_training_was_kept_has_its_epochs(launches: Launches) -> None:
    keep(launches, seed=0)
    survey = surveyed(launches)
    states = {(cell.cell.arm, cell.cell.seed): cell for cell in survey.cells}
    shorter = states["rate 1", 0]
    assert (shorter.state, shorter.epochs) == (CellState.SHORTER, SHORT)
    assert {cell.state for place, cell in states.items() if place != ("rate 1", 0)} == {
        CellState.NEW
    }
    assert [*_shorter(survey)] == [
        "1 goes on from 3 epochs of a shorter training, on the same kind of machine."
    ]


@pytest.mark.parametrize("num_epochs", [1, SHORT])
def test_one_that_is_not_longer_is_new(launches: Launches, num_epochs: int) -> None:
    keep(launches, seed=0)
    survey = surveyed(launches, epochs=num_epochs)
    assert {cell.state for cell in survey.cells} == {CellState.NEW}
    assert not [*_shorter(survey)]


def test_one_whose_rates_follow_the_length_says_so(launches: Launches) -> None:
    cosine = small_config(optimiser=Adam(schedule=CosineRate()))
    launches._sweep = launches._sweep.model_copy(update={"base": cosine})
    keep(launches, seed=0)
    assert [*_shorter(surveyed(launches))] == [
        "1 cannot go on from a shorter training, as the learning rate follows the length of the "
        "training."
    ]


def test_a_refused_launch_says_that_either_way_out_goes_on(launches: Launches) -> None:
    launches.run()
    assert "Either goes on" not in str(surveyed(launches).refusal)
    keep(launches, seed=0)
    assert "Both flags go on from the shorter trainings." in str(surveyed(launches).refusal)
    assert surveyed(launches, name="other").refusal is None


def test_a_sweep_that_is_trained_again_takes_nothing_over(launches: Launches) -> None:
    launches.run()
    keep(launches, seed=0)
    assert {cell.state for cell in surveyed(launches, retrain=True).cells} == {CellState.NEW}
    launches.run(retrain=True)
    assert not [*launches.storage.states.glob("*/*")]


def test_it_is_freed_when_that_is_asked_for(launches: Launches) -> None:
    launches.run()
    keep(launches, seed=0)
    kept = launches.clean()
    assert not kept.leftovers
    assert "--states frees them too" in " ".join(kept.sentences)
    cleaned = launches.clean(with_states=True, is_freeing=True)
    assert [leftover.kind for leftover in cleaned.leftovers] == [Kind.STATE]
    assert not [*launches.storage.states.glob("*/*")]
    with pytest.raises(BadInput, match="leave the sweep out"):
        launches.clean("example", with_states=True)


@pytest.mark.parametrize(("most", "num_bytes"), [(0, 0), (12, 12), (11, 0), (None, 12)])
def test_its_disk_space_is_that_of_weights_and_moments(most: int | None, num_bytes: int) -> None:
    demand = DiskDemand(["base"], {}, 1, 1, most_state_bytes=most)
    assert estimate_disk(manifest(), demand, free_bytes=0).state_bytes == num_bytes
