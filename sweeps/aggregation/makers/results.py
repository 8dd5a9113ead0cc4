"""What a maker is handed: a sweep's manifest, its records, and a way to ask for curves."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import TrialRecord

Histories = Mapping[str, Mapping[int, float]]


@dataclass(frozen=True)
class Results:
    """What a sweep's tables and figures are made from.

    Attributes:
        manifest: The sweep's arms and cells.
        records: Trial key -> record, of those cells that have one.
        histories: Gives one epoch metric of some trials: trial key -> epoch -> value. It may ask
            the tracking store, once a trial, so that only what draws curves calls it.
    """

    manifest: Manifest
    records: Mapping[str, TrialRecord]
    histories: Callable[[Iterable[TrialRecord], str], Histories]
