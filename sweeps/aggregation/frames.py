"""Records as pandas frames, whose columns have units in `frame.attrs["units"]`."""

import functools
import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, cast

from capsmodel.metrics import HEALTH, Metric, find_metric
from capsmodel.spelling import hint
from sweeps.aggregation.rendering.table import Value
from sweeps.aggregation.results.data_set_sweeps import sweeps_by_data_set
from sweeps.aggregation.results.ranking import ranking
from sweeps.aggregation.results.varied_settings import setting_value
from sweeps.aggregation.tables.trials_table import (
    COST_COLUMNS,
    DATA_SET,
    RESULT_COLUMNS,
    SPLIT_COLUMN,
    setting_column,
    trial_rows,
)
from sweeps.records.errors import BadInput
from sweeps.records.labels import tags_text
from sweeps.records.manifest import Manifest, ManifestArm, ManifestCell
from sweeps.records.trial_record import EPOCH_METRICS, SLUG, Json, Outcome, TrialRecord
from sweeps.tracking.opening import open_to_read
from sweeps.tracking.store import RecordStore
from sweeps.tracking.validation import unknown_name

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from sweeps.aggregation.results.predictions import SplitPredictions

SWEEP = "sweep"
"""The first column of a frame over several sweeps."""

_NO_FILTER = (
    "'where' is no longer an option: filter the frame with pandas, as in "
    "sweeps.trials().query(\"`model.routing` == 'em' and test_error < 0.02\")."
)
CHOSE_ARMS = "chose_arms"
"""The column that says whether a trial's seed had a part in choosing the sweep's arms."""

UNITS = "units"
"""The name in `frame.attrs` of a mapping, column -> unit, of the columns that have one."""

_OF_COLUMNS = {
    "epoch": "count",
    "epochs": "count",
    "stopped_epoch": "count",
    "num_parameters": "count",
    "threads": "count",
    "num_arms": "count",
    "num_cells": "count",
    "num_expected": "count",
    "num_finished": "count",
    "num_diverged": "count",
    "num_failed": "count",
    "num_trials": "count",
    "num_planned": "count",
    "duration_seconds": "seconds",
    "peak_memory_bytes": "bytes",
}
_WHOLE_NUMBERS = ("epochs", "stopped_epoch", "num_parameters", "peak_memory_bytes", "threads")
_NUMBERS = ("train_loss", "validation_loss", "validation_error", "test_error", "duration_seconds")
_OF_A_TRIAL = {"arm": "str", "seed": "int64", "trial_key": "str"}
_OF_A_CELL = _OF_A_TRIAL | {CHOSE_ARMS: "bool"}
_OF_AN_EPOCH = _OF_A_CELL | {"epoch": "int64"}
History = Mapping[int, float]
_BEGINNING_OF_A_KEY = re.compile(r"[0-9a-f]{1,32}")
_OF_AN_IMAGE = _OF_A_TRIAL | {
    "image": "int64",
    "label": "uint8",
    "prediction": "uint8",
    "is_wrong": "bool",
}
_OF_AN_EVALUATION = {
    "evaluation": "str",
    "evaluation_key": "str",
    "metric": "str",
    "curve": "str",
    "unit": "str",
    "split": "str",
    "value": "float64",
}
Place = Mapping[str, Any]
_Arguments = ParamSpec("_Arguments")
_TYPES = {
    "sweep": "str",
    "description": "str",
    "tags": "str",
    "note": "str",
    "kind": "str",
    "num_arms": "int64",
    "num_cells": "int64",
    "num_expected": "int64",
    "num_finished": "int64",
    "num_diverged": "int64",
    "num_failed": "int64",
    "last_ended_at": "datetime64[s, UTC]",
    "metric": "str",
    "best_arm": "str",
    "best": "float64",
    "best_low": "float64",
    "best_high": "float64",
}
_OF_THE_METRIC: tuple[str, ...] = (
    "best",
    "best_low",
    "best_high",
)  # whose unit it has, where all have one
_COUNTED = (Outcome.FINISHED, Outcome.DIVERGED, Outcome.FAILED)


@dataclass(frozen=True)
class CellRow:
    """A cell of a sweep.

    Attributes:
        record: None where it has none.
        columns: Its row among the sweep's trials.
    """

    manifest: Manifest
    cell: ManifestCell
    record: TrialRecord | None
    columns: Mapping[str, Value]


def of_each_data_set(
    frame_of: "Callable[_Arguments, pd.DataFrame]",
) -> "Callable[_Arguments, pd.DataFrame]":
    """Return a function of a sweep that also takes one across data sets: its frames joined.

    Their first column is the data set.
    """

    @functools.wraps(frame_of)
    def joined(*args: _Arguments.args, **options: _Arguments.kwargs) -> "pd.DataFrame":
        place: Any = inspect.signature(frame_of).bind(*args, **options).arguments
        name, tracking_uri, storage = map(place.get, ("name", "tracking_uri", "storage"))
        if not isinstance(name, str) or not SLUG.fullmatch(name):
            return frame_of(*args, **options)
        store = open_to_read(tracking_uri, storage)
        sweeps = sweeps_by_data_set(store, name)
        if not sweeps:
            return frame_of(*args, **options)
        call, others = cast(Any, frame_of), {**place, "tracking_uri": store}
        return joined_frames({key: call(**others | {"name": n}) for key, n in sweeps.items()})

    return joined


def joined_frames(frames: "Mapping[str, pd.DataFrame]") -> "pd.DataFrame":
    """Return frames of several data sets as one, whose first column is the data set."""
    import pandas as pd

    for data_set, frame in frames.items():
        frame.insert(0, DATA_SET, data_set)
    whole = pd.concat(frames.values(), ignore_index=True)
    whole.attrs = {k: v for frame in frames.values() for k, v in frame.attrs.items()}
    whole.attrs[UNITS] = {k: v for frame in frames.values() for k, v in frame.attrs[UNITS].items()}
    return whole


@of_each_data_set
def trials(
    name: str | None = None,
    tracking_uri: str | RecordStore | None = None,
    storage: str | None = None,
    *,
    where: None = None,
) -> "pd.DataFrame":
    """Return a frame with one row per trial of the sweep, arms and seeds in the sweep's order.

    Cells without a record are rows with the outcome "missing". Errors are fractions;
    `frame.attrs["units"]` gives the unit of each column that has one. `chose_arms` is True where
    the trial's seed had a part in choosing arms: those of a search's proposals, and those by which
    a design tunes its arms. Such a trial flatters the arm that it chose, so means leave it out:
    `trials("mine").query("not chose_arms")`.

    Each setting is a column that is called by its path, those that the sweep varies first; a part
    is its kind, and a list is a text such as `8 x 16`. Of all sweeps together the first column is
    the sweep, and a trial that several of them hold has a row in each. To select trials, use
    pandas:
    `trials().query("`model.routing` == 'em' and test_error < 0.02")`.

    Args:
        name: The sweep's name; None for the trials of all sweeps. Of a sweep across data sets the
            frame has those of all, and their name as its first column.
        tracking_uri: Address of the records, or the store; by default that of the command line.
        storage: Folder of the embedded store.
        where: No longer an option: filter the frame with pandas.

    Raises:
        BadInput: If there is no such sweep or store, or `where` is given.
        StoreUnreachable: If the tracking store does not answer.
    """
    import pandas as pd  # here, so that other questions do not wait for it

    check_no_filter(where)
    rows = cell_rows(open_to_read(tracking_uri, storage), name)
    first = [SWEEP] if name is None else []
    columns = dict.fromkeys(column for row in rows for column in row.columns)
    no_trials = dict.fromkeys((*first, *_OF_A_CELL, *RESULT_COLUMNS, *COST_COLUMNS))
    types = dict.fromkeys(_WHOLE_NUMBERS, "Int64") | dict.fromkeys(_NUMBERS, "float64")
    frame = pd.DataFrame(
        [row.columns for row in rows],
        columns=[*(columns or no_trials)],
    ).astype(types)
    declared = [metric for row in rows for metric in row.manifest.metrics]
    return with_units(frame, declared)


def check_no_filter(where: object) -> None:
    """Check that `where`, which earlier versions had, is not given.

    Raises:
        BadInput: If one is given.
    """
    if where is not None:
        raise BadInput(_NO_FILTER)


def cell_rows(store: RecordStore, sweep: str | None = None) -> list[CellRow]:
    """Return the cells of a sweep, or of all sweeps, in their order, each with its row.

    Args:
        store: Where manifests and records are.
        sweep: Its name; None for all, whose rows begin with the sweep's name.

    Raises:
        BadInput: If there is no such sweep.
        StoreUnreachable: If the store does not answer.
    """
    names = store.sweeps() if sweep is None else [sweep]
    manifests = [store.manifest(name) for name in names]
    keys = {cell.trial_key for manifest in manifests for cell in manifest.cells}
    records = store.records(keys) if keys else {}
    rows = [row for manifest in manifests for row in _rows(manifest, records)]
    if sweep is not None:
        return rows
    return [replace(row, columns={SWEEP: row.manifest.sweep} | {**row.columns}) for row in rows]


def _rows(manifest: Manifest, records: Mapping[str, TrialRecord]) -> Iterator[CellRow]:
    arms = {arm.name: arm for arm in manifest.arms}
    cells = {(cell.arm, cell.seed): cell for cell in manifest.cells}
    settings: dict[tuple[str, int | None], dict[str, Value]] = {}
    for columns in trial_rows(manifest, records):
        cell = cells[str(columns["arm"]), int(columns["seed"] or 0)]
        place = cell.arm, manifest.splits.get(cell.seed)
        if place not in settings:
            settings[place] = _settings(manifest, arms[cell.arm], cell.seed)
        first = {name: columns[name] for name in _OF_A_TRIAL}
        chose = {CHOSE_ARMS: cell.seed in manifest.seeds_that_choose}
        # a search has values for what its arms propose, which come first and are not replaced
        row = first | chose | columns | chose
        row |= {k: v for k, v in settings[place].items() if k not in columns}
        yield CellRow(manifest, cell, records.get(cell.trial_key), row)


def _settings(manifest: Manifest, arm: ManifestArm, seed: int) -> dict[str, Value]:
    """Return column -> value of all settings that an arm has on a seed."""
    config: Json = manifest.config_of(arm, seed)
    return {
        setting_column(path, manifest): setting_value(value) for path, value in flat_config(config)
    }


def flat_config(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and the value of each setting; a part is its kind at the part's own path."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            part = cast(Mapping[str, Any], value)
            if isinstance(part.get("kind"), str):
                yield prefix + name, part["kind"]
            yield from flat_config(part, f"{prefix}{name}.")
        elif name != "kind":
            yield prefix + name, value


def with_units(
    frame: "pd.DataFrame",
    metrics: Iterable[Metric] = (),
    units: Mapping[str, str | None] | None = None,
) -> "pd.DataFrame":
    """Return the frame with the units of its columns in `attrs`.

    Losses, seeds and settings have none. A fraction of 0.02 is 2 %.

    Args:
        frame: Whatever its columns are.
        metrics: Those that are not built in.
        units: Column -> unit, of columns that no other frame has.
    """
    declared, own_units = tuple(metrics), units or {}
    known = {name: own_units.get(name) or _unit(name, declared) for name in map(str, frame.columns)}
    frame.attrs[UNITS] = {name: unit for name, unit in known.items() if unit}
    return frame


def _unit(name: str, declared: Iterable[Metric]) -> str | None:
    metric = find_metric(name, declared)
    return metric.unit if metric else _OF_COLUMNS.get(name)


@of_each_data_set
def curves(
    name: str | None = None,
    tracking_uri: str | RecordStore | None = None,
    storage: str | None = None,
    *,
    metrics: str | Sequence[str] | None = None,
    where: None = None,
) -> "pd.DataFrame":
    """Return a frame with one row per epoch of each trial, and one column per metric.

    Its columns: sweep, where all are asked for, arm, seed, trial_key, chose_arms (as in `trials`),
    epoch (from 1), and the metrics; what an epoch did not record is NaN. Trials stand in the
    sweep's order, whatever their outcome; one that a scheduler stopped as far as the sweep saw it.

    Args:
        name: The sweep's name; None for all sweeps.
        tracking_uri: Address of the records, or the store; by default that of the command line.
        storage: Folder of the embedded store.
        metrics: Those of epochs; by default losses, validation error and those of the sweep's own
            parts.
        where: No longer an option: filter the frame with pandas.

    Raises:
        BadInput: If there is no such sweep, store or metric, or `where` is given.
        StoreUnreachable: If the tracking store does not answer.
    """
    import pandas as pd

    check_no_filter(where)
    store = open_to_read(tracking_uri, storage)
    cells = cell_rows(store, name)
    names = _names(cells, metrics)
    rows = [row for row in cells if row.record]
    records = {row.record.trial_key: row.record for row in rows if row.record}
    histories = {metric: store.histories(records.values(), metric) for metric in names}
    first = {} if name else {SWEEP: "str"}
    frame = pd.DataFrame(
        [line for row in rows for line in _lines(row, histories)],
        columns=[*first, *_OF_AN_EPOCH, *names],
    )
    frame = frame.astype(first | _OF_AN_EPOCH | dict.fromkeys(names, "float64"))
    return with_units(frame, [metric for row in cells for metric in row.manifest.metrics])


def _names(rows: Sequence[CellRow], asked: str | Sequence[str] | None) -> list[str]:
    """Return the metrics that are asked for.

    Raises:
        BadInput: If one is none of an epoch.
    """
    declared = {metric.name: metric for row in rows for metric in row.manifest.metrics}
    known = [
        *EPOCH_METRICS,
        *(name for name, metric in declared.items() if metric.moment == "epoch"),
    ]
    if asked is None:
        return known
    names = [asked] if isinstance(asked, str) else [*map(str, asked)]
    health = _health([row.record for row in rows if row.record])
    for name in names:
        if name not in known and name not in health:
            raise _no_metric(name, known, health, declared)
    return list(dict.fromkeys(names))


def _health(records: Sequence[TrialRecord]) -> list[str]:
    names = {name for record in records for name in record.metrics if name.startswith(HEALTH)}
    return sorted(names)


def _no_metric(
    name: str, known: Sequence[str], health: Sequence[str], declared: Mapping[str, Metric]
) -> BadInput:
    is_of_the_end = name in declared or name.startswith("test_error")
    why = "is of a trial's end, and no epoch has it" if is_of_the_end else "is not known"
    also = f", and {len(health)} of health, such as {health[0]}" if health else ""
    return BadInput(
        f"The metric '{name}' {why}.{hint(name, [*known, *health])} "
        f"Known metrics of epochs: {', '.join(known)}{also}."
    )


def _lines(row: CellRow, histories: Mapping[str, Mapping[str, History]]) -> list[dict[str, Any]]:
    cell = row.cell
    by_metric = {name: by_key.get(cell.trial_key, {}) for name, by_key in histories.items()}
    epochs = sorted({epoch for history in by_metric.values() for epoch in history})
    last = cell.stopped.epoch if cell.stopped else None
    place = {name: row.columns[name] for name in _OF_A_CELL}
    return [
        {SWEEP: row.manifest.sweep, **place, "epoch": epoch}
        | {name: history.get(epoch) for name, history in by_metric.items()}
        for epoch in epochs
        if last is None or epoch <= last
    ]


@of_each_data_set
def predictions(
    name: str,
    tracking_uri: str | RecordStore | None = None,
    storage: str | None = None,
    *,
    split: Literal["test", "validation"] = "test",
) -> "pd.DataFrame":
    """Return a frame with one row per image of each finished trial, in the sweep's order.

    One that the sweep's scheduler stopped has none, whoever trained it on.

    Its columns: arm, seed, trial_key, image (its place in the data set's order), label, prediction,
    is_wrong and, where the record has them, label_name and prediction_name (what the classes are
    called), file (of each image, below the folder of the data) and object (which one it views).
    Trials that hold no predictions of the split have no rows.

    Args:
        name: The sweep's name, or the first characters of a trial key: its images alone.
        tracking_uri: Address of the records, or the store; by default that of the command line.
        storage: Folder of the embedded store.
        split: Which images.

    Raises:
        BadInput: If there is no such sweep, trial, store or split.
        StoreUnreachable: If the tracking store does not answer.
    """
    import pandas as pd

    from sweeps.aggregation.results.prediction_files import read_predictions  # numpy comes with it

    if split not in ("test", "validation"):
        raise BadInput(f"There is no split '{split}' to be seen: give 'test' or 'validation'.")
    store = open_to_read(tracking_uri, storage)
    subject = subject_of(name, store)
    if isinstance(subject, Manifest):
        records = [*store.records(cell.trial_key for cell in subject.cells).values()]
        places = list(_places(subject))
    else:
        records, places = [subject], [_place(subject)]
    by_key = read_predictions(store, (r for r in records if r.outcome is Outcome.FINISHED))
    frames = list[pd.DataFrame]()
    for place in places:
        predicted = by_key.get(place["trial_key"])
        judged = predicted and (predicted.test if split == "test" else predicted.validation)
        if predicted and judged:
            frames.append(pd.DataFrame({**place, **_of_images(judged, predicted.class_names)}))
    if frames:
        return with_units(pd.concat(frames, ignore_index=True))
    none = pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in _OF_AN_IMAGE.items()})
    return with_units(none)


@of_each_data_set
def evaluations(
    name: str, tracking_uri: str | RecordStore | None = None, storage: str | None = None
) -> "pd.DataFrame":
    """Return a frame with one row per metric of each evaluated trial, in the sweep's order.

    Its columns: arm, seed, trial_key, chose_arms (as in `trials`), evaluation, evaluation_key,
    metric, curve, unit and split of the metric, value, and one column per coordinate: `epsilon` is
    0.1 where a metric was measured at epsilon = 0.1, and NaN where it is at no point of that axis.
    Fractions are as recorded: 0.02 is 2 %. What a sweep's scheduler stopped has no rows.

    Args:
        name: The sweep's name.
        tracking_uri: Address of the records, or the store; by default that of the command line.
        storage: Folder of the embedded store.

    Raises:
        BadInput: If there is no such sweep or store.
        StoreUnreachable: If the tracking store does not answer.
    """
    import pandas as pd

    store = open_to_read(tracking_uri, storage)
    manifest = store.manifest(name)
    records = store.records(cell.trial_key for cell in manifest.cells)
    axes = {
        metric.at.name: metric.at.unit
        for evaluation in manifest.evaluations
        for metric in evaluation.metrics
        if metric.at
    }
    rows = [
        {
            **place,
            CHOSE_ARMS: place["seed"] in manifest.seeds_that_choose,
            "evaluation": evaluation.kind,
            "evaluation_key": evaluation.evaluation_key,
            "metric": metric.name,
            "curve": metric.curve,
            "unit": metric.unit or "",
            "split": evaluation.looks_at,
            "value": values[metric.name],
            **({metric.at.name: metric.at.value} if metric.at else {}),
        }
        for place in _places(manifest)
        if (record := records.get(place["trial_key"])) and record.outcome is Outcome.FINISHED
        for evaluation in manifest.evaluations
        for metric in evaluation.metrics
        if metric.name in (values := record.evaluations.get(evaluation.evaluation_key, {}))
    ]
    split = {SPLIT_COLUMN: "int64"} if manifest.splits else {}
    types = split | _OF_AN_EVALUATION | dict.fromkeys(axes, "float64")
    frame = pd.DataFrame(rows, columns=[*_OF_A_CELL, *split, *_OF_AN_EVALUATION, *axes])
    return with_units(frame.astype(_OF_A_CELL | types), units=axes)


def _of_images(judged: "SplitPredictions", class_names: Sequence[str]) -> dict[str, Any]:
    """Return column -> a value for each image of a split."""
    columns: dict[str, Any] = {
        "image": range(len(judged.labels)),
        "label": _classes(judged.labels),
        "prediction": _classes(judged.classes),
        "is_wrong": judged.is_wrong,
    }
    if class_names:
        columns["label_name"] = _names_of(judged.labels, class_names)
        columns["prediction_name"] = _names_of(judged.classes, class_names)
    if judged.files:
        columns["file"] = judged.files
    if judged.objects is not None:
        columns["object"] = judged.objects
    return columns


def _classes(labels: "np.ndarray") -> "np.ndarray | list[str]":
    """Return a class for each image; of several their numbers as one text, "1 7"."""
    if labels.ndim == 1:
        return labels
    return [" ".join(str(label) for label in row.nonzero()[0]) for row in labels]


def _names_of(labels: "np.ndarray", class_names: Sequence[str]) -> list[str]:
    """Return the name of each image's class; `shirt, coat` where it has several."""
    names = dict(enumerate(class_names))
    rows = labels[:, None] if labels.ndim == 1 else [row.nonzero()[0] for row in labels]
    return [", ".join(names.get(int(label), str(label)) for label in row) for row in rows]


def subject_of(name: str, store: RecordStore) -> Manifest | TrialRecord:
    """Return the sweep of that name, else the trial with that id or beginning of a key.

    Raises:
        BadInput: If there is neither, or more than one trial.
        StoreUnreachable: If the store does not answer.
    """
    known = store.sweeps()
    if name in known:
        return store.manifest(name)
    if _BEGINNING_OF_A_KEY.fullmatch(str(name).strip().lower()):
        return store.find(name)
    raise unknown_name(name, known)


def _places(manifest: Manifest) -> Iterator[Place]:
    """Yield the first columns of the images of each cell's trial."""
    for cell in manifest.cells:
        if cell.stopped is None:
            split = {SPLIT_COLUMN: manifest.splits[cell.seed]} if manifest.splits else {}
            yield {"arm": cell.arm, "seed": cell.seed, **split, "trial_key": cell.trial_key}


def _place(record: TrialRecord) -> Place:
    return {"arm": record.arm, "seed": record.seed, "trial_key": record.trial_key}


def sweeps(
    tracking_uri: str | RecordStore | None = None, storage: str | None = None
) -> "pd.DataFrame":
    """Return a frame with one row per sweep of the store, by name.

    Its columns: sweep, description, tags ("a, b"), note, kind ("design" or "search"), numbers of
    arms, of cells, of cells that there will be in the end, and of those whose trials are finished,
    diverged or failed;
    when the last trial ended (UTC), and of the best arm the mean of the metric that ranks, with
    its 95 % interval for new seeds and new images, as `best_configs` has it. A fraction of 0.02 is
    2 %.

    Args:
        tracking_uri: Address of the records, or the store; by default that of the command line.
        storage: Folder of the embedded store.

    Raises:
        BadInput: If there is no such store, or a sweep's manifest is not valid.
        StoreUnreachable: If the tracking store does not answer.
    """
    import pandas as pd

    store = open_to_read(tracking_uri, storage)
    manifests = [store.manifest(name) for name in store.sweeps()]
    keys = {cell.trial_key for manifest in manifests for cell in manifest.cells}
    records = store.records(keys) if keys else {}
    rows = [_row(manifest, records, store) for manifest in manifests]
    frame = pd.DataFrame(rows, columns=[*_TYPES])
    frame["last_ended_at"] = pd.to_datetime(frame["last_ended_at"], unit="s", utc=True)
    units = {manifest.objective.metric.unit for manifest in manifests}
    of_metric = dict.fromkeys(_OF_THE_METRIC, units.pop()) if len(units) == 1 else {}
    return with_units(frame.astype(_TYPES), units=of_metric)


def _row(
    manifest: Manifest, records: Mapping[str, TrialRecord], store: RecordStore
) -> dict[str, Any]:
    from sweeps.aggregation.results.mean_errors import mean_of, trials_of_error
    from sweeps.aggregation.results.prediction_files import read_predictions

    cells = [(cell, records.get(cell.trial_key)) for cell in manifest.cells]
    outcomes = Counter(
        trial.outcome for cell, trial in cells if trial is not None and cell.stopped is None
    )
    ended = [trial.ended_at for _, trial in cells if trial is not None and trial.ended_at]
    ranked = ranking(manifest, records)
    best = None
    if ranked:
        arm, metric = ranked[0].arm, manifest.objective.metric.name
        predictions = read_predictions(store, trials_of_error([arm], metric))
        best = mean_of(arm, ranked[0].values, metric, predictions).interval
    return {
        "sweep": manifest.sweep,
        "description": manifest.description,
        "tags": tags_text(manifest.tags),
        "note": manifest.note,
        "kind": "search" if manifest.search else "design",
        "num_arms": len(manifest.arms),
        "num_cells": len(manifest.cells),
        "num_expected": manifest.num_expected,
        **{f"num_{outcome}": outcomes[outcome] for outcome in _COUNTED},
        "last_ended_at": max(ended, default=None),
        "metric": manifest.objective.metric.name,
        "best_arm": ranked[0].arm.arm.name if ranked else None,
        "best": best.mean if best else None,
        "best_low": best.low if best else None,
        "best_high": best.high if best else None,
    }
