"""The difference between two trials, or between two sweeps."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from capsmodel.metrics import BUILT_IN, EVALUATION, HEALTH, VALIDATION_ERROR, Metric, find_metric
from sweeps.aggregation.comparison.arm_matching import match_arms
from sweeps.aggregation.comparison.compare import SweepArms, compared_arms
from sweeps.aggregation.frames import UNITS, flat_config, subject_of
from sweeps.aggregation.rendering.notebook_pieces import (
    difference_text,
    mean_text,
    summary,
    value_text,
)
from sweeps.aggregation.rendering.table import Cell, Column, Table, text_cell
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Json, TrialRecord
from sweeps.tracking.opening import open_to_read
from sweeps.tracking.store import RecordStore

if TYPE_CHECKING:
    import pandas as pd

Value = str | int | float | bool | None
Part = Literal["setting", "circumstance", "result"]
_NOTHING = "not there"
_SHORT = 8


class Several(str):
    """Several values as one text, with all their digits.

    Attributes:
        shown: The same for readers, numbers to five digits.
    """

    shown: str

    def __new__(cls, values: Iterable[Any]) -> Self:
        """Join the values."""
        listed = [*values]
        text = super().__new__(cls, ", ".join(map(str, listed)))
        text.shown = ", ".join(map(_short_text, listed))
        return text


@dataclass(frozen=True)
class Changed:
    """A setting, circumstance or result with its value in each of two trials or sweeps.

    Attributes:
        part: What it is. A result stands here even if both values are equal.
        first: Value of the first trial or sweep; None if it has none.
        second: The same of the second.
        metric: The metric of a result; None where the result is something else.
        intervals: Intervals of both values, where these are means.
    """

    part: Part
    name: str
    first: Value
    second: Value
    metric: Metric | None = None
    intervals: tuple[Interval, Interval] | None = None

    @property
    def difference(self) -> float | None:
        """The second minus the first value of a metric, None unless both are finite; no test."""
        if self.metric is None:
            return None
        values = (self.first, self.second)
        if not all(isinstance(v, int | float) and math.isfinite(v) for v in values):
            return None
        return float(self.second or 0) - float(self.first or 0)

    @property
    def difference_text(self) -> str:
        """The difference as readers see it, in points where values are fractions."""
        if self.difference is None or self.metric is None:
            return ""
        return difference_text(self.difference, self.metric)

    @property
    def unit(self) -> str | None:
        """The unit of both values; None where they are no values of a metric, or it has no unit."""
        return self.metric.unit if self.metric else None

    @property
    def texts(self) -> tuple[str, str]:
        """Both values as readers see them."""
        return self._text(self.first, 0), self._text(self.second, 1)

    def _text(self, value: Value, place: Literal[0, 1]) -> str:
        if value is None:
            return _NOTHING if self.part == "setting" else ""
        if self.metric is None or not isinstance(value, int | float):
            return _short_text(value)
        if self.intervals:
            return mean_text(self.intervals[place], self.metric)
        return value_text(value, self.metric)


@dataclass(frozen=True, repr=False)
class Difference:
    """The difference between two trials, or between two sweeps.

    Attributes:
        kind: Whether both are trials or sweeps.
        first: Name of the first sweep, or key of the first trial.
        second: The same of the second.
        rows: Settings that differ, then circumstances that differ (data, code, machine), then
            results.
    """

    kind: Literal["trials", "sweeps"]
    first: str
    second: str
    rows: tuple[Changed, ...]

    def __repr__(self) -> str:
        number = len(self.settings)
        settings = "1 setting differs" if number == 1 else f"{number} settings differ"
        counts = (settings, f"{len(self.results)} results")
        return summary("Difference", " ".join(self._short), *counts)

    def _repr_html_(self) -> str:
        return self.table.html

    @property
    def settings(self) -> dict[str, tuple[Value, Value]]:
        """Path -> both values, of the settings that differ."""
        return self._of("setting")

    @property
    def circumstances(self) -> dict[str, tuple[Value, Value]]:
        """Name -> both values, of what differs in data, code and machine."""
        return self._of("circumstance")

    @property
    def results(self) -> dict[str, tuple[Value, Value]]:
        """Name -> both values; fractions as they are recorded."""
        return self._of("result")

    @property
    def frame(self) -> "pd.DataFrame":
        """One row each: part, name, first, second, difference of two numbers, unit."""
        import pandas as pd

        lines = [
            (row.part, row.name, row.first, row.second, row.difference, row.unit)
            for row in self.rows
        ]
        frame = pd.DataFrame(
            lines, columns=["part", "name", "first", "second", "difference", "unit"]
        )
        frame.attrs[UNITS] = {}  # each row has its own
        return frame

    @property
    def table(self) -> Table:
        """The same for a reader, with fractions in percent."""
        first, second = self._short
        return Table(
            name="diff",
            title=f"{first} and {second}: what differs, and results",
            columns=(
                Column("", ("part",), align="left"),
                Column("Name", ("name",), align="left"),
                Column(first, ("first",), align="left"),
                Column(second, ("second",), align="left"),
                Column("Difference", ("difference",), hide_if_empty=True),
            ),
            rows=tuple(self._cells()),
            notes=tuple(self._notes()),
        )

    @property
    def _short(self) -> tuple[str, str]:
        """Both names; for trials, enough characters of their keys to distinguish them."""
        if self.kind == "sweeps":
            return self.first, self.second
        length = _SHORT if self.first[:_SHORT] != self.second[:_SHORT] else None
        return self.first[:length], self.second[:length]

    def _of(self, part: Part) -> dict[str, tuple[Value, Value]]:
        return {row.name: (row.first, row.second) for row in self.rows if row.part == part}

    def _cells(self) -> Iterator[tuple[Cell, ...]]:
        before = ""
        for row in self.rows:
            first, second = row.texts
            yield (
                Cell(row.part if row.part != before else "", (row.part,)),
                text_cell(row.name),
                Cell(first, (row.first,)),
                Cell(second, (row.second,)),
                Cell(row.difference_text, (row.difference,)),
            )
            before = row.part

    def _notes(self) -> Iterator[str]:
        if not self.settings:
            yield "No setting differs."
        if self.kind == "sweeps":
            yield "Nothing is tested across two sweeps. To compare arms, have both in one sweep."


def diff(
    first: str,
    second: str,
    tracking_uri: str | RecordStore | None = None,
    storage: str | None = None,
) -> Difference:
    """Return how two trials, or two sweeps, differ: the settings that differ, and results.

    Of a sweep a setting is what its arms have of it, each value once. Results of trials are how
    they ended and their metrics; of sweeps the best arm, and the mean of each arm that both have.

    Args:
        first: A sweep's name, or the first characters of a trial key.
        second: The same of another one.
        tracking_uri: Address of the records, or the store; by default that of the command line.
        storage: Folder of the embedded store.

    Raises:
        BadInput: If there is no such sweep, trial or store, one is a sweep and the other a trial,
            or both are the same.
        StoreUnreachable: If the tracking store does not answer.
    """
    store = open_to_read(tracking_uri, storage)
    subject, other = subject_of(first, store), subject_of(second, store)
    if isinstance(subject, Manifest) and isinstance(other, Manifest):
        names = subject.sweep, other.sweep
        _check_different("Sweep", *names)
        return Difference("sweeps", *names, tuple(_of_sweeps(subject, other, store)))
    if isinstance(subject, TrialRecord) and isinstance(other, TrialRecord):
        keys = subject.trial_key, other.trial_key
        _check_different("Trial", *keys)
        return Difference("trials", *keys, tuple(_of_trials(subject, other, store)))
    sweep, trial = (first, second) if isinstance(subject, Manifest) else (second, first)
    raise BadInput(f"'{sweep}' is a sweep and '{trial}' a trial: give two of one sort.")


def _check_different(kind: str, first: str, second: str) -> None:
    if first == second:
        raise BadInput(f"{kind} {first} would be compared with itself: give another one.")


def _of_sweeps(manifest: Manifest, other: Manifest, store: RecordStore) -> Iterator[Changed]:
    first, second = (
        {**_values_of_arms(sweep), "seeds": Several(sweep.seeds)} for sweep in (manifest, other)
    )
    yield from changed_only("setting", first, second)
    objective = manifest.objective.metric
    metric = objective if objective == other.objective.metric else VALIDATION_ERROR
    left, right = (compared_arms(sweep, store, metric.name) for sweep in (manifest, other))
    yield Changed("result", "arms", len(manifest.arms), len(other.arms))
    yield Changed("result", "finished trials", _num_finished(left), _num_finished(right))
    yield Changed("result", "best arm", _best(left), _best(right))
    pairs = list(match_arms(left.arms, right.arms))
    for pair in pairs:
        if pair.first and pair.second:
            intervals = (
                left.mean(pair.first),
                right.mean(pair.second),
            )
            left_mean, right_mean = (interval.mean for interval in intervals)
            name = f"{metric.text} of {pair.name}"
            yield Changed("result", name, left_mean, right_mean, metric, intervals)
    mine = Several(pair.name for pair in pairs if not pair.second)
    others = Several(pair.name for pair in pairs if not pair.first)
    if mine or others:
        yield Changed("result", "arms of one alone", mine or None, others or None)


def _values_of_arms(sweep: Manifest) -> dict[str, Value]:
    """Return path -> the value that all arms have, or the text of their several values."""
    by_path: dict[str, dict[Value, None]] = {}
    for arm in sweep.arms:
        for path, value in _settings(arm.config).items():
            by_path.setdefault(path, {})[value] = None
    return {
        path: next(iter(values)) if len(values) == 1 else Several(sorted(values, key=_place))
        for path, values in by_path.items()
    }


def _settings(config: Json) -> dict[str, Value]:
    """Return path -> setting. A part is its kind."""
    return {path: _plain(value) for path, value in flat_config(config)}


def _plain(value: Any) -> Value:
    if isinstance(value, list | tuple):
        return Several(cast(Sequence[Any], value))
    return str(value) if isinstance(value, str) else value  # an outcome is a text of its own type


def _place(value: Value) -> tuple[bool, float, str]:
    """Return the sort key of a value: numbers by size, then texts."""
    is_number = isinstance(value, int | float)
    return not is_number, float(value) if is_number else 0.0, str(value)


def changed_only(
    part: Part, first: dict[str, Value], second: dict[str, Value]
) -> Iterable[Changed]:
    """Yield what differs between two mappings, in their order."""
    for name in dict.fromkeys([*first, *second]):
        value, other = first.get(name), second.get(name)
        if type(value) is not type(other) or value != other:
            yield Changed(part, name, value, other)


def _num_finished(sweep: SweepArms) -> int:
    return sum(len(sweep.values(arm)) for arm in sweep.arms)


def _best(sweep: SweepArms) -> str | None:
    return next(iter(sweep.ranks), None)


def _of_trials(record: TrialRecord, other: TrialRecord, store: RecordStore) -> Iterator[Changed]:
    first, second = (
        {**_settings(store.config(trial)), "seed": trial.seed} for trial in (record, other)
    )
    yield from changed_only("setting", first, second)
    yield from changed_only("circumstance", _circumstances(record), _circumstances(other))
    for name in ("outcome", "epochs", "num_parameters", "duration_seconds"):
        mine, others = (_plain(getattr(trial, name)) for trial in (record, other))
        yield Changed("result", name, mine, others)
    more = sorted({*record.metrics, *other.metrics})
    for name in dict.fromkeys([*(metric.name for metric in BUILT_IN), *more]):
        if not name.startswith((HEALTH, EVALUATION)):
            metric = find_metric(name) or Metric(name=name)
            yield Changed("result", name, record.metrics.get(name), other.metrics.get(name), metric)


def _circumstances(trial: TrialRecord) -> dict[str, Value]:
    circumstances: dict[str, Value] = {
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
        circumstances |= {f"version of {name}": str(version) for name, version in packages.items()}
    return circumstances


def _short_text(value: Any) -> str:
    if isinstance(value, Several):
        return value.shown
    return f"{value:.5g}" if isinstance(value, float) else str(value)
