"""The world of one run of chaos: a Ray cluster of three nodes, a tracking server, a storage."""

import os
import threading
import time
from collections.abc import Callable, Collection
from contextlib import ExitStack
from pathlib import Path
from random import Random

import psutil

from tests.cluster.ray_nodes import RayNodes
from tests.end_to_end.command import clean_environment
from tests.end_to_end.storage_view import outboxes
from tests.end_to_end.tracking_server import TrackingServer
from tools.chaos.event_plan import DISK_FULL, LINK_CUT
from tools.chaos.faults import FalseClock, Link, SmallDisk
from tools.chaos.processes import MARK, family, kill_marked
from tools.chaos.proxy import Proxy, Trouble


class World:
    """All that a run starts, and ends at the end of a `with`.

    Args:
        folder: For all that is written.
        seed: Of chance.
        means: Kinds of events that need more than processes.

    Attributes:
        chance: Who is hit.
        nodes: The cluster: a head that trains nothing, and two nodes of one core.
        disturbances: What lasts at this moment: what it is, and the thread that ends it.
        problems: Sentences on what went wrong in those threads.
    """

    def __init__(self, folder: Path, seed: int, means: Collection[str]) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.storage = folder / "capsweep-store"
        self.chance = Random(seed)
        self.nodes = RayNodes()
        self.server = TrackingServer(folder / "server")
        self.disturbances: dict[str, threading.Thread] = {}
        self.problems: list[str] = []
        self.link = Link() if LINK_CUT in means else None
        self.clock = FalseClock(folder)
        self.disk = SmallDisk(self.storage) if DISK_FULL in means else None
        self._is_over = threading.Event()

    def __enter__(self) -> "World":
        with ExitStack() as running:
            for means in (self.link, self.clock, self.disk):
                if means:
                    running.enter_context(means)
            self.nodes.environment |= self.clock.environment
            running.callback(self.nodes.close)
            running.callback(kill_marked)
            running.callback(self.end_disturbances)
            self.server.start()
            self.proxy = running.enter_context(Proxy(self.server.address))
            self.nodes.start_head()
            if self.link:
                self.nodes.start_worker(within=self.link.within, host=self.link.host)
            else:
                self.nodes.start_worker()
            self.nodes.start_worker()
            self._running = running.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._running.close()

    def environment(self, *, joins_cluster: bool) -> dict[str, str]:
        """Return a driver's environment."""
        return self.nodes.environment if joins_cluster else clean_environment()

    def disturb(self, disturbance: str, seconds: float, end: Callable[[], None]) -> None:
        """Have something that has just begun end after a time."""

        def wait() -> None:
            self._is_over.wait(seconds)
            try:
                end()
            except Exception as error:  # noqa: BLE001 - told where the run is judged
                self.problems.append(f"{disturbance} could not be ended: {error!r}")
            del self.disturbances[disturbance]

        self.disturbances[disturbance] = threading.Thread(target=wait, daemon=True)
        self.disturbances[disturbance].start()

    def end_disturbances(self) -> None:
        """End whatever is disturbed now, before its time."""
        self._is_over.set()
        for thread in list(self.disturbances.values()):
            thread.join()
        self._is_over.clear()

    @property
    def is_store_disturbed(self) -> bool:
        """Whether the tracking server may leave requests unanswered now."""
        return self.proxy.trouble is not Trouble.NONE or "server away" in self.disturbances

    def infrastructure(self) -> list[psutil.Process]:
        """Return the processes of the cluster and of the server."""
        roots = [*self.nodes.roots, *self.server.roots]
        return [process for root in roots for process in family(root)]

    def num_epochs(self) -> int:
        """Return how many different epochs have been reported."""
        outbox_facts = outboxes(self.storage).values()
        return sum(len({epoch for epoch, _ in facts.epochs}) for facts in outbox_facts)


class Clock:
    """Tells the seconds since it was made."""

    def __init__(self) -> None:
        self._begun = time.monotonic()

    @property
    def seconds(self) -> float:
        """Since it was made."""
        return round(time.monotonic() - self._begun, 1)


def mark_own_children(name: str) -> None:
    """Have all processes that this one starts bear a mark."""
    os.environ[MARK] = name


def report_progress(sentence: str) -> None:
    """Print how far it is."""
    print(sentence, flush=True)
