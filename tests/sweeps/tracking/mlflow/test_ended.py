"""When a trial ended is read from its run, and shown on the page of records."""

from typing import Any

import pytest
from mlflow.entities import RunInfo
from mlflow.tracking import MlflowClient

from sweeps.aggregation.report.background import runs_section
from sweeps.tracking.mlflow.client_runs import run_data_of
from sweeps.tracking.mlflow.mlflow_store import MlflowStore
from sweeps.tracking.mlflow.runs import read_record
from tests.sweeps.aggregation.known_sweep import finished, manifest_of
from tests.sweeps.tracking.mlflow.runs import put_trial


@pytest.mark.parametrize(
    ("end_time", "shown"),
    [
        (1_795_390_245_678, "2026-11-22 23:30:45"),
        (None, ""),
        (0, ""),
        (-1, ""),
        (2**62, ""),
        ("2026", ""),
    ],
    ids=str,
)
def test_when_a_trial_ended_is_shown_and_nothing_for_what_is_no_time(
    end_time: Any,
    shown: str,
    client: MlflowClient,
    mlflow_store: MlflowStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trial = finished("a", 0, 5)
    run = client.get_run(put_trial(client, trial))
    (stored,) = mlflow_store.records([trial.trial_key]).values()
    assert stored.ended_at is not None
    assert round(1000 * stored.ended_at) == run.info.end_time

    monkeypatch.setattr(RunInfo, "end_time", end_time)
    record = read_record(run_data_of(run))
    assert record is not None
    table = runs_section(manifest_of(["a"], range(1)), {trial.trial_key: record})
    place = [column.fields for column in table.tables[0].columns].index(("ended",))
    assert table.tables[0].rows[0][place].text == shown
