"""Absolute folders in the rows of a database of earlier releases, which a moved folder makes wrong.

Nothing of ours obeys them. MLflow's own UI does: with the address that new stores record, it finds
the files below the folder that it is given.
"""

import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from sweeps.tracking.mlflow.runs import EXPERIMENT

_SERVED = "mlflow-artifacts:/"
_FOLDER = re.compile(r"(file:)?/")
_RUN_ID = re.compile(r"[0-9a-f]{32}")


def rewrite_places(database: Path, backups: Path) -> int:
    """Rewrite the absolute folders of our experiment's rows, after the file was copied.

    Args:
        database: Of an embedded store, which nobody writes to meanwhile.
        backups: Where the copy goes.

    Returns:
        How many rows were rewritten.
    """
    with closing(sqlite3.connect(database, timeout=30)) as opened:
        experiments, runs = _absolute(opened)
    if not experiments and not runs:
        return 0
    backups.mkdir(parents=True, exist_ok=True)
    shutil.copy2(database, _free_name(backups / f"{database.name}.before-repair"))
    with closing(sqlite3.connect(database, timeout=30)) as opened, opened:
        opened.executemany(
            "update experiments set artifact_location = ? where experiment_id = ?",
            [(_SERVED, number) for number in experiments],
        )
        opened.executemany(
            "update runs set artifact_uri = ? where run_uuid = ?",
            [(f"{_SERVED}{run_id}/artifacts", run_id) for run_id in runs],
        )
    return len(experiments) + len(runs)


def _absolute(opened: sqlite3.Connection) -> tuple[list[int], list[str]]:
    """Return the ids of our experiment, and of its runs, whose rows name a folder."""
    own = opened.execute(
        "select experiment_id, artifact_location from experiments where name = ?", (EXPERIMENT,)
    ).fetchall()
    runs = opened.execute(
        "select run_uuid, artifact_uri from runs join experiments using (experiment_id)"
        " where experiments.name = ?",
        (EXPERIMENT,),
    )
    return (
        [number for number, place in own if _FOLDER.match(str(place))],
        [
            run_id
            for run_id, place in runs
            if _RUN_ID.fullmatch(str(run_id)) and _FOLDER.match(str(place))
        ],
    )


def _free_name(path: Path) -> Path:
    number = 1
    while (candidate := path.with_name(f"{path.name}-{number}")).exists():
        number += 1
    return candidate
