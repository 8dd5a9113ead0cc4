"""A cell's folder into which somebody else has put things leads its trial nowhere else."""

import json
import math
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sweeps.execution.cells.evaluations import CellEvaluations
from sweeps.execution.cells.folder import CellFolder
from sweeps.records.errors import BadInput
from tests.sweeps.execution.examples import KEY, final, reported, spec, start

EVALUATION = "e" * 20


def _lease(cell: CellFolder) -> None:
    with cell.lease(wait_seconds=0):
        pass


FILES: dict[str, tuple[str, Callable[[CellFolder], object]]] = {
    "the outbox, to add to it": ("outbox.jsonl", lambda cell: cell.append(reported(1))),
    "the outbox, to read it": ("outbox.jsonl", CellFolder.read_outbox),
    "the final record": ("final.json", CellFolder.read_final),
    "the log": ("log.txt", CellFolder.open_log),
    "the lock, to take it": ("lock", _lease),
    "the lock, to look at it": ("lock", CellFolder.is_busy),
    "the checkpoint": ("checkpoint-1.safetensors", _lease),
    "the weights": ("weights.safetensors", _lease),
    "the predictions": ("predictions-2.safetensors", _lease),
    "an evaluation": (
        f"evaluations/{EVALUATION}.json",
        lambda cell: CellEvaluations(cell.path).read(EVALUATION),
    ),
}
FOLDERS: dict[str, Callable[[CellFolder], object]] = {
    **{name: use for name, (_, use) in FILES.items()},
    "what is killed half-way": lambda cell: cell.remove_scratch(final()),
    "a record to write": lambda cell: cell.write_final(final()),
    "weights to delete": CellFolder.delete_weights,
    "evaluations to list": lambda cell: CellEvaluations(cell.path).keys(),
}


def _pipe(path: Path, _: Path) -> None:
    os.mkfifo(path)


def _link(path: Path, victim: Path) -> None:
    path.symlink_to(victim)


@pytest.mark.parametrize("put", [_pipe, _link], ids=["pipe", "link"])
@pytest.mark.parametrize("case", FILES)
def test_a_link_or_a_pipe_in_place_of_a_file_is_refused(
    tmp_path: Path, case: str, put: Callable[[Path, Path], None]
) -> None:
    name, use = FILES[case]
    cell = CellFolder(tmp_path / "cells", KEY)
    (cell.path / name).parent.mkdir(parents=True)
    (tmp_path / "victim").write_text("untouched\n")
    put(cell.path / name, tmp_path / "victim")
    with pytest.raises(BadInput, match=name):
        use(cell)
    assert (tmp_path / "victim").read_text() == "untouched\n"


@pytest.mark.parametrize("case", FOLDERS)
def test_a_cell_that_is_a_link_is_refused(tmp_path: Path, case: str) -> None:
    victim = CellFolder(tmp_path, "victim")
    victim.path.mkdir()
    for name in ("lock", "x.tmp", "final.json", "weights.safetensors", "evaluations"):
        (victim.path / name).write_text("untouched")
    before = {path: path.read_text() for path in victim.path.iterdir()}
    (tmp_path / "cells").mkdir()
    cell = CellFolder(tmp_path / "cells", KEY)
    cell.path.symlink_to(victim.path)
    with pytest.raises(BadInput, match="is a link or not a folder"):
        FOLDERS[case](cell)
    assert {path: path.read_text() for path in victim.path.iterdir()} == before


def test_evaluations_that_are_a_link_are_refused(cell: CellFolder, tmp_path: Path) -> None:
    cell.path.mkdir(parents=True, exist_ok=True)
    (cell.path / "evaluations").symlink_to(tmp_path)
    with pytest.raises(BadInput, match="evaluations is a link"):
        CellEvaluations(cell.path).keys()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
@pytest.mark.parametrize("case", FOLDERS)
def test_a_strangers_cell_is_refused(cell: CellFolder, case: str) -> None:
    cell.path.mkdir(parents=True, exist_ok=True)
    os.chown(cell.path, 54321, 54321)
    with pytest.raises(BadInput, match="belongs to user 54321"):
        FOLDERS[case](cell)


UNREADABLE = {
    "a deep list": b"[" * 100_000,
    "a deep object": b'{"a":' * 100_000,
    "bytes": b"\xff\x00",
    "no object": b"1e999",
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_line_that_no_parser_takes_is_left_out(cell: CellFolder, case: str) -> None:
    cell.path.mkdir(parents=True, exist_ok=True)
    cell.append(start())
    with (cell.path / "outbox.jsonl").open("ab") as file:
        file.write(UNREADABLE[case] + b"\n")
    cell.append(reported(1))
    assert cell.read_outbox()[0] == [start(), reported(1)]


def test_an_outbox_without_end_is_refused(cell: CellFolder) -> None:
    cell.path.mkdir(parents=True, exist_ok=True)
    outbox = cell.path / "outbox.jsonl"
    outbox.touch()
    os.truncate(outbox, 10 * 2**30)  # holds nothing on the disk
    with pytest.raises(BadInput, match=r"outbox\.jsonl is too large to be read"):
        cell.read_outbox()
    outbox.write_bytes(b"{}\n" * 300_000)
    with pytest.raises(BadInput, match="has 300,000 lines, where 200,000 are allowed"):
        cell.read_outbox()


def test_a_final_record_without_end_is_refused(cell: CellFolder) -> None:
    cell.path.mkdir(parents=True, exist_ok=True)
    (cell.path / "final.json").touch()
    os.truncate(cell.path / "final.json", 10 * 2**30)
    with pytest.raises(BadInput, match=r"final\.json is too large to be read"):
        cell.read_final()


@pytest.mark.parametrize(
    ("name", "number"),
    [("duration_seconds", 1e999), ("duration_seconds", math.nan), ("epoch", 10**300)],
    ids=["endless", "no number", "huge"],
)
def test_a_number_that_nothing_can_have_leaves_the_line_out(
    cell: CellFolder, name: str, number: float
) -> None:
    cell.path.mkdir(parents=True, exist_ok=True)
    cell.append(reported(1))
    outbox = cell.path / "outbox.jsonl"
    line = json.loads(outbox.read_text())
    line["epoch"][name] = number
    with outbox.open("a") as file:
        file.write(json.dumps(line) + "\n")
    assert cell.read_outbox()[0] == [reported(1)]


def test_a_final_record_that_took_for_ever_is_refused(cell: CellFolder) -> None:
    cell.path.mkdir(parents=True, exist_ok=True)
    cell.write_final(final())
    path = cell.path / "final.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"duration_seconds": 1e999}))
    with pytest.raises(BadInput, match=r"final\.json cannot be read"):
        cell.read_final()


def test_a_head_is_told_of_after_a_lease(cell: CellFolder) -> None:
    with cell.lease() as fence:
        cell.append_failure(spec(), fence, "why")
    assert cell.failure_since() == "why"
