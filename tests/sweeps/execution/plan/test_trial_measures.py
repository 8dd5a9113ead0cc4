"""What trials measure of limited measures: at their end, and over their first epochs."""

from functools import partial
from pathlib import Path

import pytest

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.plan.trial_measures import TrialMeasures
from sweeps.records.cell_contents import OutboxLine
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Outcome, TrialRecord
from tests.sweeps.aggregation.small_search import search_of
from tests.sweeps.execution.examples import KEY, epoch, final, start

LIMITS = {"seconds_per_epoch": 2.0, "peak_memory_bytes": 100.0}


def limited() -> Manifest:
    return search_of(measured_limits=LIMITS)


def reported(number: int, seconds: float, peak: int | None) -> OutboxLine:
    metrics = epoch(number)
    object.__setattr__(metrics, "duration_seconds", seconds)
    line = OutboxLine(type="epoch", time=number, fence=1, epoch=metrics)
    return line.model_copy(update={"peak_memory_bytes": peak})


@pytest.fixture
def folder(tmp_path: Path) -> CellFolder:
    cell = CellFolder(tmp_path, KEY)
    with cell.lease(0):
        cell.append(start(), reported(1, 1.0, 50), reported(2, 3.0, None), reported(3, 8.0, 90))
    return cell


def measures(folder: CellFolder, record: TrialRecord | None = None) -> TrialMeasures:
    return TrialMeasures(limited(), partial(CellFolder, folder.path.parent), lambda key: record)


def test_until_an_epoch_it_is_the_mean_of_the_epochs_and_the_peak_of_those(
    folder: CellFolder,
) -> None:
    until = partial(measures(folder).until, KEY)
    assert until(1) == {"seconds_per_epoch": 1.0, "peak_memory_bytes": 50}
    assert until(2) == {"seconds_per_epoch": 2.0, "peak_memory_bytes": 50}
    assert until(3) == {"seconds_per_epoch": 4.0, "peak_memory_bytes": 90}


def test_before_anything_was_reported_nothing_is_measured(tmp_path: Path) -> None:
    assert measures(CellFolder(tmp_path, KEY)).until(KEY, 1) == {}


@pytest.mark.parametrize("peak", [None, 70])
def test_at_its_end_it_is_what_its_record_holds_here_and_in_the_store(
    tmp_path: Path, peak: int | None
) -> None:
    here, elsewhere = CellFolder(tmp_path / "here", KEY), CellFolder(tmp_path / "elsewhere", KEY)
    with here.lease(0):
        here.write_final(final(4, duration_seconds=6.0, peak_memory_bytes=peak))
    record = TrialRecord(
        record_id="x",
        trial_key=KEY,
        outcome=Outcome.FINISHED,
        seed=0,
        epochs=4,
        duration_seconds=6.0,
        peak_memory_bytes=peak,
    )
    memory = {} if peak is None else {"peak_memory_bytes": peak}
    for measured in (measures(here), measures(elsewhere, record)):
        assert measured.at_end(KEY) == {"seconds_per_epoch": 1.5} | memory


def test_a_search_without_such_limits_measures_nothing(tmp_path: Path) -> None:
    plain = TrialMeasures(search_of(), partial(CellFolder, tmp_path), lambda key: None)
    assert plain.names == ()
