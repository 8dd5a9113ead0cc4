"""How fast networks took a step in `capsweep check`, remembered in the user's cache."""

import hashlib
from collections.abc import Mapping
from contextlib import suppress

from pydantic import BaseModel, ConfigDict, ValidationError

from capsmodel.config import TrainingConfig
from capsmodel.stopping import FixedEpochs
from search_spaces.trial_key import trial_key
from sweeps.execution.survey.estimate import Timing
from sweeps.execution.worker.provenance import hardware
from sweeps.records.bounds import Seconds
from sweeps.records.errors import BadInput
from sweeps.storage.locations import user_cache

_FOLDER = "checked"
_MOST_BYTES = 1000


class _CheckedSpeed(BaseModel):
    """What a file of the cache holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seconds_per_epoch: Seconds


def remember_speed(config: TrainingConfig, seconds_per_epoch: float) -> None:
    """Remember how long an epoch takes on this machine's CPU; where there is no cache, nothing."""
    speed = _CheckedSpeed(seconds_per_epoch=seconds_per_epoch)
    with suppress(OSError, BadInput, RuntimeError):  # no folder to write to, or no home
        folder = (user_cache() / _FOLDER).make(0o700)
        folder.write(_name(config), speed.model_dump_json().encode())


def checked_timings(configs: Mapping[str, TrainingConfig]) -> dict[str, list[Timing]]:
    """Return the timings of those networks that a check on a CPU like this machine's has tried.

    Args:
        configs: Arm -> its config; its number of epochs does not matter.
    """
    timings: dict[str, list[Timing]] = {}
    for arm, config in configs.items():
        with suppress(OSError, BadInput, RuntimeError, ValidationError):
            text = (user_cache() / _FOLDER).read(_name(config), _MOST_BYTES)
            speed = _CheckedSpeed.model_validate_json(text)
            timings[arm] = [Timing(speed.seconds_per_epoch, 0, hardware("cpu"))]
    return timings


def _name(config: TrainingConfig) -> str:
    """Return what identifies a network with its data and this processor, for any length."""
    key = trial_key(config.model_copy(update={"stopping": FixedEpochs()}), 0)
    return hashlib.sha256(f"{key} {hardware('cpu')}".encode()).hexdigest()[:20]
