"""Damaged and deleted files of a storage folder: rebuilt by the next launch, or named."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sweeps.execution.sweep_log import log_path
from sweeps.records.errors import BadInput
from sweeps.records.sweep_log import LogLines
from sweeps.records.trial_record import ARTIFACT_SWEEP_LOG
from tests.sweeps.execution.launch.launches import Launches, design, searching
from tests.sweeps.execution.launch.test_lost_store import expect_whole

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "garbage": lambda content: b"garbage " * 512,
    "cut": lambda content: content[: len(content) // 2],
    "overwritten": lambda content: content[:4096] + b"\xff" * (len(content) - 4096),
    "overwritten in part": lambda content: content[:2000] + b"\xff" * 100 + content[2100:],
}


@pytest.fixture
def launches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Launches:
    return Launches(tmp_path, design(), monkeypatch)


def damage(path: Path, how: str) -> bytes:
    """Damage a file; return what is left of it."""
    damaged = DAMAGES[how](path.read_bytes())
    path.write_bytes(damaged)
    return damaged


@pytest.mark.parametrize("how", ["garbage", "cut", "overwritten"])
def test_a_damaged_queue_is_put_aside_and_filled_again(
    launches: Launches, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert launches.run(seeds=(0,)).exit_code == 0
    (queue,) = launches.storage.journals.glob("recorder-*.db")
    damaged = damage(queue, how)
    result = launches.run(seeds=(0, 1))
    assert (result.exit_code, result.complaint) == (0, "")
    expect_whole(launches)
    assert queue.with_name(f"{queue.name}.damaged-1").read_bytes() == damaged
    sentences = [
        record.getMessage() for record in caplog.records if "damaged" in record.getMessage()
    ]
    assert len(sentences) == 1


@pytest.mark.parametrize("how", ["garbage", "overwritten in part"])
def test_a_damaged_log_is_refused_in_one_sentence_with_advice(launches: Launches, how: str) -> None:
    assert launches.run().exit_code == 0
    damaged = damage(launches.storage.journals / "example.jsonl", how)
    with pytest.raises(
        BadInput, match=r"example\.jsonl is damaged .*`capsweep repair example`"
    ) as why:
        launches.run(seeds=(0, 1, 2))
    assert "\n" not in str(why.value)
    assert (launches.storage.journals / "example.jsonl").read_bytes() == damaged


def test_a_log_whose_end_was_torn_off_is_continued(launches: Launches) -> None:
    assert launches.run().exit_code == 0
    tables, num_trained = launches.tables(), launches.num_epochs_trained()
    damage(log_path(launches.storage.journals, "example"), "cut")
    assert launches.run().exit_code == 0
    assert launches.tables() == tables
    assert launches.num_epochs_trained() == num_trained


def lose_log(launches: Launches, content: bytes | None) -> None:
    (sweep_run,) = launches.store.backend.live("sweep")
    for name in [name for name in sweep_run.files if name.startswith(ARTIFACT_SWEEP_LOG[:5])]:
        if content is None:
            del sweep_run.files[name]
        else:
            sweep_run.files[name] = content


@pytest.mark.parametrize("content", [None, b"{", b""])
def test_a_log_that_the_store_has_lost_comes_back_from_the_storage_folder(
    launches: Launches, content: bytes | None
) -> None:
    assert launches.run().exit_code == 0
    manifest, tables = launches.store.manifest("example"), launches.tables()
    lose_log(launches, content)
    with pytest.raises(BadInput):
        launches.store.manifest("example")
    assert launches.run().exit_code == 0
    assert launches.store.manifest("example") == manifest
    assert launches.tables() == tables


def test_a_log_that_nobody_has_is_asked_for_by_replace(launches: Launches) -> None:
    assert launches.run().exit_code == 0
    manifest = launches.store.manifest("example")
    lose_log(launches, None)
    log_path(launches.storage.journals, "example").unlink()
    with pytest.raises(BadInput, match="--replace"):
        launches.run()
    assert launches.run(replace=True).exit_code == 0
    assert launches.store.manifest("example") == manifest


def test_a_search_of_many_at_once_keeps_its_proposals_when_store_and_log_are_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launches = Launches(tmp_path, searching("tpe"), monkeypatch)
    launches.num_concurrent = 3
    assert launches.run().exit_code == 0
    tables, num_trained = launches.tables(), launches.num_epochs_trained()
    launches.lose_store()
    (launches.storage.journals / "example.jsonl").unlink()
    launches.num_concurrent = 1
    result = launches.run()
    assert (result.exit_code, result.complaint) == (0, "")
    assert launches.tables() == tables
    assert launches.num_epochs_trained() == num_trained


def test_a_search_whose_log_was_cut_here_and_in_the_store_trains_nothing_again_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launches = Launches(tmp_path, searching("tpe"), monkeypatch)
    launches.num_concurrent = 3
    assert launches.run().exit_code == 0
    num_trained = launches.num_epochs_trained()
    path = log_path(launches.storage.journals, "example")
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:5]))
    log = LogLines(path.read_bytes()).shared()
    launches.store.writer().set_sweep_log(launches.store.sweep_id("example"), log.decode())
    assert launches.run().exit_code == 0
    assert launches.num_epochs_trained() == num_trained
    reports = launches.reports / "example"
    assert "was cut before proposal" in (reports / "confirmation.md").read_text()


def test_a_search_that_was_trained_anew_is_resumed_from_its_new_decisions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launches = Launches(tmp_path, searching("tpe"), monkeypatch)
    assert launches.run().exit_code == 0
    num_trained, manifest = launches.num_epochs_trained(), launches.store.manifest("example")
    assert launches.run(retrain=True).exit_code == 0
    assert launches.num_epochs_trained() == 2 * num_trained
    result = launches.run()
    assert (result.exit_code, result.num_trained) == (0, 0)
    assert launches.store.manifest("example") == manifest
    launches.lose_store()
    assert launches.run().exit_code == 0
    assert launches.store.manifest("example") == manifest, "the log here has all of it"
