"""What every test has: one thread, tables of one width, and time for hypothesis.

Shapes and types that the signatures of modules with tensors state are checked in every fifth test.
Checked in each, they took 40 of the 67 s of the contracts. `CAPSWEEP_CHECK_SHAPES=1` checks all.
"""

import gc
import os
import shutil
from pathlib import Path
from zlib import crc32

import jaxtyping
import pytest
from hypothesis import settings

from tests.checked_types import modules_with_shapes

os.environ.pop("COLUMNS", None)  # set by pytest-xdist: results would be printed in 80 columns
# Read when torch is first imported, here and in every process that a test starts. Tensors as small
# as these gain nothing by threads, and threads that wait for each other burn a busy processor.
os.environ["OMP_NUM_THREADS"] = "1"
# Tests write many small files, and what they test waits until each is on the disk. In memory that
# wait is none; a whole run leaves well under one gibibyte.
MEMORY_DISK = Path("/dev/shm")
FREE_BYTES = 4 * 2**30
if (
    not {"TMPDIR", "PYTEST_DEBUG_TEMPROOT"} & set(os.environ)
    and os.access(MEMORY_DISK, os.W_OK)
    and shutil.disk_usage(MEMORY_DISK).free >= FREE_BYTES
):
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(MEMORY_DISK)
# A crowded machine is no failure; what thirty examples miss in a run, later runs draw.
settings.register_profile("capsweep", deadline=None, max_examples=30)
settings.load_profile("capsweep")

# Before anything of the package is imported: only what is imported later is checked.
jaxtyping.install_import_hook(modules_with_shapes(), "beartype.beartype")
CHECKS_ALL_SHAPES = os.environ.get("CAPSWEEP_CHECK_SHAPES") == "1"

COLLECTED = pytest.StashKey[list[str]]()


# What is imported and collected lives as long as the process, and is large: looking through it
# again and again for what may go was a seventh of all processor time.
gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage from here on, and only of what the tests make."""
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)  # at Python's 700 it was 5 % of the tests' time
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the longest tests first; keep all names, the slow ones' too: pytest's marks come last.

    A long test that begins last holds up a whole run, while the other process has nothing to do.
    """
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
    config.stash[COLLECTED] = [item.nodeid for item in items]


@pytest.hookimpl(tryfirst=True)  # before the fixtures of a test
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Check shapes in a fifth of the tests, chosen by name, so that each run checks the same."""
    is_checked = CHECKS_ALL_SHAPES or crc32(item.nodeid.encode()) % 5 == 0
    jaxtyping.config.update("jaxtyping_disable", not is_checked)


@pytest.fixture
def unchecked() -> None:
    """Leave shapes unchecked, as they are outside of tests."""
    jaxtyping.config.update("jaxtyping_disable", True)


@pytest.fixture
def checked() -> None:
    """Check shapes, which is done in every fifth test otherwise."""
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an MLflow database without experiments: making one takes seconds, copying it none."""
    from mlflow.tracking import MlflowClient  # here, as most tests need none

    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    path = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    MlflowClient(f"sqlite:///{path}").search_experiments()
    return path
