"""Files of drawn images: drawn once, kept where there is room, and never trusted unseen."""

import hashlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pytest

from capsmodel.data import Viewpoints
from capsmodel.data.viewed_objects import Objects
from capsmodel.data.viewpoints.cache import PixelFile, ensure
from capsmodel.data.viewpoints.data_set import _drawn
from capsmodel.data.viewpoints.drawing import Drawn, draw, joined, views_of
from tests.waiting import PATIENCE_SECONDS

NUM_FIRST = 24
FIRST: dict[Objects, PixelFile] = {
    "train": PixelFile(
        "train-few-1.pixels",
        NUM_FIRST,
        "6f773afeac47ace044ad45e1afcbc39e9a4756608373274df80c59cd6796c9ac",
    ),
    "test": PixelFile(
        "test-few-1.pixels",
        NUM_FIRST,
        "d6d2ecaafcc5cb83fcfa45db254e80032eba66697c8b34a10099f69ee5d9f370",
    ),
}
NUM_PAIRS = 4
PAIRS = np.random.default_rng(0).integers(0, 256, (NUM_PAIRS, 2, 48, 48), np.uint8)
FILE = PixelFile("few-1.pixels", NUM_PAIRS, hashlib.sha256(PAIRS.data).hexdigest())
WAITING = "Waiting for another process that draws viewpoints.\n"
HOLDS_THE_LOCK = """
import sys
from filelock import FileLock
lock = FileLock(sys.argv[1])
lock.acquire()
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAPSWEEP_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "data" / "viewpoints"


@pytest.fixture
def fallback(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "capsweep" / "data" / "viewpoints"


def drawn() -> Iterator[Drawn]:
    for places in ([0, 2], [3, 1]):
        yield Drawn(places, PAIRS[places])


def refuse_to_draw() -> Iterator[Drawn]:
    pytest.fail("drawn again")


def block(folder: Path) -> None:
    """Let a folder be one that cannot be written, whoever runs the tests."""
    folder.parent.mkdir(parents=True)
    folder.touch()


def wait_for(captured: pytest.CaptureFixture[str], line: str) -> None:
    output, end = "", time.monotonic() + PATIENCE_SECONDS
    while line not in output:
        assert time.monotonic() < end, output
        time.sleep(0.01)
        output += captured.readouterr().err


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"draw.lock"}


def test_images_are_drawn_into_a_new_folder(folder: Path) -> None:
    assert ensure(FILE, drawn) == folder / FILE.name
    assert (folder / FILE.name).read_bytes() == PAIRS.tobytes()
    assert names_in(folder) == {FILE.name}


def test_pairs_of_a_file_are_not_read_but_mapped(folder: Path) -> None:
    pairs = FILE.mapped(ensure(FILE, drawn))
    assert isinstance(pairs, np.memmap)
    assert not pairs.flags.writeable
    assert np.array_equal(pairs, PAIRS)


def test_a_file_that_is_there_is_not_drawn_again() -> None:
    assert ensure(FILE, drawn) == ensure(FILE, refuse_to_draw)


def test_what_is_drawn_is_told_on_the_error_stream(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ensure(FILE, drawn)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"Drawing few-1.pixels of viewpoints, 0.0 MB, to {folder}.\n"


@pytest.mark.parametrize(
    "content",
    [b"", PAIRS.tobytes()[:-1], PAIRS.tobytes() + b"\0", bytes(PAIRS.size)],
    ids=["empty", "torn", "too long", "other pixels"],
)
def test_a_damaged_file_is_named_set_aside_and_drawn_anew(
    content: bytes, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.mkdir(parents=True)
    (folder / FILE.name).write_bytes(content)
    assert ensure(FILE, drawn).read_bytes() == PAIRS.tobytes()
    assert (folder / f"{FILE.name}.damaged").read_bytes() == content
    assert capsys.readouterr().err.splitlines()[0] == (
        f"{folder / FILE.name} has a wrong checksum: it is now {FILE.name}.damaged."
    )


def test_a_second_damaged_file_does_not_replace_the_first(folder: Path) -> None:
    folder.mkdir(parents=True)
    for content in (b"first", b"second"):
        (folder / FILE.name).write_bytes(content)
        ensure(FILE, drawn)
    assert (folder / f"{FILE.name}.damaged").read_bytes() == b"first"
    assert (folder / f"{FILE.name}.damaged-2").read_bytes() == b"second"


def test_a_drawing_that_is_broken_off_leaves_no_file(folder: Path) -> None:
    def breaks_off() -> Iterator[Drawn]:
        yield from list(drawn())[:1]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ensure(FILE, breaks_off)
    assert names_in(folder) == set()
    assert ensure(FILE, drawn).read_bytes() == PAIRS.tobytes()


def test_an_unfinished_file_of_a_process_that_died_is_drawn_over(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / f"{FILE.name}.unfinished").write_bytes(b"torn")
    ensure(FILE, drawn)
    assert names_in(folder) == {FILE.name}


def test_images_of_another_checksum_are_not_kept(folder: Path) -> None:
    other = FILE._replace(sha256="0" * 64)
    with pytest.raises(
        ValueError,
        match=r"^This machine draws other images for few-1\.pixels of viewpoints, with the "
        rf"checksum {FILE.sha256}, expected 0{{64}}: copy the file from another machine to .*\.$",
    ):
        ensure(other, drawn)
    assert names_in(folder) == set()


def test_where_the_data_root_cannot_be_written_the_users_cache_is_used(
    folder: Path, fallback: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    block(folder)
    assert ensure(FILE, drawn) == fallback / FILE.name
    assert capsys.readouterr().err.splitlines() == [
        f"few-1.pixels is missing or damaged, and {folder} cannot be written (File exists).",
        f"Drawing few-1.pixels of viewpoints, 0.0 MB, to {fallback}.",
    ]
    assert ensure(FILE, refuse_to_draw) == fallback / FILE.name


def test_a_data_root_with_the_file_is_never_written(folder: Path) -> None:
    path = ensure(FILE, drawn)
    (folder / "draw.lock").unlink(missing_ok=True)
    before = {path.name for path in folder.iterdir()}
    assert ensure(FILE, refuse_to_draw) == path
    assert {path.name for path in folder.iterdir()} == before == {FILE.name}


def test_where_nothing_can_be_written_one_sentence_says_so(folder: Path, fallback: Path) -> None:
    block(folder)
    block(fallback)
    with pytest.raises(
        ValueError,
        match=rf"^few-1\.pixels of viewpoints is nowhere, and can be kept nowhere \({folder}: "
        rf"File exists; {fallback}: File exists\): let CAPSWEEP_DATA name a folder that can be "
        r"written, with 0 MB to spare\.$",
    ):
        ensure(FILE, refuse_to_draw)


def test_of_two_that_start_at_once_one_draws(capsys: pytest.CaptureFixture[str]) -> None:
    at_once, drawings = threading.Barrier(2), list[int]()

    def slow() -> Iterator[Drawn]:
        drawings.append(1)
        wait_for(capsys, WAITING)
        yield from drawn()

    def start() -> Path:
        at_once.wait()
        return ensure(FILE, slow)

    with ThreadPoolExecutor(2) as pool:
        first, second = [future.result() for future in (pool.submit(start), pool.submit(start))]
    assert first == second
    assert drawings == [1]


def test_a_waiting_process_says_so_and_goes_on_when_the_other_dies(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.mkdir(parents=True)
    command = [sys.executable, "-c", HOLDS_THE_LOCK, str(folder / "draw.lock")]
    with (
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as other,
        ThreadPoolExecutor(1) as pool,
    ):
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        path = pool.submit(ensure, FILE, drawn)
        wait_for(capsys, WAITING)
        assert not path.done()
        other.kill()
        assert path.result(PATIENCE_SECONDS).read_bytes() == PAIRS.tobytes()


class FewViewpoints(Viewpoints):
    """The first pairs of each half alone, of which more than ten are worth a file."""

    kind: Literal["few_viewpoints"] = "few_viewpoints"
    pixel_files: ClassVar[dict[Objects, PixelFile]] = FIRST
    few: ClassVar[int] = 10


def test_many_images_are_taken_from_a_file(folder: Path) -> None:
    rows = list(range(1, NUM_FIRST, 2))
    pairs = FewViewpoints().pixels("train", rows)
    assert names_in(folder) == {FIRST["train"].name}
    assert type(pairs) is np.ndarray
    assert np.array_equal(pairs, joined(draw(views_of("train"), rows), len(rows)))


def test_few_images_are_drawn_without_a_file(folder: Path) -> None:
    pairs = FewViewpoints().pixels("train", [0, 20])
    assert not folder.exists()
    assert np.array_equal(pairs, joined(draw(views_of("train"), [0, 20]), 2))


def test_few_images_are_taken_from_a_file_that_is_there(folder: Path) -> None:
    drawn_pairs = FewViewpoints().pixels("train", [0, 20])
    FewViewpoints().pixels("train", list(range(NUM_FIRST)))
    _drawn.cache_clear()
    assert np.array_equal(FewViewpoints().pixels("train", [0, 20]), drawn_pairs)
    assert _drawn.cache_info().misses == 0


def test_preparing_draws_what_loading_reads(folder: Path) -> None:
    Viewpoints(fraction=0.02).prepare()
    assert not folder.exists()
    FewViewpoints(fraction=0.02).prepare()
    assert names_in(folder) == {file.name for file in FIRST.values()}
