"""Every log of a sweep lies in a folder; beside the reports lies the current one alone."""

from pathlib import Path

from sweeps.tracking.mlflow.mlflow_store import MlflowStore
from tests.sweeps.execution.examples import manifest
from tests.sweeps.published import publish_manifest


def test_beside_the_reports_lies_the_current_log_alone(
    mlflow_store: MlflowStore, tmp_path: Path
) -> None:
    for num_seeds in (1, 2, 3):
        sweep_id = publish_manifest(mlflow_store.writer(), manifest(seeds=tuple(range(num_seeds))))
    folder = tmp_path / "artifacts" / sweep_id / "artifacts"
    assert [path.name for path in folder.iterdir() if path.is_file()] == ["sweep.jsonl"]
    assert len([*(folder / "sweep-logs").iterdir()]) == 3
