"""Two trials, or two sweeps, held against each other."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from capsmodel.metrics import BUILT_IN, EVALUATION, HEALTH, VALIDATION_ERROR, Metric, find_metric
from sweeps.aggregation.comparison.compared_frame import ComparedArms, compared_arms
from sweeps.aggregation.comparison.difference import (
    Changed,
    Difference,
    Several,
    Value,
    changed_only,
)
from sweeps.aggregation.frames.cell_rows import flat_config
from sweeps.aggregation.frames.subject import subject_of
from sweeps.aggregation.report.matched_arms import matched_arms
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Json, TrialRecord
from sweeps.tracking.opening import open_to_read
from sweeps.tracking.store import RecordStore


def diff(
    first: str,
    second: str,
    tracking_uri: str | RecordStore | None = None,
    storage: str | None = None,
) -> Difference:
    """Return in what two trials, or two sweeps, differ: changed settings alone, and results.

    Of a sweep a setting is what its arms have of it, each value once. Results of trials are how
    they ended and their metrics; of sweeps the best arm, and the mean of each arm that both have.

    Args:
        first: A sweep's name, or the first characters of a trial key.
        second: The same of another one.
        tracking_uri: Where records are, or the store; by default as the command line finds it.
        storage: Folder of the embedded store.

    Raises:
        BadInput: If there is no such sweep, trial or store, one is a sweep and the other a trial,
            or both are the same.
        StoreUnreachable: If the tracking store does not answer.
    """
    store = open_to_read(tracking_uri, storage)
    one, other = subject_of(first, store), subject_of(second, store)
    if isinstance(one, Manifest) and isinstance(other, Manifest):
        names = one.sweep, other.sweep
        _refuse_the_same("Sweep", *names)
        return Difference("sweeps", *names, tuple(_of_sweeps(one, other, store)))
    if isinstance(one, TrialRecord) and isinstance(other, TrialRecord):
        keys = one.trial_key, other.trial_key
        _refuse_the_same("Trial", *keys)
        return Difference("trials", *keys, tuple(_of_trials(one, other, store)))
    sweep, trial = (first, second) if isinstance(one, Manifest) else (second, first)
    raise BadInput(f"'{sweep}' is a sweep and '{trial}' a trial: give two of one sort.")


def _of_trials(one: TrialRecord, other: TrialRecord, store: RecordStore) -> Iterator[Changed]:
    first, second = (
        {**_settings(store.config(trial)), "seed": trial.seed} for trial in (one, other)
    )
    yield from changed_only("setting", first, second)
    yield from changed_only("circumstance", _circumstances(one), _circumstances(other))
    for name in ("outcome", "epochs", "num_parameters", "duration_seconds"):
        mine, others = (_plain(getattr(trial, name)) for trial in (one, other))
        yield Changed("result", name, mine, others)
    more = sorted({*one.metrics, *other.metrics})
    for name in dict.fromkeys([*(metric.name for metric in BUILT_IN), *more]):
        if not name.startswith((HEALTH, EVALUATION)):
            metric = find_metric(name) or Metric(name=name)
            yield Changed("result", name, one.metrics.get(name), other.metrics.get(name), metric)


def _of_sweeps(one: Manifest, other: Manifest, store: RecordStore) -> Iterator[Changed]:
    first, second = (
        {**_values_of_arms(sweep), "seeds": Several(sweep.seeds)} for sweep in (one, other)
    )
    yield from changed_only("setting", first, second)
    objective = one.objective.metric
    metric = objective if objective == other.objective.metric else VALIDATION_ERROR
    left, right = (compared_arms(sweep, store, metric.name) for sweep in (one, other))
    yield Changed("result", "arms", len(one.arms), len(other.arms))
    yield Changed("result", "finished trials", _num_finished(left), _num_finished(right))
    yield Changed("result", "best arm", _best(left), _best(right))
    pairs = list(matched_arms(left.arms, right.arms))
    for pair in pairs:
        if pair.first and pair.second:
            intervals = (
                pair.first.interval(left.values(pair.first)),
                pair.second.interval(right.values(pair.second)),
            )
            left_mean, right_mean = (interval.mean for interval in intervals)
            name = f"{metric.text} of {pair.name}"
            yield Changed("result", name, left_mean, right_mean, metric, intervals)
    mine = Several(pair.name for pair in pairs if not pair.second)
    others = Several(pair.name for pair in pairs if not pair.first)
    if mine or others:
        yield Changed("result", "arms of one alone", mine or None, others or None)


def _settings(config: Json) -> dict[str, Value]:
    """Return path -> setting, parts by their kinds; what is null is not there."""
    return {path: _plain(value) for path, value in flat_config(config)}


def _values_of_arms(sweep: Manifest) -> dict[str, Value]:
    """Return path -> what the arms have there, each value once: a text where they are several."""
    held: dict[str, dict[Value, None]] = {}
    for arm in sweep.arms:
        for path, value in _settings(arm.config).items():
            held.setdefault(path, {})[value] = None
    return {
        path: next(iter(values)) if len(values) == 1 else Several(sorted(values, key=_place))
        for path, values in held.items()
    }


def _place(value: Value) -> tuple[bool, float, str]:
    """Return what sorts values: numbers by size, then texts."""
    is_number = isinstance(value, int | float)
    return not is_number, float(value) if is_number else 0.0, str(value)


def _circumstances(trial: TrialRecord) -> dict[str, Value]:
    told: dict[str, Value] = {
        "data": trial.data_fingerprint or None,
        "code": trial.git_revision or None,
        "device": trial.device or None,
        "threads": trial.threads,
    }
    try:
        versions: Any = json.loads(trial.versions or "{}")
    except ValueError:
        versions = {}
    if isinstance(versions, Mapping):
        packages = cast(Mapping[str, object], versions)
        told |= {f"version of {name}": str(version) for name, version in packages.items()}
    return told


def _num_finished(sweep: ComparedArms) -> int:
    return sum(len(sweep.values(arm)) for arm in sweep.arms)


def _best(sweep: ComparedArms) -> str | None:
    return next(iter(sweep.ranks), None)


def _plain(value: Any) -> Value:
    if isinstance(value, list | tuple):
        return Several(cast(Sequence[Any], value))
    return str(value) if isinstance(value, str) else value  # an outcome is a text of its own type


def _refuse_the_same(what: str, first: str, second: str) -> None:
    if first == second:
        raise BadInput(f"{what} {first} would be held against itself: give another one.")
