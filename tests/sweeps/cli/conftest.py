"""What the tests of the command line share: a shell, and a store that was launched into."""

import shutil
from pathlib import Path

import pytest

from sweeps.execution.plan.definition import Changes, define
from sweeps.tracking.opening import open_store
from tests.sweeps.cli.check_in_fork import Forked
from tests.sweeps.cli.shell import Shell
from tests.sweeps.published import publish_manifest


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    return Shell(tmp_path, monkeypatch, capsys)


@pytest.fixture
def forked_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the process of a check: a fresh one takes seconds to load torch."""
    monkeypatch.setattr("sweeps.execution.check_process.start", Forked)


@pytest.fixture(scope="session")
def launched_store(tmp_path_factory: pytest.TempPathFactory, empty_database: Path) -> Path:
    """A storage folder in which quickstart was launched and nothing trained."""
    folder = tmp_path_factory.mktemp("launched")
    shutil.copy(empty_database, folder)
    store = open_store(f"sqlite:///{folder / 'mlflow.db'}", folder)
    publish_manifest(store.writer(), define("quickstart", Changes(), ()).manifest)
    return folder


@pytest.fixture
def storage(launched_store: Path, tmp_path: Path) -> Path:
    """A copy of that folder."""
    return shutil.copytree(launched_store, tmp_path / "capsweep-store")


@pytest.fixture(scope="module", autouse=True)
def _no_pixels(unpainted_figures: None) -> None:
    """Leave figures unpainted: commands write reports whose figures no test here looks at."""
