"""A broken download goes on where it was broken, from whichever mirror."""

import re
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from capsmodel.data.archive import Archives
from capsmodel.data.download import ensure
from tests.capsmodel.data.download.downloading import FIRST, files_in, refusal
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


def test_what_came_of_a_broken_download_is_kept_and_told(folder: Path) -> None:
    with mirror(give_half) as (address, _):
        message = refusal(address)
    half = CONTENTS[FIRST][: len(CONTENTS[FIRST]) // 2]
    assert files_in(folder) == {f"{FIRST}.unfinished": half}
    assert re.search(r"it gave less than the \d+ bytes expected", message)
    assert "): run the same command again, which resumes after the 0.1 MB received, or put " in (
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
@pytest.mark.parametrize("beginning", [b"other" * 200, CONTENTS[FIRST] + b"more", b"x" * 500_000])
def test_a_beginning_that_is_not_the_files_is_given_up(
    folder: Path, archives: Archives, beginning: bytes
) -> None:
    leave_unfinished(folder, beginning)
    assert ranges_asked(folder, give_part, archives) == [f"bytes={len(beginning)}-", None]


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
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"Downloading MNIST: 4 of 4 files, to {folder}."
    assert lines[2] == f"Downloaded {FIRST}, 0.2 MB."


@pytest.mark.parametrize("answer", [give_half, give_more, give_other, refuse])
def test_the_next_mirror_is_tried(folder: Path, answer: Answer) -> None:
    with mirror(answer) as (bad, _), mirror() as (good, _):
        ensure(ARCHIVES, lambda: [bad, good])
    assert files_in(folder) == CONTENTS
