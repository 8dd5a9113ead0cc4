"""A sweep as it is shown to who browses a store: all of it derived from manifest and records.

It may be lost or deleted at any time. No table is made from it: the next launch writes it again.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Protocol

from sweeps.records.trial_record import METRIC_TEST_ERROR, METRIC_VALIDATION_ERROR

NUM_TRIALS = "num_trials"
BEST = "best."
_LAYOUT = 1  # in the digest: a store that shows another layout is written to again


@dataclass(frozen=True)
class ShownTrial:
    """One trial of a sweep and where it stands there.

    Attributes:
        arm: In this sweep; in another it may be another.
        data: Name of the data set.
    """

    record_id: str
    arm: str
    data: str
    data_fingerprint: str
    git_revision: str


@dataclass(frozen=True)
class ShownArm:
    """An arm summed up over its seeds.

    Attributes:
        numbers: Name -> value: means of finished trials with half-widths of their intervals, and
            how many these are.
        note: In Markdown.
        is_whole: Whether none of its trials is missing or unfinished.
    """

    name: str
    numbers: Mapping[str, float]
    note: str
    is_whole: bool


@dataclass(frozen=True)
class ShownSweep:
    """A sweep summed up.

    Attributes:
        numbers: Name -> value: of its best arm, and means of all finished trials.
        best: Name of the best arm, "" where none has a result.
        arms: Those with two seeds or more; none of a search.
        trials: All that have records, each once.
    """

    sweep: str
    description: str
    numbers: Mapping[str, float]
    best: str
    arms: tuple[ShownArm, ...]
    trials: tuple[ShownTrial, ...]

    @property
    def digest(self) -> str:
        """A hash of all of it, by which a store that shows it already is known."""
        text = json.dumps([_LAYOUT, asdict(self)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def is_number_of_sweep(name: str) -> bool:
    """Return whether a metric of a sweep's own run is one that is shown; others are people's."""
    return name in (METRIC_TEST_ERROR, METRIC_VALIDATION_ERROR, NUM_TRIALS) or name.startswith(BEST)


class ShowsSweeps(Protocol):
    """What shows sweeps to who browses a store; every `RecordWriter` is one."""

    def show_sweep(self, sweep_id: str, shown: ShownSweep) -> None:
        """Write what is shown of a sweep, in place of what is there. No reader looks at it.

        Raises:
            StoreRefused: If some of it could not be written; the same call again does the rest.
        """
        ...
