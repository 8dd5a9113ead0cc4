"""The rest may take as long as it moves."""

import pytest

from sweeps.execution.recorder import recorder_process as recorder_rest
from sweeps.execution.recorder.recorder_process import Rest
from tests.sweeps.execution.recorder.test_recorder_client import Clock


def test_only_silence_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, reports = Clock(), list[tuple[int, int]]()
    monkeypatch.setattr(recorder_rest, "time", clock)
    rest = Rest(30, 2, lambda *progress: reports.append(progress))
    for number in range(20):
        clock.seconds += 29
        rest.moved(f"file {number}", False)
        assert not rest.is_over
    for _ in range(3):
        rest.moved("a trial", True)
    clock.seconds += 31
    assert rest.is_over
    assert reports[0] == (0, 2)
    assert reports[-3:] == [(1, 2), (2, 2), (2, 2)]


def test_what_is_sent_again_is_no_movement(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(recorder_rest, "time", clock)
    rest = Rest(30, 2, lambda *_: None)
    for _ in range(3):
        clock.seconds += 11
        rest.moved("a file", False)
    clock.seconds += 11
    assert rest.is_over


def test_a_store_that_refuses_all_is_asked_for_a_shorter_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr(recorder_rest, "time", clock)
    rest = Rest(60, 2, lambda *_: None)

    def refused(seconds: float, times: int) -> bool:
        clock.seconds += seconds
        for _ in range(times):
            rest.failed(is_refusal=True)
        return rest.is_over

    assert not refused(20, times=2), "on a busy machine it has hardly been asked"
    assert refused(0, times=1)
    rest.failed(is_refusal=False)
    assert not rest.is_over, "one that does not answer may come back"
    assert refused(0, times=3)
    rest.moved("a file", False)
    assert not refused(14, times=9)
    assert refused(2, times=1)
    assert Rest(2, 1, lambda *_: None).is_over is False
