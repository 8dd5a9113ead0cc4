"""Trials as a frame: one row a trial of a sweep, or of all sweeps."""

from typing import TYPE_CHECKING

from sweeps.aggregation.frames.cell_rows import SWEEP, cell_rows, check_no_filter
from sweeps.aggregation.frames.units import with_units
from sweeps.aggregation.tables.trials import COST_COLUMNS, RESULT_COLUMNS
from sweeps.tracking.opening import open_to_read
from sweeps.tracking.store import RecordStore

if TYPE_CHECKING:
    import pandas as pd

_WHOLE_NUMBERS = ("epochs", "stopped_epoch", "num_parameters", "peak_memory_bytes", "threads")
_NUMBERS = ("train_loss", "validation_loss", "validation_error", "test_error", "duration_seconds")


def trials(
    name: str | None = None,
    tracking_uri: str | RecordStore | None = None,
    storage: str | None = None,
    *,
    where: None = None,
) -> "pd.DataFrame":
    """Return a frame with one row a trial of the sweep, arms and seeds in the sweep's order.

    Cells without a record are rows with the outcome "missing". Errors are fractions;
    `frame.attrs["units"]` gives the unit of each column that has one. Each setting is a column that
    is called by its path, those that the sweep varies first; a part is its kind, and a list is a
    text such as `8 x 16`. Of all sweeps together the first column is the sweep, and a trial that
    several of them hold has a row in each. To select trials, use pandas:
    `trials().query("`model.routing` == 'em' and test_error < 0.02")`.

    Args:
        name: The sweep's name; None for the trials of all sweeps.
        tracking_uri: Where records are, or the store; by default as the command line finds it.
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
    types = dict.fromkeys(_WHOLE_NUMBERS, "Int64") | dict.fromkeys(_NUMBERS, "float64")
    frame = pd.DataFrame(
        [row.columns for row in rows],
        columns=[*(columns or (*first, *RESULT_COLUMNS, *COST_COLUMNS))],
    ).astype(types)
    declared = [metric for row in rows for metric in row.manifest.metrics]
    return with_units(frame, declared)
