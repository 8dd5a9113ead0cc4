"""The rest may take as long as it moves."""

import pytest

from sweeps.execution.recorder import rest as recorder_rest
from sweeps.execution.recorder.rest import Rest
from tests.sweeps.execution.recorder.test_recorder_client import Clock


def test_only_silence_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, told = Clock(), list[tuple[int, int]]()
    monkeypatch.setattr(recorder_rest, "time", clock)
    rest = Rest(30, 2, lambda *words: told.append(words))
    for number in range(20):
        clock.seconds += 29
        rest.moved(f"file {number}", False)
        assert not rest.is_silent
    for _ in range(3):
        rest.moved("a trial", True)
    clock.seconds += 31
    assert rest.is_silent
    assert told[0] == (0, 2)
    assert told[-3:] == [(1, 2), (2, 2), (2, 2)]


def test_what_is_sent_again_is_no_movement(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(recorder_rest, "time", clock)
    rest = Rest(30, 2, lambda *_: None)
    for _ in range(3):
        clock.seconds += 11
        rest.moved("a file", False)
    clock.seconds += 11
    assert rest.is_silent
