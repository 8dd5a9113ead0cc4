import linecache
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mlflow.tracking import MlflowClient

from sweeps.aggregation.rendering import figure_style
from sweeps.aggregation.report.drawn_figures import DrawnFigures
from sweeps.tracking.mlflow.mlflow_store import MlflowStore
from sweeps.tracking.mlflow.runs import EXPERIMENT
from tests.sweeps.tracking.memory_store import MemoryStore

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MLFLOW_WARNINGS = ("ignore:The ``noload`` loader strategy:DeprecationWarning",)
GOLDEN = Path(__file__).parents[1] / "golden" / "aggregation"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let pass what MLflow's own code warns of, in the tests of this folder."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            for warning in _MLFLOW_WARNINGS:
                item.add_marker(pytest.mark.filterwarnings(warning))


@pytest.fixture(autouse=True)
def _no_lines_of_other_tests() -> None:
    """Forget the lines of sweep files: the tests of a process write many of one name."""
    linecache.clearcache()


@pytest.fixture(scope="module")
def unpainted_figures() -> Iterator[None]:
    """Make figures, but leave out what takes most of a report's time: their pixels and paths."""

    def empty_image(figure: "Figure", image_format: str) -> bytes:
        assert figure.axes
        return b"<svg/>" if image_format == "svg" else b"\x89PNG"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figure_style, "image_bytes", empty_image)
        patch.setattr(DrawnFigures, "reused", lambda *_: nullcontext())  # others want painted ones
        yield


@pytest.fixture
def tracking_uri(empty_database: Path, tmp_path: Path) -> str:
    """Return the address of a fresh store that holds the experiment and nothing else."""
    path = tmp_path / "mlflow.db"
    shutil.copy(empty_database, path)
    uri = f"sqlite:///{path}"
    MlflowClient(uri).create_experiment(EXPERIMENT, artifact_location=str(tmp_path / "artifacts"))
    return uri


@pytest.fixture
def client(tracking_uri: str) -> MlflowClient:
    return MlflowClient(tracking_uri)


@pytest.fixture
def mlflow_store(tracking_uri: str, tmp_path: Path) -> MlflowStore:
    """Return the tests' store in MLflow, for what only MLflow does."""
    return MlflowStore(tracking_uri, tmp_path / "artifacts")


@pytest.fixture
def store() -> MemoryStore:
    """Return an empty store in memory, for what needs no MLflow."""
    return MemoryStore()
