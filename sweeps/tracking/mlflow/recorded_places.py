"""Places in the rows of a database: folders of earlier releases, or whatever somebody wrote there.

Nothing of ours obeys them. MLflow's own UI does: with the address that new stores record, it finds
the files below the folder that it is given, and it is not started while a row names another place.
"""

import os
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from sweeps.storage.regular_files import open_regular
from sweeps.storage.sqlite_file import look_into
from sweeps.tracking.mlflow.runs import EXPERIMENT

_SERVED = "mlflow-artifacts:/"
_IS_SERVED = re.compile(r"mlflow-artifacts:/(?!/)(?!(.*/)?\.\.(/|$))")
_OPENED_BY_MLFLOW = (
    ("runs", "artifact_uri", "1"),
    ("logged_models", "artifact_location", "1"),
    ("model_versions", "source", "1"),
    ("model_versions", "storage_location", "1"),
    ("trace_tags", "value", "key = 'mlflow.artifactLocation'"),
)
_RUN_ID = re.compile(r"[0-9a-f]{32}")


def rewrite_places(database: Path, backups: Path) -> int:
    """Have our experiment's rows name the storage folder, after the file was copied.

    Args:
        database: Of an embedded store, which nobody writes to meanwhile.
        backups: Where the copy goes.

    Returns:
        How many rows were rewritten.
    """
    with closing(look_into(database)) as opened:
        experiments, runs = _elsewhere(opened)
    if not experiments and not runs:
        return 0
    backups.mkdir(parents=True, exist_ok=True)
    _copy(database, backups / f"{database.name}.before-repair")
    with closing(look_into(database)) as opened, opened:
        opened.executemany(
            "update experiments set artifact_location = ? where experiment_id = ?",
            [(_SERVED, number) for number in experiments],
        )
        opened.executemany(
            "update runs set artifact_uri = ? where run_uuid = ?",
            [(f"{_SERVED}{run_id}/artifacts", run_id) for run_id in runs],
        )
    return len(experiments) + len(runs)


def place_elsewhere(database: Path, artifacts: Path) -> str | None:
    """Return a place that MLflow's own UI would open though it is no file of the storage folder.

    Args:
        database: Of an embedded store.
        artifacts: The folder that the UI serves files from.
    """
    with closing(look_into(database)) as opened:
        tables = {name for (name,) in opened.execute("select name from sqlite_master")}
        for table, column, condition in _OPENED_BY_MLFLOW:
            if table not in tables:
                continue
            query = f"select {column} from {table} where {column} is not null and {condition}"
            for (place,) in opened.execute(query):
                if not _is_served(str(place), artifacts):
                    return str(place)
    return None


def _is_served(place: str, artifacts: Path) -> bool:
    """Return whether a place lies in the artifacts' folder; earlier releases name its path."""
    path = Path(place.removeprefix("file://"))
    is_old = path.is_absolute() and ".." not in path.parts and path.is_relative_to(artifacts)
    return is_old or _IS_SERVED.match(place) is not None


def _elsewhere(opened: sqlite3.Connection) -> tuple[list[int], list[str]]:
    """Return the ids of our experiment, and of its runs, whose rows name another place."""
    own = opened.execute(
        "select experiment_id, artifact_location from experiments where name = ?", (EXPERIMENT,)
    ).fetchall()
    runs = opened.execute(
        "select run_uuid, artifact_uri from runs join experiments using (experiment_id)"
        " where experiments.name = ?",
        (EXPERIMENT,),
    )
    return (
        [number for number, place in own if not _IS_SERVED.match(str(place))],
        [
            run_id
            for run_id, place in runs
            if _RUN_ID.fullmatch(str(run_id)) and not _IS_SERVED.match(str(place))
        ],
    )


def _copy(database: Path, path: Path) -> None:
    """Copy a database to a new file, NAME-1 or a higher number."""
    number = 1
    while os.path.lexists(candidate := path.with_name(f"{path.name}-{number}")):
        number += 1
    descriptor = open_regular(candidate, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode=0o600)
    with os.fdopen(descriptor, "wb") as copy, os.fdopen(open_regular(database), "rb") as file:
        shutil.copyfileobj(file, copy)
