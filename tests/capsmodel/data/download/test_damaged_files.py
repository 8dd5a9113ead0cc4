"""A damaged file is named and set aside, never used and never lost."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock

from capsmodel.data.download import ensure
from tests.capsmodel.data.download.downloading import FIRST, WAITING, files_in, refusal, wait_for
from tests.capsmodel.data.idx_files import ARCHIVES, CONTENTS, NAMES, mirror, write_files
from tests.waiting import PATIENCE_SECONDS


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
        f"{FIRST}.damaged): run the same command again to download the damaged files again, or "
        f"put complete files there."
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


@pytest.mark.parametrize("content", [b"torn", bytes(len(CONTENTS[FIRST]))])
def test_a_file_that_changes_is_looked_at_again(folder: Path, content: bytes) -> None:
    write_files(folder)
    assert ARCHIVES.lacking() == []
    (folder / FIRST).write_bytes(content)
    assert [file.name for file in ARCHIVES.lacking()] == [FIRST]
