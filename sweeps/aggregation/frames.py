"""Records as pandas frames: one row a trial, or one row an image of a trial."""

from typing import TYPE_CHECKING, Literal

from sweeps.aggregation.tables.trials import SPLIT_COLUMN, trial_rows
from sweeps.records.errors import BadInput
from sweeps.records.trial_record import Outcome
from sweeps.tracking.opening import open_store
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
_WHOLE_NUMBERS = ("epochs", "stopped_epoch", "num_parameters", "peak_memory_bytes", "threads")
_NUMBERS = ("train_loss", "validation_loss", "validation_error", "test_error", "duration_seconds")


def trials(
    name: str, tracking_uri: str | RecordStore | None = None, storage: str | None = None
) -> "pd.DataFrame":
    """Return a frame with one row a trial of the sweep, arms and seeds in the sweep's order.

    Cells without a record are rows with the outcome "missing". Errors are fractions. Each setting
    that the sweep varies is a column, called by its path.

    Args:
        name: The sweep's name.
        tracking_uri: Where records are, or the store; by default as the command line finds it.
        storage: Folder of the embedded store.

    Raises:
        BadInput: If there is no such sweep or store.
        StoreUnreachable: If the tracking store does not answer.
    """
    import pandas as pd  # here, so that other questions do not wait for it

    store = open_store(tracking_uri, storage)
    manifest = store.manifest(name)
    frame = pd.DataFrame(trial_rows(manifest, store.records(manifest.cell_keys().values())))
    types = dict.fromkeys(_WHOLE_NUMBERS, "Int64") | dict.fromkeys(_NUMBERS, "float64")
    return frame.astype(types)


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
        name: The sweep's name.
        tracking_uri: Where records are, or the store; by default as the command line finds it.
        storage: Folder of the embedded store.
        split: Which images.

    Raises:
        BadInput: If there is no such sweep, store or split.
        StoreUnreachable: If the tracking store does not answer.
    """
    import pandas as pd

    from sweeps.aggregation.results.predictions import read_predictions  # numpy comes with it

    if split not in ("test", "validation"):
        raise BadInput(f"There is no split '{split}' to be seen: give 'test' or 'validation'.")
    store = open_store(tracking_uri, storage)
    manifest = store.manifest(name)
    cells = manifest.cells
    splits = {seed: {SPLIT_COLUMN: split} for seed, split in manifest.splits.items()}
    records = store.records(dict.fromkeys(cell.trial_key for cell in cells))
    finished = [one for one in records.values() if one.outcome is Outcome.FINISHED]
    found = read_predictions(store, finished)
    frames = list[pd.DataFrame]()
    for cell in cells:
        held = None if cell.stopped else found.get(cell.trial_key)
        judged = held and (held.test if split == "test" else held.validation)
        if judged:
            columns = {
                "arm": cell.arm,
                "seed": cell.seed,
                **splits.get(cell.seed, {}),
                "trial_key": cell.trial_key,
                "image": range(len(judged.labels)),
                "label": judged.labels,
                "prediction": judged.classes,
                "is_wrong": judged.is_wrong,
            }
            objects = {} if judged.objects is None else {"object": judged.objects}
            frames.append(pd.DataFrame(columns | objects))
    if frames:
        return pd.concat(frames, ignore_index=True)
    return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in _OF_AN_IMAGE.items()})
