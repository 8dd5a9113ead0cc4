import json
import sys
from pathlib import Path

import pytest

from sweeps.cli import main
from sweeps.records.errors import BadInput
from sweeps.storage.locations import Storage
from sweeps.storage.store_format import FORMAT, refuse_newer_format, store_format, use_own_format


def old_store(root: Path) -> Storage:
    storage = Storage(root)
    storage.journals.mkdir(parents=True)
    (storage.journals / "tiny.db").write_bytes(b"journal")
    (root / "mlflow.db").write_bytes(b"records")
    return storage


def call(*words: str) -> None:
    """Run the command line in this process."""
    arguments, sys.argv = sys.argv, ["capsweep", *words]
    try:
        main()
    finally:
        sys.argv = arguments


def number_in(storage: Storage) -> object:
    return json.loads((storage.root / "format.json").read_text())["format"]


def test_a_new_folder_has_todays_format_and_nothing_to_back_up(tmp_path: Path) -> None:
    storage = Storage(tmp_path)
    assert store_format(storage) == FORMAT
    assert use_own_format(storage) is None
    assert number_in(storage) == FORMAT
    assert not (tmp_path / "backups").exists()


def test_an_earlier_store_is_backed_up_once_before_it_is_changed(tmp_path: Path) -> None:
    storage = old_store(tmp_path)
    assert store_format(storage) == 1
    copies = use_own_format(storage)
    assert copies is not None
    assert (copies / "journals" / "tiny.db").read_bytes() == b"journal"
    assert (copies / "mlflow.db").read_bytes() == b"records"
    assert number_in(storage) == FORMAT
    assert use_own_format(storage) is None


def test_a_backup_that_was_broken_off_is_made_anew(tmp_path: Path) -> None:
    storage = old_store(tmp_path)
    torn = tmp_path / "backups" / "format-1.unfinished"
    torn.mkdir(parents=True)
    (torn / "mlflow.db").write_bytes(b"rec")
    copies = use_own_format(storage)
    assert copies is not None
    assert (copies / "mlflow.db").read_bytes() == b"records"
    assert not torn.exists()


def test_no_backup_is_written_over(tmp_path: Path) -> None:
    storage = old_store(tmp_path)
    first = use_own_format(storage)
    (tmp_path / "format.json").unlink()
    (tmp_path / "mlflow.db").write_bytes(b"other records")
    second = use_own_format(storage)
    assert first is not None
    assert second is not None
    assert (first / "mlflow.db").read_bytes() == b"records"
    assert (second / "mlflow.db").read_bytes() == b"other records"


def test_a_later_format_is_refused_in_one_sentence_and_left_alone(tmp_path: Path) -> None:
    storage = old_store(tmp_path)
    (tmp_path / "format.json").write_text(json.dumps({"format": FORMAT + 1}))
    for refuse in (refuse_newer_format, use_own_format):
        with pytest.raises(BadInput) as caught:
            refuse(storage)
        assert str(caught.value) == (
            f"The store {tmp_path} has format {FORMAT + 1}, and this capsweep reads formats up to "
            f"{FORMAT}: use the release that wrote it or a later one, or another --storage."
        )
    assert not (tmp_path / "backups").exists()


@pytest.mark.parametrize(
    "text",
    ["", "[", '{"format": "2"}', '{"format": true}', '{"format": 0}', "{}", "[" * 10**5],
    ids=["empty", "torn", "a text", "a truth", "nought", "nothing", "deep"],
)
def test_a_number_that_cannot_be_read_is_said(text: str, tmp_path: Path) -> None:
    (tmp_path / "format.json").write_text(text)
    with pytest.raises(BadInput, match="does not say which format the store has"):
        store_format(Storage(tmp_path))


@pytest.mark.parametrize("command", ["plan", "run", "status", "best", "report"])
def test_every_command_refuses_a_later_format(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "format.json").write_text(json.dumps({"format": FORMAT + 1}))
    with pytest.raises(SystemExit) as ended:
        call(command, "quickstart", "--storage", str(tmp_path))
    assert ended.value.code == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"capsweep: The store {tmp_path} has format {FORMAT + 1}, and")
    assert captured.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["format.json"]


def test_what_lies_behind_a_link_is_not_copied(tmp_path: Path) -> None:
    storage = old_store(tmp_path / "store")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "secret").write_text("mine")
    (storage.journals / "folder").symlink_to(tmp_path / "home")
    (storage.journals / "file").symlink_to(tmp_path / "home" / "secret")
    copies = use_own_format(storage)
    assert copies is not None
    copied = [path for path in copies.rglob("*") if path.is_file() and not path.is_symlink()]
    assert sorted(path.name for path in copied) == ["mlflow.db", "tiny.db"]
