"""The heartbeat of the engine's process: each second a message, and a question to the cluster."""

import os

from sweeps.execution.channel import Channel
from sweeps.execution.engine.process.process_messages import EnginePulse

HEARTBEAT_SECONDS = 1.0
_ANSWER_SECONDS = 10  # which is as many heartbeats


class Heartbeat:
    """Tells the driver that this process lives, and whether its cluster answers.

    Call `beat` and `ask` each second, each in a thread of its own: a cluster whose head is gone
    lets a question wait forever.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._num_questions = self._num_answers = 0
        self._num_denials = 0  # in a row, that the node is alive
        self._awaited = 0  # the question that the last beat saw without an answer
        self._num_waits = 0  # beats that have seen it

    def beat(self) -> None:
        """Send one heartbeat."""
        try:
            self._channel.send(EnginePulse(num_misses=self._num_misses()))
        except BrokenPipeError:  # nobody is left to train for
            os._exit(1)

    def ask(self) -> None:
        """Ask the cluster's head whether the node here is alive."""
        self._num_questions += 1
        is_alive = _is_node_alive()
        self._num_denials = 0 if is_alive else self._num_denials + 1
        self._num_answers = self._num_questions

    def _num_misses(self) -> int:
        """Return how many questions in a row have had no answer, or not in time, or a denial.

        Time is counted in heartbeats: a process that was stopped for a while has missed none.
        """
        question = self._num_questions
        is_awaited = self._num_answers < question == self._awaited
        self._num_waits = self._num_waits + 1 if is_awaited else 0
        self._awaited = question
        return self._num_denials + self._num_waits // _ANSWER_SECONDS


def _is_node_alive() -> bool:
    import ray
    from ray.exceptions import RayError

    try:
        node_id = ray.get_runtime_context().get_node_id()
        return any(node["NodeID"] == node_id and node["Alive"] for node in ray.nodes())
    except (RayError, RuntimeError):
        return False
