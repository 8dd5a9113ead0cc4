"""Where the rows of a database say that files lie, which somebody else may have written.

capsweep obeys none of them. MLflow's UI does: with the address that our stores record, it finds the
files below the folder that it is given, and it is not started while a row names another place.
"""

import re
from contextlib import closing
from pathlib import Path

from sweeps.storage.sqlite_file import look_into

_IS_SERVED = re.compile(r"mlflow-artifacts:/(?!/)(?!(.*/)?\.\.(/|$))")
_OPENED_BY_MLFLOW = (
    ("runs", "artifact_uri", "1"),
    ("logged_models", "artifact_location", "1"),
    ("model_versions", "source", "1"),
    ("model_versions", "storage_location", "1"),
    ("trace_tags", "value", "key = 'mlflow.artifactLocation'"),
)


def place_elsewhere(database: Path) -> str | None:
    """Return a place that MLflow's UI would open outside its artifacts' folder, None if none is.

    Args:
        database: Of an embedded store.
    """
    with closing(look_into(database)) as opened:
        tables = {name for (name,) in opened.execute("select name from sqlite_master")}
        for table, column, condition in _OPENED_BY_MLFLOW:
            if table not in tables:
                continue
            query = f"select {column} from {table} where {column} is not null and {condition}"
            for (place,) in opened.execute(query):
                if not _IS_SERVED.match(str(place)):
                    return str(place)
    return None
