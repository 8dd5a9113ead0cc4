"""The files of a data set: found, downloaded, or asked for in one sentence."""

import gzip
import hashlib
import re
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from filelock import FileLock

from capsmodel.data.archive import Archive, Archives, data_root
from capsmodel.data.download import ensure
from tests.capsmodel.data.idx_files import (
    ARCHIVES,
    CONTENTS,
    NAMES,
    Answer,
    give_half,
    give_more,
    give_other,
    give_part,
    give_whole,
    mirror,
    refuse,
    write_files,
)
from tests.waiting import PATIENCE_SECONDS

FIRST = NAMES[0]
WAITING = "Waiting for another process that downloads MNIST.\n"
HOLDS_THE_LOCK = """
import sys
from filelock import FileLock
lock = FileLock(sys.argv[1])
lock.acquire()
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAPSWEEP_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path / "data"


@pytest.fixture
def folder(root: Path) -> Path:
    return root / "MNIST" / "raw"


@pytest.fixture
def nobody() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/"


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes() for path in folder.iterdir() if path.name != "download.lock"
    }


def refusal(*mirrors: str) -> str:
    with pytest.raises(ValueError, match=r"\S") as caught:
        ensure(ARCHIVES, lambda: mirrors)
    return str(caught.value)


def wait_for(captured: pytest.CaptureFixture[str], line: str) -> str:
    told, end = "", time.monotonic() + PATIENCE_SECONDS
    while line not in told:
        assert time.monotonic() < end, told
        time.sleep(0.01)
        told += captured.readouterr().err
    return told


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


def test_what_came_of_a_broken_download_is_kept_and_told(folder: Path) -> None:
    with mirror(give_half) as (address, _):
        message = refusal(address)
    half = CONTENTS[FIRST][: len(CONTENTS[FIRST]) // 2]
    assert files_in(folder) == {f"{FIRST}.unfinished": half}
    assert re.search(r"it gave less than the \d+ bytes expected", message)
    assert "): run the same command again, which goes on after the 0.1 MB that came, or put " in (
        message
    )


def leave_unfinished(folder: Path, content: bytes) -> None:
    write_files(folder, NAMES[1:])
    (folder / f"{FIRST}.unfinished").write_bytes(content)


def ranges_asked(folder: Path, answer: Answer, archives: Archives = ARCHIVES) -> list[str | None]:
    """Download what lacks, and return the ranges that were asked for."""
    ranges: list[str | None] = []

    def noting(request: BaseHTTPRequestHandler, content: bytes) -> None:
        ranges.append(request.headers["Range"])
        answer(request, content)

    with mirror(noting) as (address, _):
        ensure(archives, lambda: [address])
    assert files_in(folder) == CONTENTS
    return ranges


SIZES_UNKNOWN = Archives("MNIST", tuple(file._replace(num_bytes=None) for file in ARCHIVES.files))
WITH_AND_WITHOUT_SIZES = pytest.mark.parametrize(
    "archives", [ARCHIVES, SIZES_UNKNOWN], ids=["sizes known", "sizes unknown"]
)


@WITH_AND_WITHOUT_SIZES
def test_a_broken_download_goes_on_where_it_was_broken(folder: Path, archives: Archives) -> None:
    leave_unfinished(folder, CONTENTS[FIRST][:1000])
    assert ranges_asked(folder, give_part, archives) == ["bytes=1000-"]


def test_a_server_that_gives_no_parts_gives_all(folder: Path) -> None:
    leave_unfinished(folder, CONTENTS[FIRST][:1000])
    assert ranges_asked(folder, give_whole) == ["bytes=1000-"]


@WITH_AND_WITHOUT_SIZES
@pytest.mark.parametrize("kept", [b"other" * 200, CONTENTS[FIRST] + b"more", b"x" * 500_000])
def test_a_beginning_that_is_not_the_files_is_given_up(
    folder: Path, archives: Archives, kept: bytes
) -> None:
    leave_unfinished(folder, kept)
    assert ranges_asked(folder, give_part, archives) == [f"bytes={len(kept)}-", None]


def test_a_download_that_had_only_to_be_named_is_not_repeated(folder: Path) -> None:
    leave_unfinished(folder, CONTENTS[FIRST])
    assert ranges_asked(folder, give_part) == [f"bytes={len(CONTENTS[FIRST])}-"]


def test_the_next_mirror_goes_on_where_one_broke_off(folder: Path) -> None:
    write_files(folder, NAMES[1:])
    with mirror(give_half) as (bad, _), mirror(give_part) as (good, asked):
        ensure(ARCHIVES, lambda: [bad, good])
    assert files_in(folder) == CONTENTS
    assert asked == [FIRST]


def test_files_of_unknown_size_are_downloaded_and_what_is_cut_off_is_found(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with mirror(give_half) as (bad, _), mirror(give_part) as (good, _):
        with pytest.raises(ValueError, match=r"it gave less than the \d+ bytes expected"):
            ensure(SIZES_UNKNOWN, lambda: [bad])
        ensure(SIZES_UNKNOWN, lambda: [good])
    assert files_in(folder) == CONTENTS
    told = capsys.readouterr().err.splitlines()
    assert told[0] == f"Downloading MNIST: 4 of 4 files, to {folder}."
    assert told[2] == f"Downloaded {FIRST}, 0.2 MB."


@pytest.mark.parametrize("answer", [give_half, give_more, give_other, refuse])
def test_the_next_mirror_is_tried(folder: Path, answer: Answer) -> None:
    with mirror(answer) as (bad, _), mirror() as (good, _):
        ensure(ARCHIVES, lambda: [bad, good])
    assert files_in(folder) == CONTENTS


def test_without_a_network_one_sentence_says_what_to_do(folder: Path, nobody: str) -> None:
    message = refusal(nobody, nobody)
    assert message.startswith(f"{FIRST} of MNIST could not be downloaded ({nobody}{FIRST}: ")
    assert message.endswith(
        f": connect to the network, or put {', '.join(NAMES)} into {folder} by hand, or let "
        f"CAPSWEEP_DATA name a folder with MNIST/raw in it."
    )
    assert "\n" not in message


def test_a_damaged_file_is_named_set_aside_and_not_replaced(folder: Path) -> None:
    write_files(folder)
    (folder / FIRST).write_bytes(CONTENTS[FIRST][:1000])
    with mirror() as (address, asked):
        message = refusal(address)
    assert asked == []
    whole = {name: CONTENTS[name] for name in NAMES[1:]}
    assert files_in(folder) == whole | {f"{FIRST}.damaged": CONTENTS[FIRST][:1000]}
    assert message == (
        f"MNIST is damaged in {folder}, with a wrong checksum of {FIRST} (set aside as "
        f"{FIRST}.damaged): run the same command again to download anew what is damaged, or put "
        f"whole files there by hand."
    )


def test_a_damaged_file_is_downloaded_anew_when_asked_again(folder: Path) -> None:
    write_files(folder)
    (folder / FIRST).write_bytes(b"torn")
    with mirror() as (address, asked):
        refusal(address)
        ensure(ARCHIVES, lambda: [address])
    assert asked == [FIRST]
    assert files_in(folder) == CONTENTS | {f"{FIRST}.damaged": b"torn"}


def test_damaged_files_are_named_together_and_nothing_is_downloaded_beside_them(
    folder: Path,
) -> None:
    write_files(folder, NAMES[:3])
    for name in NAMES[:2]:
        (folder / name).write_bytes(b"torn")
    with mirror() as (address, asked):
        message = refusal(address)
    assert asked == []
    assert f"{FIRST} (set aside as {FIRST}.damaged), {NAMES[1]} (set aside as " in message


def test_a_file_that_was_set_aside_before_is_kept(folder: Path, nobody: str) -> None:
    write_files(folder)
    (folder / f"{FIRST}.damaged").write_bytes(b"first")
    (folder / FIRST).write_bytes(b"second")
    assert f"(set aside as {FIRST}.damaged-2)" in refusal(nobody)
    aside = {f"{FIRST}.damaged": b"first", f"{FIRST}.damaged-2": b"second"}
    assert {n: c for n, c in files_in(folder).items() if "damaged" in n} == aside


def test_a_file_that_another_process_sets_aside_meanwhile_is_refused_too(
    folder: Path, capfd: pytest.CaptureFixture[str], nobody: str
) -> None:
    write_files(folder)
    (folder / FIRST).write_bytes(b"torn")
    lock = FileLock(folder / "download.lock")
    with ThreadPoolExecutor() as pool:
        with lock:
            waiting = pool.submit(refusal, nobody)
            wait_for(capfd, WAITING)
            (folder / FIRST).rename(folder / f"{FIRST}.damaged")
        assert f"{FIRST} (set aside as {FIRST}.damaged)" in waiting.result(PATIENCE_SECONDS)


def test_a_damaged_file_in_a_folder_that_cannot_be_written_is_named(
    folder: Path, nobody: str
) -> None:
    write_files(folder)
    (folder / FIRST).write_bytes(b"torn")
    (folder / "download.lock").mkdir()
    assert refusal(nobody).startswith(
        f"MNIST is damaged ({FIRST} with a wrong checksum) in {folder}, which cannot be written "
    )


PACKED = gzip.compress(b"values", mtime=0)
MAY_BE_UNPACKED = Archives(
    "MNIST",
    (
        Archive(
            "values.mat.gz",
            hashlib.md5(PACKED).hexdigest(),
            unpacked_md5=hashlib.md5(b"values").hexdigest(),
        ),
    ),
)


@pytest.mark.parametrize(
    "files", [{"values.mat": b"values"}, {"values.mat": b"values", "values.mat.gz": b"torn"}]
)
def test_an_unpacked_file_is_as_good_as_a_packed_one(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    ensure(MAY_BE_UNPACKED, lambda: pytest.fail("asked for mirrors"))
    assert MAY_BE_UNPACKED.path("values.mat.gz") == folder / "values.mat"


def test_a_damaged_unpacked_file_is_set_aside_and_the_packed_one_taken(
    folder: Path, nobody: str
) -> None:
    folder.mkdir(parents=True)
    (folder / "values.mat").write_bytes(b"torn")
    (folder / "values.mat.gz").write_bytes(PACKED)
    with pytest.raises(ValueError, match=r"values\.mat \(set aside as values\.mat\.damaged\)"):
        ensure(MAY_BE_UNPACKED, lambda: [nobody])
    ensure(MAY_BE_UNPACKED, lambda: pytest.fail("asked for mirrors"))
    assert MAY_BE_UNPACKED.path("values.mat.gz") == folder / "values.mat.gz"


@pytest.mark.parametrize("content", [b"torn", bytes(len(CONTENTS[FIRST]))])
def test_a_file_that_changes_is_looked_at_again(folder: Path, content: bytes) -> None:
    write_files(folder)
    assert ARCHIVES.lacking() == []
    (folder / FIRST).write_bytes(content)
    assert [file.name for file in ARCHIVES.lacking()] == [FIRST]


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
            told = wait_for(capfd, WAITING)
        finally:
            may_answer.set()
        assert (first.result(PATIENCE_SECONDS), second.result(PATIENCE_SECONDS)) == (None, None)
    assert told.count(WAITING) == 1
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
