"""How long a launch takes: a pure function of how long the same networks were trained."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from sweeps.execution.survey.surveyed_cells import CellState, FolderState, SurveyedCell
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import counted, listed
from sweeps.records.trial_record import TrialRecord

FROM_CHECK = "from a few steps of check"
"""How the source of an estimate begins where nothing was trained."""
_MOST_DEVICES = 3


@dataclass(frozen=True)
class Timing:
    """How long a training of a network took.

    Attributes:
        seconds_per_epoch: Mean over its epochs.
        epochs: How many these were, 0 if `check` has only taken steps.
        device: The name of the device, "" if it is not known.
    """

    seconds_per_epoch: float
    epochs: int
    device: str = ""


Timings = Mapping[str, Sequence[Timing]]
"""Arm -> timings of its network."""


@dataclass(frozen=True)
class Estimate:
    """How long a launch takes.

    Attributes:
        seconds: For the empty cells; 0 if there are none, None if nothing like them was trained.
        timings: What it follows from.
        device: The device of the launch's trials, "" if it is not known.
    """

    seconds: float | None = None
    timings: tuple[Timing, ...] = ()
    device: str = ""

    @property
    def source(self) -> str:
        """What it follows from: "from 6 trials of 20 epochs". "" if it follows from nothing."""
        if not self.seconds:
            return ""
        lengths = [timing.epochs for timing in self.timings if timing.epochs]
        if not lengths:
            return f"{FROM_CHECK} on this machine's CPU, a rough guess"
        fewest, most = min(lengths), max(lengths)
        span = counted(most, "epoch") if fewest == most else f"{fewest} to {most} epochs"
        return f"from {counted(len(lengths), 'trial')} of {span}{self._elsewhere}"

    @property
    def _elsewhere(self) -> str:
        """The devices of the timings, where these are not that of the launch."""
        devices = dict.fromkeys(timing.device for timing in self.timings if timing.device)
        if not devices or [*devices] == [self.device]:
            return ""
        here = f", where trials here are on {self.device}" * bool(self.device)
        return f" on {listed([*devices], _MOST_DEVICES)}{here}"


def estimate(
    cells: tuple[SurveyedCell, ...],
    epochs: Mapping[str, int],
    timings: Timings,
    num_concurrent: int,
    *,
    num_to_come: float = 0,
    device: str = "",
) -> Estimate:
    """Estimate how long the empty cells take.

    Args:
        cells: All cells, with their states.
        epochs: Epochs of a full training, by arm.
        timings: Those of an arm's network give the median of its seconds an epoch, of those on the
            launch's device if there are any. An arm without takes the mean of the others.
        num_concurrent: Trials at once.
        num_to_come: Cells that a search still has to propose, in full trainings.
        device: The device of the launch's trials, "" if it is not known.
    """
    chosen = {arm: _on_device(some, device) for arm, some in timings.items() if some}
    speeds = {
        arm: median(timing.seconds_per_epoch for timing in some) for arm, some in chosen.items()
    }
    seconds = estimate_seconds(cells, epochs, speeds, num_concurrent, num_to_come=num_to_come)
    to_train = {cell.cell.arm for cell in empty_cells(cells)}
    takes_mean = num_to_come or not to_train <= chosen.keys()
    used = chosen if takes_mean else {arm: chosen[arm] for arm in to_train}
    return Estimate(seconds, tuple(each for some in used.values() for each in some), device)


def _on_device(timings: Sequence[Timing], device: str) -> Sequence[Timing]:
    return [timing for timing in timings if timing.device == device] or timings


def estimate_seconds(
    cells: tuple[SurveyedCell, ...],
    epochs: Mapping[str, int],
    seconds_per_epoch: Mapping[str, float],
    num_concurrent: int,
    *,
    num_to_come: float = 0,
) -> float | None:
    """Return the seconds of `estimate`, by the seconds that an epoch of each arm takes."""
    epochs_left = [
        (cell.cell.arm, max(0, epochs[cell.cell.arm] - cell.epochs)) for cell in empty_cells(cells)
    ]
    if not epochs_left and not num_to_come:
        return 0.0
    if not seconds_per_epoch:
        return None
    mean = sum(seconds_per_epoch.values()) / len(seconds_per_epoch)
    total = sum(count * seconds_per_epoch.get(arm, mean) for arm, count in epochs_left)
    total += num_to_come * mean * sum(epochs.values()) / len(epochs)
    return total / min(num_concurrent, max(1, len(epochs_left) + num_to_come))


def empty_cells(cells: Iterable[SurveyedCell]) -> list[SurveyedCell]:
    """Return the cells that a launch trains, without those that wait for their promotion."""
    return [cell for cell in cells if not cell.is_filled and cell.state is not CellState.WAITING]


def timings_of_cells(
    manifest: Manifest, folders: Mapping[str, FolderState], records: Mapping[str, TrialRecord]
) -> dict[str, list[Timing]]:
    """Return the timings of a sweep's own trials by arm.

    Args:
        manifest: Its manifest.
        folders: The states of the cells' folders by trial key.
        records: Records by trial key.
    """
    found: dict[str, list[Timing]] = {}
    for cell in manifest.cells:
        folder, record = folders.get(cell.trial_key), records.get(cell.trial_key)
        if timing := (record and timing_of(record)):
            found.setdefault(cell.arm, []).append(timing)
        elif folder and folder.epochs:
            seconds = folder.duration_seconds / folder.epochs
            found.setdefault(cell.arm, []).append(Timing(seconds, folder.epochs))
    return found


def timing_of(record: TrialRecord) -> Timing | None:
    """Return the timing of a recorded trial, None if it has none."""
    seconds = record.seconds_per_epoch
    return None if seconds is None else Timing(seconds, record.epochs, record.device)
