"""Manifests lie in a folder of their own; where an earlier version put them they are found."""

from pathlib import Path

from sweeps.tracking.manifests import publish_manifest
from sweeps.tracking.mlflow.store import MlflowStore
from tests.sweeps.execution.examples import manifest


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_beside_the_reports_lies_the_current_manifest_alone(
    mlflow_store: MlflowStore, tmp_path: Path
) -> None:
    for num_seeds in (1, 2, 3):
        sweep_id = publish_manifest(mlflow_store.writer(), manifest(seeds=tuple(range(num_seeds))))
    folder = tmp_path / "artifacts" / sweep_id / "artifacts"
    assert [path.name for path in folder.iterdir() if path.is_file()] == ["manifest.json"]
    assert len([*(folder / "manifests").iterdir()]) == 3


def test_a_manifest_of_an_earlier_version_is_found_and_left_where_it_is(
    mlflow_store: MlflowStore, tmp_path: Path
) -> None:
    sweep_id = publish_manifest(mlflow_store.writer(), manifest())
    folder = tmp_path / "artifacts" / sweep_id / "artifacts"
    (path,) = (folder / "manifests").iterdir()
    path.rename(folder / f"manifest-{path.name}")
    path.parent.rmdir()
    assert mlflow_store.manifest("example") == manifest()
    before = files(folder)
    publish_manifest(mlflow_store.writer(), manifest())
    assert files(folder) == before
    publish_manifest(mlflow_store.writer(), manifest(seeds=(0, 1, 2)))
    assert mlflow_store.manifest("example") == manifest(seeds=(0, 1, 2))
    assert len(files(folder) - before) == 1
