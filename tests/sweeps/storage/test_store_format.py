import json
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from sweeps.cli import main
from sweeps.records.errors import BadInput
from sweeps.storage.locations import Storage
from sweeps.storage.store_format import FORMAT, check_format, store_format, write_format


def older_store(root: Path) -> Storage:
    """Return a store of the time before there was a number."""
    storage = Storage(root)
    storage.journals.mkdir(parents=True)
    (storage.journals / "tiny.db").write_bytes(b"journal")
    (root / "mlflow.db").write_bytes(b"records")
    return storage


def newer_store(root: Path) -> Storage:
    """Return a store that a later release has written."""
    (root / "format.json").write_text(json.dumps({"format": FORMAT + 1}))
    return Storage(root)


def call(*arguments: str) -> None:
    """Run the command line in this process."""
    with patch.object(sys, "argv", ["capsweep", *arguments]):
        main()


def files(root: Path) -> dict[str, bytes]:
    paths = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}


def test_a_new_folder_has_todays_format(tmp_path: Path) -> None:
    storage = Storage(tmp_path)
    assert store_format(storage) == FORMAT
    write_format(storage)
    assert files(tmp_path) == {"format.json": b'{"format": 3}\n'}
    check_format(storage)


def test_the_format_of_a_store_is_not_written_over(tmp_path: Path) -> None:
    storage = newer_store(tmp_path)
    write_format(storage)
    assert store_format(storage) == FORMAT + 1


@pytest.mark.parametrize(("store", "number"), [(older_store, 1), (newer_store, FORMAT + 1)])
def test_another_format_is_refused_in_one_sentence(
    store: object, number: int, tmp_path: Path
) -> None:
    assert callable(store)
    storage = store(tmp_path)
    before = files(tmp_path)
    with pytest.raises(BadInput) as caught:
        check_format(storage)
    assert str(caught.value) == (
        f"The store {tmp_path} has format {number}, and this capsweep reads format {FORMAT} only: "
        f"use the release that wrote it, or choose another --storage."
    )
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    "text",
    ["", "[", '{"format": "2"}', '{"format": true}', '{"format": 0}', "{}", "[" * 10**5],
    ids=["empty", "torn", "a text", "a truth", "nought", "nothing", "deep"],
)
def test_a_number_that_cannot_be_read_is_said(text: str, tmp_path: Path) -> None:
    (tmp_path / "format.json").write_text(text)
    with pytest.raises(BadInput, match="does not say which format the store has"):
        store_format(Storage(tmp_path))


@pytest.mark.parametrize(("store", "number"), [(older_store, 1), (newer_store, FORMAT + 1)])
@pytest.mark.parametrize(
    "command", ["plan", "run", "status", "best", "report", "clean", "repair", "delete", "ui"]
)
def test_every_command_refuses_another_format_and_leaves_the_store_untouched(
    command: str,
    store: object,
    number: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert callable(store)
    store(tmp_path)
    before = files(tmp_path)
    arguments = () if command in ("clean", "ui") else ("quickstart",)
    with pytest.raises(SystemExit) as ended:
        call(command, *arguments, "--storage", str(tmp_path))
    assert ended.value.code == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"capsweep: The store {tmp_path} has format {number}, and")
    assert captured.err.count("\n") == 1
    assert files(tmp_path) == before
