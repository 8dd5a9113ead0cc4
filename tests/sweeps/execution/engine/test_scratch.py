"""Ray's scratch folder is the first that is short, writable and has room, TMPDIR first."""

import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from sweeps.execution.engine.process import scratch
from sweeps.execution.engine.process.scratch import scratch_folder
from sweeps.records.errors import BadInput


@pytest.fixture
def short() -> Generator[Path]:
    """A folder with a short path, which pytest's own have not."""
    folder = Path(tempfile.mkdtemp(dir="/tmp", prefix="cs"))
    yield folder
    shutil.rmtree(folder)


def parent_of_scratch() -> Path:
    with scratch_folder() as folder:
        return folder.parent


def test_tmpdir_is_the_first_choice(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(short))
    assert parent_of_scratch() == short


def test_a_folder_whose_sockets_would_have_too_long_paths_is_passed_over(
    tmp_path: Path, short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "_PARENTS", (str(short), "/tmp"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / ("x" * 30)))
    assert parent_of_scratch() == short


def test_one_that_cannot_be_written_to_is_passed_over(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", "/proc")  # even root cannot
    monkeypatch.setattr(scratch, "_PARENTS", (str(short),))
    assert parent_of_scratch() == short


def test_the_error_names_what_was_tried_and_what_to_set(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", f"/{'x' * 30}")
    monkeypatch.setattr(scratch, "_PARENTS", ("/dev/null", str(short)))
    monkeypatch.setattr(
        scratch, "free_bytes", lambda folder: 12 * 2**20 if folder == short else 2**30
    )
    with pytest.raises(BadInput) as error:
        parent_of_scratch()
    assert str(error.value) == (
        f"Ray has no scratch folder for its sockets and logs; tried were /{'x' * 30} (longer than "
        f"21 bytes), /dev/null (Not a directory), {short} (12.0 MiB free). Set TMPDIR to a "
        f"writable folder with 32.0 MiB free and a path of at most 21 bytes, as the kernel allows "
        f"no longer paths of sockets below it."
    )
    assert not list(short.iterdir())
