"""What people browse is written last, and a launch that cannot write it ends as it would."""

from pathlib import Path

import pytest

from sweeps.execution.view.board import Board
from sweeps.records.errors import StoreRefused, StoreUnreachable
from sweeps.tracking.sweep_summary import SweepSummary
from tests.sweeps.execution.launch.launches import Launches, design
from tests.sweeps.tracking.memory_store import MemoryWriter


@pytest.fixture
def launches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Launches:
    return Launches(tmp_path, design(num_arms=2), monkeypatch)


@pytest.fixture
def summaries(monkeypatch: pytest.MonkeyPatch) -> list[SweepSummary]:
    """What stores are told to show."""
    summaries: list[SweepSummary] = []
    monkeypatch.setattr(MemoryWriter, "write_summary", lambda _, __, shown: summaries.append(shown))
    return summaries


def test_a_launch_shows_the_sweep_as_it_is_once_all_is_recorded(
    launches: Launches, summaries: list[SweepSummary]
) -> None:
    assert launches.run().exit_code == 0
    (shown,) = summaries
    assert [arm.name for arm in shown.arms] == ["rate 1", "rate 2"]
    assert [arm.numbers["num_trials"] for arm in shown.arms] == [2, 2]
    assert shown.best == "rate 1"
    assert len(shown.trials) == 4


def test_a_launch_with_nothing_to_train_shows_it_too(
    launches: Launches, summaries: list[SweepSummary]
) -> None:
    launches.run()
    assert launches.run().num_trained == 0
    assert [shown.digest for shown in summaries] == [summaries[0].digest] * 2


@pytest.mark.parametrize(
    "error",
    [
        StoreRefused("it refuses", "it refuses"),
        StoreUnreachable("http://me:secret@host is gone"),
        PermissionError("read-only"),
    ],
    ids=["refused", "away", "read-only"],
)
def test_where_it_cannot_be_shown_one_sentence_says_so_and_nothing_else_changes(
    launches: Launches,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
) -> None:
    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(MemoryWriter, "write_summary", refuse)
    result = launches.run()
    assert (result.exit_code, result.is_recorded, result.complaint) == (0, True, "")
    assert result.report is not None
    (said,) = [line for line in capsys.readouterr().out.splitlines() if "MLflow" in line]
    assert "the next launch makes good" in said
    assert "secret" not in said


def test_where_records_wait_for_the_store_nothing_is_shown(
    launches: Launches, summaries: list[SweepSummary], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StoreRefused("it refuses", "it refuses")

    with monkeypatch.context() as patch:
        patch.setattr(MemoryWriter, "find_trial", refuse)
        assert launches.run().exit_code == 3
    assert summaries == []
    assert launches.run().exit_code == 0
    assert len(summaries) == 1


def test_trials_that_ended_as_a_launch_was_interrupted_count_as_trained(
    launches: Launches, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their results are in their folders, though the launch did not hear of their end."""
    monkeypatch.setattr(Board, "ended", lambda *_: None)
    result = launches.run()
    assert (result.num_trained, result.num_filled) == (4, 4)
