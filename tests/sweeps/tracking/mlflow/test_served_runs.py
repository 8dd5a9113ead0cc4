"""What the page of a real server asks for, and is answered."""

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sweeps.aggregation.report import summarise
from sweeps.tracking.mlflow.mlflow_store import MlflowStore
from sweeps.tracking.mlflow.ui import serve
from tests.sweeps.aggregation.known_sweep import finished, manifest_of, put_sweep
from tests.sweeps.tracking.mlflow.faulty_server import FaultyServer, faulty_server

ARMS = ("base", "other")
MANIFEST = manifest_of(ARMS, seeds=(0, 1))
TRIALS = [finished(arm, seed, 6 + seed + len(arm)) for arm in ARMS for seed in (0, 1)]


@pytest.fixture
def server(tmp_path: Path, empty_database: Path) -> Iterator[FaultyServer]:
    with faulty_server(tmp_path, empty_database) as server:
        yield server


def show(server: FaultyServer, folder: Path) -> MlflowStore:
    store = MlflowStore(server.address, folder / "artifacts")
    sweep_id = put_sweep(store, MANIFEST, TRIALS)
    shown = summarise(MANIFEST, store.records(MANIFEST.cell_keys().values()))
    store.writer().write_summary(sweep_id, shown)
    return store


def asked(server: FaultyServer, endpoint: str, **question: Any) -> dict[str, Any]:
    """Ask as the page does."""
    request = urllib.request.Request(
        f"{server.address}/ajax-api/2.0/mlflow/{endpoint}",
        data=json.dumps(question).encode() if question else None,
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())


def names(answer: dict[str, Any]) -> list[str]:
    return [run["info"]["run_name"] for run in answer.get("runs", [])]


def test_the_page_finds_the_view_the_best_arm_and_the_trials_of_a_sweep(
    server: FaultyServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    show(server, tmp_path)
    by_name = asked(server, "experiments/get-by-name?experiment_name=capsweep")["experiment"]
    tags = {tag["key"]: tag["value"] for tag in by_name["tags"]}
    assert "mlflow.sharedViewState.capsweep" in tags
    serve(0, server.address, tmp_path)
    page = f"{server.address}/#/experiments/{by_name['experiment_id']}/runs"
    assert f"{page}?workflowType=machine_learning&viewStateShareKey=capsweep" in (
        capsys.readouterr().out
    )
    search = {"experiment_ids": [by_name["experiment_id"]]}
    by_error = {"order_by": ["metrics.`test_error` ASC"]}
    arms = asked(server, "runs/search", filter="tags.`capsweep.type` = 'arm'", **search, **by_error)
    assert names(arms) == ["base", "other"]
    member = "tags.`capsweep.sweep.known`"
    trials = asked(server, "runs/search", filter=f"{member} LIKE '%'", **search, **by_error)
    assert names(trials)[0] == "base, seed 0"
    assert len(names(trials)) == 4
    of_arm = asked(server, "runs/search", filter=f"{member} = 'other'", **search)
    assert sorted(names(of_arm)) == ["other, seed 0", "other, seed 1"]


def test_where_requests_are_answered_500_each_run_is_there_once(
    server: FaultyServer, tmp_path: Path
) -> None:
    server.every, server.is_done_all_the_same = 4, True
    store = show(server, tmp_path)
    server.every = 0
    number = asked(server, "experiments/get-by-name?experiment_name=capsweep")["experiment"]
    kinds = {"arm": 2, "sweep": 1, "trial": 4}
    for kind, num_runs in kinds.items():
        runs = asked(
            server,
            "runs/search",
            experiment_ids=[number["experiment_id"]],
            filter=f"tags.`capsweep.type` = '{kind}'",
        )
        assert len(names(runs)) == num_runs
    assert server.num_faults > 3
    assert len(store.records(MANIFEST.cell_keys().values())) == 4
