"""What a launch takes on the disk follows from its cells and from what filled ones take."""

from pathlib import Path

import pytest

from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.survey import survey as disk_survey
from sweeps.execution.survey.disk_estimate import DiskDemand, DiskEstimate, estimate_disk
from sweeps.execution.survey.folder_states import folder_states
from sweeps.execution.survey.survey import survey_of
from sweeps.records.manifest import Manifest
from tests.sweeps.execution.examples import manifest
from tests.sweeps.execution.launch.launches import ADDRESS, Launches, design

MANY, FEW = 1000, 100


def free(folder: Path) -> int:
    """Stand in for what is free on a disk."""
    del folder
    return 12345


def two_arms() -> Manifest:
    """Return a manifest of an arm with many parameters and one with few."""
    plain = manifest(arms=("many", "few"), seeds=(0, 1))
    sizes = {"many": MANY, "few": FEW}
    arms = [arm.model_copy(update={"num_parameters": sizes[arm.name]}) for arm in plain.arms]
    return plain.model_copy(update={"arms": tuple(arms)})


def estimated(
    *empty: str | None,
    seen: dict[str, list[int]] | None = None,
    num_copies: int = 2,
    num_concurrent: int = 1,
) -> DiskEstimate:
    demand = DiskDemand(empty, seen or {}, num_copies, num_concurrent)
    return estimate_disk(two_arms(), demand, free_bytes=100_000)


def test_weights_stay_in_the_cell_and_once_more_with_the_record() -> None:
    assert estimated("many", "few").kept_bytes == 2 * 4 * (MANY + FEW)
    assert estimated("many", "few", num_copies=1).kept_bytes == 4 * (MANY + FEW)


def test_an_arm_of_which_a_cell_is_filled_takes_what_that_takes() -> None:
    assert estimated("few", num_copies=1, seen={"few": [500, 700]}).kept_bytes == 600


def test_of_another_arm_the_rest_is_what_the_filled_cells_have_besides_their_weights() -> None:
    assert estimated("many", num_copies=1, seen={"few": [600]}).kept_bytes == 4 * MANY + 200


def test_what_is_still_to_be_proposed_counts_as_a_mean_one() -> None:
    assert estimated(None, num_copies=1).kept_bytes == 4 * (MANY + FEW) / 2


@pytest.mark.parametrize(("num_concurrent", "at_once"), [(1, MANY), (2, MANY + FEW), (9, 1100)])
def test_checkpoints_are_those_of_the_largest_that_train_at_once(
    num_concurrent: int, at_once: int
) -> None:
    estimate = estimated("few", "many", num_concurrent=num_concurrent)
    assert estimate.checkpoint_bytes == 2 * 3 * 4 * at_once
    assert estimate.most_bytes == estimate.kept_bytes + estimate.checkpoint_bytes


def test_nothing_to_train_takes_nothing_and_fits_anywhere() -> None:
    estimate = estimate_disk(two_arms(), DiskDemand([], {}, 2, 1), free_bytes=0)
    assert (estimate.most_bytes, estimate.fits) == (0, True)


def test_what_is_larger_than_what_is_free_does_not_fit() -> None:
    assert estimated("many").fits
    assert not estimated(*["many"] * 12).fits


def test_a_survey_measures_filled_cells_and_takes_no_deleted_weights_for_small_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launches = Launches(tmp_path, design(), monkeypatch)
    monkeypatch.setattr(disk_survey, "free_bytes", free)
    places = {"storage": launches.storage.root, "tracking_uri": ADDRESS}
    first, *others = survey_of(design(), LaunchOptions.model_validate(places)).cells
    assert launches.run().exit_code == 0
    key = first.cell.trial_key
    folder = launches.storage.cells / key
    assert folder_states(launches.storage, [key])[key].num_bytes == 0
    (folder / "weights.safetensors").write_bytes(bytes(10_000))
    (folder / "evaluations").symlink_to(tmp_path)
    size = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    assert folder_states(launches.storage, [key])[key].num_bytes == size
    more = LaunchOptions.model_validate(places | {"seeds": (0, 1, 2)})
    estimate = survey_of(design(), more).disk
    assert estimate.kept_bytes > size  # a server's copy lies elsewhere, two more arms are larger
    assert estimate.free_bytes == 12345
    assert len(others) == 5
