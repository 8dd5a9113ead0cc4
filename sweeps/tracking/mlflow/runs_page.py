"""The page of MLflow's UI that shows our runs, with errors first.

Left to itself the UI opens its page for language models, has its columns in the order of the
alphabet and neither an arm nor an error among those it shows. The address says which page; a view
kept as a tag of the experiment, which is how the UI shares one, says which columns.
"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from sweeps.storage.folder import Folder
from sweeps.storage.sqlite_file import open_read_only
from sweeps.tracking.mlflow.runs import EXPERIMENT
from sweeps.tracking.record_facts import TAG_ARM, TAG_OUTCOME, TAG_SEED

if TYPE_CHECKING:
    from mlflow import MlflowClient

_VIEW = "capsweep"
VIEW_TAG = f"mlflow.sharedViewState.{_VIEW}"
_KIND_TAG = "mlflow.experimentKind"
_KIND = "custom_model_development"
_ERRORS = (
    "test_error",
    "test_error_sd",
    "num_trials",
    "validation_error",
)
_TAGS = (TAG_ARM, TAG_SEED, TAG_OUTCOME)
_COLUMNS = [
    *(f"metrics.`{name}`" for name in _ERRORS),
    *(f"tags.`{name}`" for name in _TAGS),
    "attributes.`Dataset`",
]
_SECTION = {"uuid": "capsweep", "name": "Errors", "display": True, "isReordered": False}
_CHARTS = [
    {
        "uuid": f"capsweep-{name}",
        "type": kind,
        "metricKey": name,
        "metricSectionId": _SECTION["uuid"],
        "deleted": False,
        "isGenerated": True,
    }
    for name, kind in (
        ("test_error", "BAR"),
        ("validation_error", "LINE"),
        ("train_loss", "LINE"),
    )
]
_VIEWED = {
    "selectedColumns": _COLUMNS,
    "columnOrder": _COLUMNS,
    "columnWidths": {column: max(110, 8 * len(column.split("`")[1])) for column in _COLUMNS},
    "compareRunCharts": _CHARTS,
    "compareRunSections": [_SECTION],
}
VIEW = json.dumps(_VIEWED)
"""The view, as the experiment's tag holds it."""


def runs_page(root: str, experiment_id: str, *, has_view: bool) -> str:
    """Return the address of the page.

    Args:
        root: Root of the UI.
        experiment_id: Experiment id of our experiment.
        has_view: Whether the view is there: the UI complains of one that is not.
    """
    view = f"&viewStateShareKey={_VIEW}" if has_view else ""
    page = f"#/experiments/{experiment_id}/runs?workflowType=machine_learning{view}"
    return f"{root.rstrip('/')}/{page}"


def keep_view(client: "MlflowClient", experiment_id: str) -> None:
    """Have the experiment hold the view, and be one of training, unless somebody says otherwise."""
    tags = client.get_experiment(experiment_id).tags
    if tags.get(VIEW_TAG) != VIEW:
        client.set_experiment_tag(experiment_id, VIEW_TAG, VIEW)
    if _KIND_TAG not in tags:
        client.set_experiment_tag(experiment_id, _KIND_TAG, _KIND)


def page_of_database(root: str, database: Path) -> str:
    """Return the address of the page over an embedded store; the UI's own where none has runs."""
    query = (
        "select experiments.experiment_id, tags.value is not null from experiments"
        " left join experiment_tags as tags"
        " on tags.experiment_id = experiments.experiment_id and tags.key = ?"
        " where experiments.name = ? and experiments.lifecycle_stage = 'active'"
    )
    try:
        with closing(open_read_only(Folder(database.parent), database.name)) as opened:
            row = opened.execute(query, (VIEW_TAG, EXPERIMENT)).fetchone()
    except sqlite3.Error:
        return root
    return runs_page(root, str(row[0]), has_view=bool(row[1])) if row else root


def page_of_server(client: "MlflowClient", root: str) -> str:
    """Return the address of the page on a server; the UI's own where none has runs."""
    experiment = client.get_experiment_by_name(EXPERIMENT)
    if experiment is None:
        return root
    return runs_page(root, experiment.experiment_id, has_view=VIEW_TAG in experiment.tags)
