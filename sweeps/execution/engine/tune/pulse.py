"""The pulse of the engine's process: each second a word, and a question to the cluster."""

import os
import threading
from types import TracebackType
from typing import Any, Self

from sweeps.execution.engine.process.channel import Channel
from sweeps.execution.engine.process.process_messages import Pulse

_SECONDS = 1.0
_ANSWER_SECONDS = 10.0


class Pulsing:
    """A thread that tells the driver that this process lives, and its cluster answers."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._is_over = threading.Event()
        self._is_connected = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def feel_the_cluster(self) -> None:
        """Ask the cluster too from now on, as it is there."""
        self._is_connected.set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over.set()
        self._thread.join(_ANSWER_SECONDS)

    def _beat(self) -> None:
        num_misses = 0
        while not self._is_over.wait(_SECONDS):
            is_missed = self._is_connected.is_set() and not _answers()
            num_misses = num_misses + 1 if is_missed else 0
            try:
                self._channel.send(Pulse(num_misses=num_misses))
            except BrokenPipeError:  # nobody is left to train for
                os._exit(1)


def _answers() -> bool:
    """Return whether the cluster's head answers in time that the node here is alive."""
    import ray
    from ray._raylet import NodeID
    from ray.exceptions import RayError

    worker: Any = ray._private.worker.global_worker  # pyright: ignore - it has no public form with a time limit
    if not worker.connected:  # it is being left
        return True
    own = NodeID.from_hex(ray.get_runtime_context().get_node_id())
    try:
        return all(worker.gcs_client.check_alive([own], timeout=_ANSWER_SECONDS))
    except (RayError, RuntimeError, TimeoutError):
        return False
