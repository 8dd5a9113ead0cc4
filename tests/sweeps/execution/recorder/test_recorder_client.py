"""The driver waits for its recorder while it makes progress, and knows why records are missing."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sweeps.execution.recorder import client as recorder_client
from sweeps.execution.recorder.client import RecorderClient
from sweeps.storage.locations import Storage


class Clock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def monotonic(self) -> float:
        return self.seconds

    time = staticmethod(time.time)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(recorder_client, "time", clock)
    return clock


@pytest.fixture
def client_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], RecorderClient]:
    """Return what starts a client whose recorder is a script."""

    def started(script: str) -> RecorderClient:
        path = tmp_path / "recorder.sh"
        path.write_text(f"#!/bin/sh\ncd {tmp_path}\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(path))
        return RecorderClient(Storage(tmp_path), "memory:", "example")

    return started


TELLING = """
read word
for done in 1 2 3 4 5 6; do
    printf '{"num_done": %s, "num_left": 6}\\n' $done
    while [ ! -e "heard-$done" ]; do sleep 0.02; done
done
"""


def test_a_recorder_that_moves_may_take_as_long_as_it_likes(
    tmp_path: Path, clock: Clock, client_of: Callable[[str], RecorderClient]
) -> None:
    progress: list[tuple[int, int]] = []

    def on_progress(num_done: int, num_left: int) -> None:
        progress.append((num_done, num_left))
        clock.seconds += 30
        (tmp_path / f"heard-{num_done}").touch()

    client = client_of(TELLING)
    assert client.finish(30, on_progress)
    assert progress == [(number, 6) for number in range(1, 7)]
    assert client.error == ""


def test_one_that_is_silent_is_ended_and_it_is_said_how_far_it_was(
    client_of: Callable[[str], RecorderClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_client, "_STOP_SECONDS", 0.1)
    client = client_of(TELLING)
    assert not client.finish(0.1)
    assert "1 of 6" in client.error


def test_one_who_waits_at_a_terminal_waits_no_longer_than_that(
    tmp_path: Path, clock: Clock, client_of: Callable[[str], RecorderClient]
) -> None:
    def on_progress(num_done: int, _: int) -> None:
        clock.seconds += 3
        (tmp_path / f"heard-{num_done}").touch()

    client = client_of(TELLING)
    assert not client.finish(30, on_progress, most_seconds=5)
    assert "2 of 6" in client.error


def test_one_that_is_killed_at_its_end_is_started_again(
    tmp_path: Path, client_of: Callable[[str], RecorderClient]
) -> None:
    client = client_of("read word\n[ -e killed ] || { touch killed; kill -9 $$; }\nexit 0")
    assert client.finish(30)
    assert (tmp_path / "killed").exists()


def test_one_that_cannot_start_is_not_started_for_ever(
    tmp_path: Path, client_of: Callable[[str], RecorderClient]
) -> None:
    client = client_of("echo x >> starts; exit 1")
    assert not client.finish(30)
    assert 5 <= len((tmp_path / "starts").read_text().split()) <= 6
    assert client.error


def test_why_records_are_left_is_its_last_word(
    client_of: Callable[[str], RecorderClient],
) -> None:
    client = client_of('read word\necho \'{"error": "the disk of the server is full"}\'\nexit 3')
    assert not client.finish(30)
    assert client.error == "the disk of the server is full"


def test_a_recorder_is_not_given_the_token_of_a_cluster(
    tmp_path: Path, client_of: Callable[[str], RecorderClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "secret")
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", "where it lies")
    monkeypatch.setenv("OTHER", "told")
    client = client_of("env > environment; read word")
    assert client.finish(60)
    names = {line.partition("=")[0] for line in (tmp_path / "environment").read_text().splitlines()}
    assert "OTHER" in names
    assert not {name for name in names if name.startswith("RAY_AUTH_TOKEN")}
