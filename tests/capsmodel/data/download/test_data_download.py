"""The files of a data set: found, downloaded, or asked for in one sentence."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from capsmodel.data.archive import data_root
from capsmodel.data.download import ensure
from tests.capsmodel.data.download.downloading import FIRST, WAITING, files_in, refusal, wait_for
from tests.capsmodel.data.idx_files import (
    ARCHIVES,
    CONTENTS,
    NAMES,
    Answer,
    give_more,
    give_other,
    give_whole,
    mirror,
    refuse,
    write_files,
)
from tests.waiting import PATIENCE_SECONDS

HOLDS_THE_LOCK = """
import sys
from filelock import FileLock
lock = FileLock(sys.argv[1])
lock.acquire()
print("held", flush=True)
sys.stdin.read()
"""


def test_files_that_are_there_are_left_as_they_are(folder: Path) -> None:
    write_files(folder)
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    ensure(ARCHIVES, lambda: pytest.fail("asked for mirrors"))
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_files_are_downloaded_into_a_new_folder(folder: Path) -> None:
    with mirror() as (address, asked):
        ensure(ARCHIVES, lambda: [address])
    assert files_in(folder) == CONTENTS
    assert asked == list(NAMES)


def test_only_what_is_lacking_is_downloaded(folder: Path) -> None:
    write_files(folder, NAMES[1:])
    with mirror() as (address, asked):
        ensure(ARCHIVES, lambda: [address])
    assert asked == [FIRST]


def test_a_download_says_what_how_much_and_where_to(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(folder, NAMES[1:])
    with mirror() as (address, _):
        ensure(ARCHIVES, lambda: [address])
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        f"Downloading MNIST: 1 of 4 files, 0.2 MB, to {folder}.",
        f"Downloaded {FIRST}, 0.2 MB.",
    ]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (give_more, "it gave more than the .* bytes expected"),
        (give_other, "it gave a file with another checksum"),
        (refuse, "it answers 404 Not Found"),
    ],
)
def test_a_bad_download_leaves_nothing_and_is_told(
    folder: Path, answer: Answer, reason: str
) -> None:
    with mirror(answer) as (address, _), pytest.raises(ValueError, match=reason):
        ensure(ARCHIVES, lambda: [address])
    assert files_in(folder) == {}


def test_without_a_network_one_sentence_says_what_to_do(folder: Path, nobody: str) -> None:
    message = refusal(nobody, nobody)
    assert message.startswith(f"{FIRST} of MNIST could not be downloaded ({nobody}{FIRST}: ")
    assert message.endswith(
        f": connect to the network, or put {', '.join(NAMES)} into {folder} by hand, or let "
        f"CAPSWEEP_DATA name a folder with MNIST/raw in it."
    )
    assert "\n" not in message


def test_a_folder_that_cannot_be_written_is_told(folder: Path, nobody: str) -> None:
    (folder / "download.lock").mkdir(parents=True)  # as permissions stop no superuser
    message = refusal(nobody)
    assert message.startswith(
        f"MNIST is not complete in {folder}, which cannot be written (Is a directory): put "
    )
    assert message.endswith(" let CAPSWEEP_DATA name a folder with MNIST/raw in it.")


def test_a_root_that_is_no_folder_is_told(root: Path, folder: Path, nobody: str) -> None:
    root.write_bytes(b"a file where a folder should be")
    assert refusal(nobody).startswith(f"{folder / FIRST} cannot be read (Not a directory): ")


def test_a_file_that_cannot_be_read_is_told(folder: Path, nobody: str) -> None:
    write_files(folder, NAMES[1:])
    (folder / FIRST).mkdir()
    assert refusal(nobody).startswith(f"{folder / FIRST} cannot be read (Is a directory): ")


def test_who_comes_second_waits_and_downloads_nothing(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    begun, may_answer = threading.Event(), threading.Event()

    def answer_late(request: BaseHTTPRequestHandler, content: bytes) -> None:
        begun.set()
        assert may_answer.wait(PATIENCE_SECONDS)
        give_whole(request, content)

    with mirror(answer_late) as (address, asked), ThreadPoolExecutor() as pool:
        try:
            first = pool.submit(ensure, ARCHIVES, lambda: [address])
            assert begun.wait(PATIENCE_SECONDS)
            second = pool.submit(ensure, ARCHIVES, lambda: pytest.fail("asked for mirrors"))
            output = wait_for(capfd, WAITING)
        finally:
            may_answer.set()
        assert (first.result(PATIENCE_SECONDS), second.result(PATIENCE_SECONDS)) == (None, None)
    assert output.count(WAITING) == 1
    assert asked == list(NAMES)
    assert files_in(folder) == CONTENTS


def test_the_lock_of_a_killed_process_is_free(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder.mkdir(parents=True)
    command = [sys.executable, "-c", HOLDS_THE_LOCK, str(folder / "download.lock")]
    with (
        mirror() as (address, asked),
        ThreadPoolExecutor() as pool,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as holder,
    ):
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            waiting = pool.submit(ensure, ARCHIVES, lambda: [address])
            wait_for(capfd, WAITING)
            assert asked == []
        finally:
            holder.kill()
        waiting.result(PATIENCE_SECONDS)
    assert files_in(folder) == CONTENTS


def test_the_data_root_is_the_one_that_the_environment_names(root: Path) -> None:
    assert data_root() == root


def test_the_data_root_is_in_the_users_cache_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CAPSWEEP_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_root() == tmp_path / "cache" / "capsweep" / "data"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert data_root() == tmp_path / "home" / ".cache" / "capsweep" / "data"


def test_a_user_who_is_not_there_has_no_data_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAPSWEEP_DATA", "~no_such_user_at_all/data")
    with pytest.raises(ValueError, match=r"'~no_such_user_at_all/data' cannot hold data sets"):
        data_root()
