"""The summary of a sweep that people browse: all of it derived from manifest and records.

It may be deleted at any time: no table is made from it, and the next launch writes it again.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from sweeps.records.trial_record import (
    METRIC_EXTRA_TEST_ERRORS,
    METRIC_TEST_ERROR,
    METRIC_VALIDATION_ERROR,
)

NUM_TRIALS = "num_trials"
_FORMER = "best."  # prefix of what the first layout had of the best arm
_LAYOUT = 2  # in the digest: a store that shows another layout is written to again


@dataclass(frozen=True)
class TrialEntry:
    """A trial and its place in a sweep.

    Attributes:
        arm: In this sweep; it may be another in another sweep.
        data: Name of the data set.
    """

    record_id: str
    arm: str
    data: str
    data_fingerprint: str
    git_revision: str


@dataclass(frozen=True)
class ArmSummary:
    """The summary of an arm over its seeds.

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
class SweepSummary:
    """The summary of a sweep.

    Attributes:
        answers: What its report found, a sentence or more each.
        numbers: Name -> value: means of its best arm, and how many trials have finished.
        best: Name of the best arm, "" where none has a result.
        arms: Those with two seeds or more; none of a search.
        trials: All that have records, each once.
    """

    sweep: str
    description: str
    answers: tuple[str, ...]
    numbers: Mapping[str, float]
    best: str
    arms: tuple[ArmSummary, ...]
    trials: tuple[TrialEntry, ...]

    @property
    def digest(self) -> str:
        """A hash of all of it, by which a store that holds it already is recognised."""
        text = json.dumps([_LAYOUT, asdict(self)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def is_summary_metric(name: str) -> bool:
    """Return whether a metric of a sweep's own run is of the summary; others are people's."""
    names = (METRIC_TEST_ERROR, METRIC_VALIDATION_ERROR, NUM_TRIALS)
    return name in names or name.startswith((METRIC_EXTRA_TEST_ERRORS, _FORMER))
