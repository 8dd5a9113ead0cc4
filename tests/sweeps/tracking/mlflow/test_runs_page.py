"""The address of the page that shows our runs, and the view that it opens with."""

import json
from pathlib import Path

import pytest

from sweeps.tracking.mlflow.mlflow_store import MlflowStore
from sweeps.tracking.mlflow.mlflow_writer import MlflowWriter
from sweeps.tracking.mlflow.runs_page import keep_view, page_of_database, page_of_server
from sweeps.tracking.mlflow.ui import serve

ROOT = "http://127.0.0.1:5000"
RUNS = f"{ROOT}/#/experiments/{{}}/runs?workflowType=machine_learning"


@pytest.fixture
def writer(mlflow_store: MlflowStore) -> MlflowWriter:
    writer = mlflow_store.writer()
    assert isinstance(writer, MlflowWriter)
    return writer


def test_the_page_of_our_runs_is_opened_and_the_view_once_it_is_there(
    writer: MlflowWriter,
) -> None:
    database = Path(writer.address[10:])
    runs = RUNS.format(writer.experiment_id)
    assert page_of_database(ROOT, database) == runs
    assert page_of_server(writer.client, ROOT + "/") == runs
    keep_view(writer.client, writer.experiment_id)
    assert page_of_database(ROOT, database) == f"{runs}&viewStateShareKey=capsweep"
    assert page_of_server(writer.client, ROOT) == f"{runs}&viewStateShareKey=capsweep"


def test_where_nothing_is_recorded_the_ui_opens_its_own_page(
    writer: MlflowWriter, empty_database: Path, tmp_path: Path
) -> None:
    assert page_of_database(ROOT, empty_database) == ROOT
    (tmp_path / "other.db").write_bytes(b"no database" * 100)
    assert page_of_database(ROOT, tmp_path / "other.db") == ROOT
    writer.client.delete_experiment(writer.experiment_id)
    assert page_of_database(ROOT, Path(writer.address[10:])) == ROOT


def test_the_view_has_errors_first_and_no_health(writer: MlflowWriter) -> None:
    keep_view(writer.client, writer.experiment_id)
    tags = writer.client.get_experiment(writer.experiment_id).tags
    view = json.loads(tags["mlflow.sharedViewState.capsweep"])
    assert view["columnOrder"] == view["selectedColumns"]
    assert view["columnOrder"][0] == "metrics.`test_error`"
    assert "tags.`capsweep.arm`" in view["columnOrder"]
    assert not [column for column in view["columnOrder"] if "health" in column]
    assert view["compareRunCharts"][0]["metricKey"] == "test_error"
    assert tags["mlflow.experimentKind"] == "custom_model_development"


def test_an_experiment_that_somebody_calls_otherwise_stays_so(writer: MlflowWriter) -> None:
    writer.client.set_experiment_tag(writer.experiment_id, "mlflow.experimentKind", "finetuning")
    keep_view(writer.client, writer.experiment_id)
    tags = writer.client.get_experiment(writer.experiment_id).tags
    assert tags["mlflow.experimentKind"] == "finetuning"


def test_a_server_that_does_not_answer_is_still_named_without_its_password(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(0, "http://me:secret@127.0.0.1:1", tmp_path)
    output = capsys.readouterr().out
    assert output.endswith("a UI of its own: http://127.0.0.1:1\n")
