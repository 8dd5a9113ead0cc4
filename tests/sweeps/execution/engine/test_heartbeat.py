"""The engine's process reports that it lives, and how long its cluster has not answered."""

import os

import pytest

from sweeps.execution.channel import Channel
from sweeps.execution.engine.process.process_messages import FROM_ENGINE, EnginePulse
from sweeps.execution.engine.tune import heartbeat
from sweeps.execution.engine.tune.heartbeat import Heartbeat


class Cluster:
    """Answers as it is told, and beats while a question waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        reading, self._writing = os.pipe()
        self._driver = Channel(reading, self._writing)
        self.heartbeat = Heartbeat(self._driver)
        self.is_alive = True
        self.beats_before_answer = 0
        monkeypatch.setattr(heartbeat, "_is_node_alive", self._answer)

    def misses(self) -> int:
        self.heartbeat.beat()
        message = FROM_ENGINE.validate_json(self._driver.receive() or b"")
        assert isinstance(message, EnginePulse)
        return message.num_misses

    def _answer(self) -> bool:
        self.misses_while_it_waited = [self.misses() for _ in range(self.beats_before_answer)]
        return self.is_alive


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    return Cluster(monkeypatch)


def test_no_question_and_an_answer_are_no_miss(cluster: Cluster) -> None:
    assert [cluster.misses() for _ in range(30)] == [0] * 30
    cluster.heartbeat.ask()
    assert [cluster.misses() for _ in range(30)] == [0] * 30


def test_ten_seconds_without_an_answer_are_a_miss(cluster: Cluster) -> None:
    cluster.beats_before_answer = 32
    cluster.heartbeat.ask()
    assert cluster.misses_while_it_waited == [0] * 10 + [1] * 10 + [2] * 10 + [3] * 2
    assert cluster.misses() == 0, "it has answered"


def test_slow_answers_are_no_misses(cluster: Cluster) -> None:
    cluster.beats_before_answer = 6
    for _ in range(5):
        cluster.heartbeat.ask()
        assert cluster.misses_while_it_waited == [0] * 6


def test_each_denial_in_a_row_is_a_miss(cluster: Cluster) -> None:
    cluster.is_alive = False
    for number in (1, 2, 3):
        cluster.heartbeat.ask()
        assert cluster.misses() == number
    cluster.is_alive = True
    cluster.heartbeat.ask()
    assert cluster.misses() == 0
