"""Without a name `capsweep status` lists the sweeps that were launched."""

import json
import os
import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sweeps.cli.commands.status import ago
from sweeps.cli.hints import resume_command
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.launch_process.launch_lock import sole_launch
from sweeps.execution.survey.listing import listed_sweeps
from sweeps.execution.survey.status import sweep_status
from sweeps.execution.sweep_log import (
    DISPATCHED,
    SweepLog,
    last_launch,
    stored_entries,
    write_log,
)
from sweeps.records.cell_contents import OutboxLine
from sweeps.records.launch_command import RESUME_VARIABLE
from sweeps.records.manifest_evaluation import ManifestEvaluation
from sweeps.records.sweep_log import LaunchEnded
from sweeps.storage.file_lock import FileLock
from sweeps.storage.folder import Folder
from sweeps.storage.locations import resolve_storage
from sweeps.tracking.opening import open_store
from tests.golden.stores.archive import unpack
from tests.sweeps.cli.shell import Shell
from tests.sweeps.published import publish_manifest

STORES = Path(__file__).parents[2] / "golden" / "stores"


def unpacked(shell: Shell, name: str) -> Path:
    return unpack(STORES / f"{name}.tar.xz", shell.folder) / "capsweep-store"


def interrupted_design(shell: Shell) -> Path:
    """Return the storage of a design that was interrupted after two of its eight trials."""
    storage = unpacked(shell, "finished_design")
    outcomes = "tags where key = 'capsweep.outcome' and value = 'finished'"
    with closing(sqlite3.connect(storage / "mlflow.db")) as database, database:
        database.execute(
            f"update tags set value = 'interrupted' where key = 'capsweep.outcome' and run_uuid"
            f" not in (select run_uuid from {outcomes} order by run_uuid limit 2)"
        )
        rows = database.execute(
            "select key.value from tags as key join tags as outcome using (run_uuid)"
            " where key.key = 'capsweep.trial_key' and outcome.key = 'capsweep.outcome'"
            " and outcome.value = 'interrupted'"
        )
        for (trial_key,) in rows.fetchall():
            (storage / "cells" / trial_key / "final.json").unlink()
    *entries, _ = stored_entries(storage / "journals", "small_design")
    write_log(storage / "journals", "small_design", [*entries, LaunchEnded(at=1, exit_code=130)])
    return storage


@pytest.mark.parametrize(
    ("is_interrupted", "row"),
    [
        (False, r"small_design +complete +8 of 8 +\d+\.\d KiB +\d+ days ago"),
        (True, r"small_design +interrupted +2 of 8 +\d+\.\d KiB +\d+ days ago"),
    ],
)
def test_a_sweep_is_listed_with_state_cells_size_and_age(
    shell: Shell, is_interrupted: bool, row: str
) -> None:
    if is_interrupted:
        interrupted_design(shell)
    else:
        unpacked(shell, "finished_design")
    answer = shell("status")
    assert (answer.code, answer.err) == (0, "")
    assert re.search(row.replace(r"\d+ days ago", r"\S.* ago"), answer.out), answer.out
    assert "capsweep status NAME" in answer.out
    assert "capsweep status NAME" not in shell("status", "-q").out


def test_the_size_is_that_of_the_files(shell: Shell) -> None:
    storage = unpacked(shell, "finished_design")
    (listed,) = listed_sweeps(storage=storage)
    folders = [storage / "cells", storage / "artifacts"]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    own_run = [path for path in files if "manifest" in path.name or "report" in str(path)]
    of_records = sum(path.stat().st_size for path in files if "cells" in path.parts)
    assert listed.num_bytes is not None
    assert of_records < listed.num_bytes <= sum(path.stat().st_size for path in files)
    assert own_run, "which is no trial's"
    (storage / "cells" / next((storage / "cells").iterdir()).name / "log.txt").write_bytes(
        bytes(10_000_000)
    )
    (larger,) = listed_sweeps(storage=storage)
    assert 9_000_000 < (larger.num_bytes or 0) - listed.num_bytes <= 10_000_000


def test_tags_and_note_are_shown_and_a_tag_chooses_sweeps(shell: Shell) -> None:
    storage = unpacked(shell, "finished_design")
    store = open_store(None, storage)
    labels = {"tags": ("the [talk]", "b"), "note": "Slow.\n\x1b[31mRed"}
    labelled = store.manifest("small_design").model_copy(update=labels)
    publish_manifest(store.writer(), labelled)
    assert re.search(r"small_design +the \[talk\], b +complete", shell("status").out)
    assert "small_design" in shell("status", "--tag", "b").out
    (answer,) = json.loads(shell("status", "--json", "--tag", "b").out)["sweeps"]
    assert (answer["tags"], answer["note"]) == (["the [talk]", "b"], "Slow.\n\x1b[31mRed")
    shown = shell("status", "small_design").out
    assert "Tags: the [talk], b.\nNote: Slow. \ufffd[31mRed\n" in shown
    refused = shell("status", "--tag", "c")
    assert (refused.code, refused.err) == (2, "capsweep: Unknown tag 'c'. Known: b, the [talk].\n")
    assert shell("status", "small_design", "--tag", "b").code == 2


def test_one_that_is_run_is_said_to_be(shell: Shell) -> None:
    storage = interrupted_design(shell)
    with FileLock(Folder(storage, "journals"), "small_design.lock") as lock:
        assert lock.acquire()
        assert re.search("small_design +running", shell("status").out)
        assert shell("status", "small_design").out.endswith("A launch runs now.\n")
        assert json.loads(shell("status", "small_design", "--json").out)["is_running"]
    again = "the same call or command again, of the sweep 'small_design'."
    ended = shell("status", "small_design").out
    assert ended.endswith(f"was interrupted.\nGo on with: {again}\n")
    assert not json.loads(shell("status", "small_design", "--json").out)["is_running"]


def test_a_report_from_before_an_unfinished_launch_is_said_to_be(shell: Shell) -> None:
    storage = interrupted_design(shell)
    launch = last_launch(storage / "journals", "small_design")
    assert launch
    sentence = "The report in reports/small_design is from before this launch.\n"
    assert sentence not in shell("status", "small_design").out, "there is no report"
    page = shell.folder / "reports" / "small_design" / "report.html"
    page.parent.mkdir(parents=True)
    page.touch()
    for seconds, is_said in ((-1, True), (1, False)):
        os.utime(page, (launch.started + seconds, launch.started + seconds))
        assert (sentence in shell("status", "small_design").out) == is_said


def test_the_status_of_a_killed_launch_names_the_command_that_resumes_it(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = interrupted_design(shell)
    argv = ["/bin/capsweep", "-q", "run", "mine.py", "--seeds", "0-4", "--retrain"]
    argv += ["--tracking-uri", "http://me:secret@there"]
    argv += ["--notify", "curl -H secret", "--notify=curl -H secret", "--tag", "a b"]
    monkeypatch.setattr(sys, "argv", argv)
    SweepLog(storage / "journals", "small_design").start_launch(6)
    again = "capsweep run mine.py --seeds 0-4 --tracking-uri http://there --tag 'a b'"
    assert "secret" not in (storage / "journals" / "small_design.jsonl").read_text()
    assert "--notify 'curl -H secret'" in resume_command(), "as it was typed, to who typed it"
    printed = shell("status", "small_design").out
    assert printed.endswith(f"The last launch was killed.\nGo on with: {again}\n")
    launch = json.loads(shell("status", "small_design", "--json").out)["last_launch"]
    assert launch["go_on_with"] == again
    monkeypatch.chdir(storage)
    elsewhere = shell("status", "small_design", "--storage", str(storage)).out
    assert elsewhere.endswith(f"{again} (in {shell.folder})\n")
    monkeypatch.chdir(shell.folder)
    monkeypatch.setenv(RESUME_VARIABLE, "capsweep submit mine.py --on m.txt")
    SweepLog(storage / "journals", "small_design").start_launch(6)
    assert "Go on with: capsweep submit mine.py --on m.txt" in shell("status", "small_design").out


def test_a_trial_that_waits_for_room_is_pending_while_its_launch_runs(shell: Shell) -> None:
    storage = interrupted_design(shell)
    log = SweepLog(storage / "journals", "small_design")
    missing = [cell for cell in sweep_status("small_design").cells if cell.state != "finished"]
    waits, starts = (cell.cell.trial_key for cell in missing[:2])
    log.note(missing[2].cell.trial_key, DISPATCHED)
    log.start_launch(6)
    for key in (waits, starts):
        log.note(key, DISPATCHED)
    log.note(starts, "started")
    with FileLock(Folder(storage, "journals"), "small_design.lock") as lock:
        assert lock.acquire()
        assert ", 1 pending, " in shell("status", "small_design").out
        answer = json.loads(shell("status", "small_design", "--json").out)
    (pending,) = (cell for cell in answer["cells"] if cell["state"] == "pending")
    assert pending["cell"]["trial_key"] == waits
    assert answer["counts"]["pending"] == 1
    assert "pending" not in shell("status", "small_design").out, "its launch is gone"


def test_a_running_trial_is_listed_with_its_gpu(shell: Shell) -> None:
    storage = interrupted_design(shell)
    missing = [cell for cell in sweep_status("small_design").cells if cell.state != "finished"]
    first, second = (CellFolder(storage / "cells", cell.cell.trial_key) for cell in missing[:2])
    with first.lease(), second.lease():
        first.stats.note_gpu("2")
        first.stats.note_peak_gpu(3 * 2**29)
        lines = shell("status", "small_design").out.splitlines()
        answer = json.loads(shell("status", "small_design", "--json").out)
    ends = [line.partition("epoch")[2][2:] for line in lines if line.startswith("running: ")]
    assert ends == [", on GPU 2 (peak 1.5 GiB)", ""]
    running = [cell for cell in answer["cells"] if cell["state"] == "running"]
    figures = [(cell["gpu"], cell["peak_gpu_bytes"]) for cell in running]
    assert figures == [("2", 3 * 2**29), ("", None)]


def test_a_running_trial_whose_batches_do_not_end_is_listed_with_its_line(shell: Shell) -> None:
    storage = interrupted_design(shell)
    missing = [cell for cell in sweep_status("small_design").cells if cell.state != "finished"]
    first, second = (CellFolder(storage / "cells", cell.cell.trial_key) for cell in missing[:2])
    with first.lease(), second.lease():
        first.stats.note_line("mine.py, line 3: time.sleep(9)", 75)
        second.stats.note_line("mine.py, line 3: time.sleep(9)", 0)
        lines = shell("status", "small_design").out.splitlines()
    ends = [line.partition("epoch")[2][2:] for line in lines if line.startswith("running: ")]
    place = "the trial is at mine.py, line 3: time.sleep(9)"
    assert ends == [f", no batch has ended for 75 s: {place}", ""]


def test_a_finished_trial_whose_process_evaluates_it_is_named(shell: Shell) -> None:
    storage = unpacked(shell, "finished_design")
    store = open_store(storage=storage)
    kinds = {"d": "confidence", "f": "confusion"}
    evaluations = tuple(
        ManifestEvaluation(evaluation_key=20 * letter, kind=kind, looks_at="test")
        for letter, kind in kinds.items()
    )
    manifest = store.manifest("small_design").model_copy(update={"evaluations": evaluations})
    publish_manifest(store.writer(), manifest)
    evaluated, other, *_ = manifest.cells
    cells = [CellFolder(storage / "cells", cell.trial_key) for cell in (evaluated, other)]
    for folder in cells:
        folder.weights.touch()
    (cells[0].path / "evaluations").mkdir()
    (cells[0].path / "evaluations" / f"{'f' * 20}.json").touch()
    line = f"evaluating: {evaluated.arm}, seed {evaluated.seed}, 1 of 2 made"
    with FileLock(Folder(storage, "journals"), "small_design.lock") as lock, cells[0].lease():
        assert lock.acquire()
        lines = shell("status", "small_design").out.splitlines()
        answer = json.loads(shell("status", "small_design", "--json").out)
    assert [shown for shown in lines if "evaluating" in shown] == [line]
    assert [cell["is_evaluating"] for cell in answer["cells"]] == [True, *[False] * 7]
    with cells[1].lease():
        assert "evaluating" not in shell("status", "small_design").out, "its launch is gone"


def test_a_launch_that_starts_is_said_to_though_nothing_is_recorded_yet(shell: Shell) -> None:
    storage = resolve_storage(None)
    with sole_launch("fresh", storage):
        assert re.search("fresh +starting +- ", shell("status").out)
        starting = shell("status", "fresh")
        assert (starting.code, starting.err) == (0, "")
        assert starting.out == "fresh: a launch is starting; it has no cells yet.\n"
        answer = json.loads(shell("status", "fresh", "--json").out)
        assert (answer["is_running"], answer["cells"]) == (True, [])
        assert "nothing has been recorded there yet" in shell.refused("status", "other")
    unpacked(shell, "finished_design")
    with sole_launch("fresh", storage):
        assert re.search("(?s)small_design +complete.*fresh +starting", shell("status").out)
        assert "a launch is starting" in shell("status", "fresh").out


@pytest.mark.parametrize("columns", ["0", "", "wide", "-5"])
def test_a_width_that_is_none_is_not_taken(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    unpacked(shell, "finished_design")
    usual = shell("status", "small_design").out
    monkeypatch.setenv("COLUMNS", columns)
    assert shell("status", "small_design").out == usual


def test_a_failed_trial_is_counted(shell: Shell) -> None:
    storage = interrupted_design(shell)
    outboxes = [
        path for path in storage.rglob("outbox.jsonl") if not (path.parent / "final.json").exists()
    ]
    assert outboxes
    line = OutboxLine(type="failed", time=1, fence=9, reason="no luck")
    CellFolder(storage / "cells", outboxes[0].parent.name).append(line)
    (listed,) = listed_sweeps(storage=storage)
    assert (listed.state, listed.num_failed) == ("failed", 1)
    assert re.search(r"failed +size", shell("status").out)


def test_one_that_another_storage_folder_trains_is_said_to_be_elsewhere(
    shell: Shell, storage: Path
) -> None:
    (listed,) = listed_sweeps(f"sqlite:///{storage / 'mlflow.db'}", shell.folder / "other")
    assert (listed.sweep, listed.state, listed.num_filled) == ("quickstart", "elsewhere", 0)
    assert (listed.num_bytes, listed.last_at) == (None, None)


def test_one_that_cannot_be_read_stands_beside_the_others(shell: Shell) -> None:
    storage = unpacked(shell, "finished_design")
    (storage / "journals" / "other.jsonl").write_text("not a log\n")
    answer = shell("status")
    assert answer.code == 0
    assert re.search("small_design +complete", answer.out)
    assert re.search("other +unreadable", answer.out)
    assert "other.jsonl is damaged" in answer.out


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "just now"), (59, "just now"), (61, "1 min ago"), (3600, "1 h ago"), (90_000, "25 h ago")],
)
def test_an_age_is_told_in_the_largest_unit(seconds: float, text: str) -> None:
    assert ago(1000.0, 1000.0 + seconds) == text
    assert ago(0.0, 14.5 * 86_400) == "14 days ago"
    assert ago(None) == "-"
