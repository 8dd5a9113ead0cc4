"""Predictions as a frame: one row an image of a trial."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from sweeps.aggregation.frames.subject import subject_of
from sweeps.aggregation.frames.units import with_units
from sweeps.aggregation.tables.trials import SPLIT_COLUMN
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Outcome, TrialRecord
from sweeps.tracking.opening import open_to_read
from sweeps.tracking.store import RecordStore

if TYPE_CHECKING:
    import pandas as pd

_OF_AN_IMAGE = {
    "arm": "str",
    "seed": "int64",
    "trial_key": "str",
    "image": "int64",
    "label": "uint8",
    "prediction": "uint8",
    "is_wrong": "bool",
}

Place = Mapping[str, Any]


def predictions(
    name: str,
    tracking_uri: str | RecordStore | None = None,
    storage: str | None = None,
    *,
    split: Literal["test", "validation"] = "test",
) -> "pd.DataFrame":
    """Return a frame with one row an image of each finished trial, in the sweep's order.

    One that the sweep's scheduler stopped has none, whoever trained it on.

    Its columns: arm, seed, trial_key, image (its place in the data set's order), label, prediction,
    is_wrong and, where images are views of objects, object. Trials that hold no predictions of the
    split, as those of earlier releases hold none of validation, have no rows.

    Args:
        name: The sweep's name, or the first characters of a trial key: its images alone.
        tracking_uri: Where records are, or the store; by default as the command line finds it.
        storage: Folder of the embedded store.
        split: Which images.

    Raises:
        BadInput: If there is no such sweep, trial, store or split.
        StoreUnreachable: If the tracking store does not answer.
    """
    import pandas as pd

    from sweeps.aggregation.results.predictions import read_predictions  # numpy comes with it

    if split not in ("test", "validation"):
        raise BadInput(f"There is no split '{split}' to be seen: give 'test' or 'validation'.")
    store = open_to_read(tracking_uri, storage)
    subject = subject_of(name, store)
    if isinstance(subject, Manifest):
        records = [*store.records(cell.trial_key for cell in subject.cells).values()]
        places = list(_places(subject))
    else:
        records, places = [subject], [_place(subject)]
    found = read_predictions(store, (r for r in records if r.outcome is Outcome.FINISHED))
    frames = list[pd.DataFrame]()
    for place in places:
        held = found.get(place["trial_key"])
        judged = held and (held.test if split == "test" else held.validation)
        if judged:
            columns = {
                **place,
                "image": range(len(judged.labels)),
                "label": judged.labels,
                "prediction": judged.classes,
                "is_wrong": judged.is_wrong,
            }
            objects = {} if judged.objects is None else {"object": judged.objects}
            frames.append(pd.DataFrame(columns | objects))
    if frames:
        return with_units(pd.concat(frames, ignore_index=True))
    none = pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in _OF_AN_IMAGE.items()})
    return with_units(none)


def _places(manifest: Manifest) -> Iterator[Place]:
    """Yield what the images of each cell's trial begin with."""
    for cell in manifest.cells:
        if cell.stopped is None:
            split = {SPLIT_COLUMN: manifest.splits[cell.seed]} if manifest.splits else {}
            yield {"arm": cell.arm, "seed": cell.seed, **split, "trial_key": cell.trial_key}


def _place(record: TrialRecord) -> Place:
    return {"arm": record.arm, "seed": record.seed, "trial_key": record.trial_key}
