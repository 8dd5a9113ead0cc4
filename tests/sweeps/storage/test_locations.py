"""Where things lie: one folder is one store, however it is written."""

from pathlib import Path

import pytest

from sweeps.records.errors import BadInput
from sweeps.storage.locations import resolve_storage, resolve_tracking_uri


def test_two_spellings_of_a_folder_are_one_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "store")
    monkeypatch.chdir(tmp_path / "a")
    spellings = ("../store", tmp_path / "store", tmp_path / "link", tmp_path / "a" / ".." / "store")
    assert len({resolve_storage(spelling).root for spelling in spellings}) == 1
    assert len({resolve_tracking_uri(None, spelling) for spelling in spellings}) == 1


def test_two_spellings_of_a_tracking_store_are_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolve_tracking_uri("http://h:5000/") == resolve_tracking_uri("http://h:5000")
    assert resolve_tracking_uri("sqlite:///x.db") == f"sqlite:///{tmp_path / 'x.db'}"


def test_arguments_come_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAPSWEEP_STORAGE", "/from/environment")
    monkeypatch.setenv("CAPSWEEP_TRACKING_URI", "http://environment")
    assert resolve_storage().root == Path("/from/environment")
    assert resolve_storage("/given").root == Path("/given")
    assert resolve_tracking_uri() == "http://environment"
    assert resolve_tracking_uri("http://given") == "http://given"


def test_an_empty_name_is_not_taken_for_the_default() -> None:
    with pytest.raises(BadInput, match="The storage folder is ''"):
        resolve_storage("")
    with pytest.raises(BadInput, match="The tracking store is ''"):
        resolve_tracking_uri("")


def test_a_folder_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is not valid UTF-8: choose another"):
        resolve_storage(tmp_path / "odd\udcff")


@pytest.mark.parametrize("folder", ["what?", "100%"])
def test_a_folder_that_a_uri_would_misread_is_refused(tmp_path: Path, folder: str) -> None:
    with pytest.raises(BadInput, match="cannot hold the tracking store"):
        resolve_tracking_uri(None, tmp_path / folder)
    assert resolve_tracking_uri("http://h", tmp_path / folder) == "http://h"


@pytest.mark.parametrize(
    "folder", ["a b", "it's", 'quo"te', "#1", ";&", pytest.param("é", id="accent")]
)
def test_other_characters_are_fine(tmp_path: Path, folder: str) -> None:
    assert folder in resolve_tracking_uri(None, tmp_path / folder)


def test_a_user_who_is_not_there_is_one_sentence() -> None:
    with pytest.raises(BadInput, match="cannot be a storage folder"):
        resolve_storage("~nobody-of-this-name/x")
