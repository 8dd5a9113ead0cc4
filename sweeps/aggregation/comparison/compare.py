"""A frame that compares sweeps: one row per arm of each, equal configurations together."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from capsmodel.metrics import Metric
from sweeps.aggregation.comparison.arm_matching import (
    ArmMatch,
    comparable_records,
    differences_of,
    match_arms,
    text_of_differences,
)
from sweeps.aggregation.frames import joined_frames, with_units
from sweeps.aggregation.results.arms import ArmResults, arms_to_their_end
from sweeps.aggregation.results.data_set_sweeps import sweeps_by_data_set
from sweeps.aggregation.results.mean_errors import mean_of, trials_of_error
from sweeps.aggregation.results.prediction_files import read_predictions
from sweeps.aggregation.results.predictions import Predictions
from sweeps.aggregation.results.ranking import ranking
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Outcome
from sweeps.tracking.opening import open_to_read
from sweeps.tracking.store import RecordStore

if TYPE_CHECKING:
    import pandas as pd

_TYPES = {
    "arm": "str",
    "sweep": "str",
    "own_name": "str",
    "matched_by": "str",
    "rank": "Int64",
    "num_trials": "int64",
    "num_planned": "int64",
    "mean": "float64",
    "low": "float64",
    "high": "float64",
    "sd": "float64",
    "differs_in": "str",
}
_OF_THE_METRIC = ("mean", "low", "high", "sd")


@dataclass(frozen=True)
class SweepArms:
    """The arms of a sweep that is compared.

    Attributes:
        metric: Whose means are compared.
        ranks: Arm -> its place in the sweep, from 1.
        arms: With the seeds that a search confirmed them by, where it did.
        predictions: Of their trials, by trial key.
    """

    manifest: Manifest
    metric: Metric
    ranks: Mapping[str, int]
    arms: tuple[ArmResults, ...]
    predictions: Mapping[str, Predictions]

    def mean(self, arm: ArmResults) -> Interval:
        """Return the mean of the metric over an arm's finished trials."""
        return mean_of(arm, self.values(arm), self.metric.name, self.predictions).interval

    def values(self, arm: ArmResults) -> dict[int, float]:
        """Return the metric of an arm's finished trials, by seed."""
        values = {
            seed: trial.metrics.get(self.metric.name, math.nan)
            for seed, trial in arm.trials.items()
            if trial is not None and trial.outcome is Outcome.FINISHED
        }
        return {seed: value for seed, value in values.items() if math.isfinite(value)}


@dataclass
class _ArmGroup:
    """Arms of several sweeps that match the first of them, under its name."""

    members: list[tuple[ArmMatch, SweepArms]]

    @property
    def first(self) -> ArmResults:
        """The first of them."""
        return _second(self.members[0][0])

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each sweep."""
        differences = differences_of([_second(match) for match, _ in self.members])
        for match, sweep in self.members:
            row = _row(match, sweep)
            yield row | {"arm": self.first.arm.name, "differs_in": text_of_differences(differences)}


def compare(
    *names: str,
    metric: str | None = None,
    tracking_uri: str | RecordStore | None = None,
    storage: str | None = None,
) -> "pd.DataFrame":
    """Return a frame with one row per arm of each sweep; arms that match stand together.

    Arms match where their whole configs are equal, else where their names are. Its columns: arm
    (the name in the first of the sweeps that has it), sweep, own_name, matched_by ("config", "name"
    or ""), rank in its sweep as `best_configs` has it, num_trials, num_planned, mean of the metric
    with its 95 % interval for new seeds and new images (low, high; NaN for what is no error on
    images, without predictions or below three trials) and its standard deviation over seeds (sd),
    and differs_in: in what the arm differs between the sweeps, as `differences_of` defines it, the
    same in all rows of the arm and "" where nothing does. Nothing is tested across sweeps.
    For one row per arm: `frame.pivot(index="arm", columns="sweep", values="mean")`. Sweeps across
    data sets are compared on each data set that all of them have, which is then the first column.

    Args:
        *names: Two sweeps or more.
        metric: What is compared; by default what ranks the first sweep's arms.
        tracking_uri: Address of the records, or the store; by default that of the command line.
        storage: Folder of the embedded store.

    Raises:
        BadInput: If there are fewer than two names, one twice, no such sweep, store or metric.
        StoreUnreachable: If the tracking store does not answer.
    """
    import pandas as pd

    _check_names(names)
    store = open_to_read(tracking_uri, storage)
    by_name = [sweeps_by_data_set(store, name) for name in names]
    if all(by_name):
        common = [key for key in by_name[0] if all(key in sweeps for sweeps in by_name)]
        if not common:
            raise BadInput(f"{' and '.join(names)} have no data set in common, by its name.")
        of_each = {key: [sweeps[key] for sweeps in by_name] for key in common}
        return joined_frames(
            {key: compare(*n, metric=metric, tracking_uri=store) for key, n in of_each.items()}
        )
    manifests = [store.manifest(name) for name in names]
    chosen = metric or manifests[0].objective.metric.name
    compared = [compared_arms(manifest, store, chosen) for manifest in manifests]
    rows = [row for group in _grouped(compared) for row in group.rows()]
    frame = pd.DataFrame(rows, columns=[*_TYPES]).astype(_TYPES)
    frame.attrs["metric"] = chosen
    unit = compared[0].metric.unit
    return with_units(frame, units=dict.fromkeys(_OF_THE_METRIC, unit))


def compared_arms(manifest: Manifest, store: RecordStore, metric: str) -> SweepArms:
    """Return a sweep's arms with their ranks.

    Raises:
        BadInput: If the sweep has no such metric.
    """
    records = comparable_records(store, manifest)
    ranked = {ranked_arm.arm.arm.name: ranked_arm for ranked_arm in ranking(manifest, records)}
    arms = tuple(
        ranked[arm.arm.name].arm if arm.arm.name in ranked else arm
        for arm in arms_to_their_end(manifest, records)
    )
    return SweepArms(
        manifest,
        manifest.metric(metric),
        {name: place for place, name in enumerate(ranked, start=1)},
        arms,
        read_predictions(store, trials_of_error(arms, metric)),
    )


def _grouped(compared: Sequence[SweepArms]) -> list[_ArmGroup]:
    """Return groups of matching arms, in the order of the sweeps."""
    groups: list[_ArmGroup] = []
    for sweep in compared:
        by_arm = {id(group.first): group for group in groups}
        for match in match_arms([group.first for group in groups], sweep.arms):
            if match.second is None:
                continue
            if match.first:
                by_arm[id(match.first)].members.append((match, sweep))
            else:
                groups.append(_ArmGroup([(match, sweep)]))
    return groups


def _second(match: ArmMatch) -> ArmResults:
    assert match.second is not None
    return match.second


def _row(match: ArmMatch, sweep: SweepArms) -> dict[str, Any]:
    """Return the row of a sweep's arm, but for what it shares with those of other sweeps."""
    arm = _second(match)
    values = sweep.values(arm)
    interval = sweep.mean(arm)
    return {
        "sweep": sweep.manifest.sweep,
        "own_name": arm.arm.name,
        "matched_by": match.by,
        "rank": sweep.ranks.get(arm.arm.name),
        "num_trials": len(values),
        "num_planned": len(arm.trials),
        "mean": interval.mean,
        "low": interval.low,
        "high": interval.high,
        "sd": interval.deviation,
    }


def _check_names(names: Sequence[str]) -> None:
    if len(names) < 2:
        problem = f"given was '{names[0]}' alone" if names else "none was given"
        raise BadInput(f"Two sweeps or more are compared, {problem}: give their names.")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise BadInput(f"'{twice}' would be compared with itself: give each sweep once.")
