"""The engine's process: it starts or joins Ray and trains by Ray Tune what its driver sends.

A driver starts it as `python -m sweeps.execution.engine.tune.engine_process PID`, with its own
process id. Messages come from standard input, whose end is the end of the process, and go to
standard output, where nothing else is printed.
"""

import os
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sweeps.execution.channel import Channel, channel_to_parent
from sweeps.execution.engine.engine import EpochEnded, Event, Job, Next, Stop
from sweeps.execution.engine.placement import Machine
from sweeps.execution.engine.process.process_messages import (
    FROM_DRIVER,
    Begin,
    Finished,
    FromDriver,
    JobRequest,
    LimitChanged,
    NoJob,
    Notice,
    Print,
    Ready,
    Refused,
    Train,
)
from sweeps.execution.engine.tune.heartbeat import HEARTBEAT_SECONDS, Heartbeat
from sweeps.execution.engine.tune.ray_private import inheriting_actors
from sweeps.execution.engine.tune.ray_session import needed_processes, ray_machines, ray_session
from sweeps.execution.garbage import collect_seldom
from sweeps.execution.periodic import every
from sweeps.execution.worker.worker_process import die_with_parent
from sweeps.records.errors import BadInput
from sweeps.storage.folder import in_storage

if TYPE_CHECKING:
    from sweeps.execution.engine.tune.cluster_share import ClusterShare


class Driver:
    """The driver at the other end of a channel: it gives jobs and takes events.

    Attributes:
        machines: Called with each request for a job, as a cluster changes; None if they stay.
        limit: Called with the number of jobs at once, at most, when that changes.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.machines: Callable[[], tuple[Machine, ...]] | None = None
        self.limit: Callable[[int | None], None] = lambda _: None

    def receive(self) -> FromDriver:
        """Return the next message of the driver that is no change of the limit.

        Raises:
            EOFError: If the driver has ended.
        """
        while isinstance(message := self._receive(), LimitChanged):
            self.limit(message.max_concurrent)
        return message

    def _receive(self) -> FromDriver:
        line = self._channel.receive()
        assert line is not None
        return FROM_DRIVER.validate_json(line)

    def next(self) -> Job | Next:
        """Ask for a job."""
        self._channel.send(JobRequest(machines=self.machines() if self.machines else None))
        answer = self.receive()
        if isinstance(answer, Job):
            return answer
        assert isinstance(answer, NoJob)
        return answer.next

    def tell(self, event: Event) -> Stop | None:
        """Report an event; return the answer to an epoch."""
        self._channel.send(event)
        if not isinstance(event, EpochEnded):
            return None
        answer = self.receive()
        return answer if isinstance(answer, Stop) else None


def train_messages(driver: Driver) -> Iterator[Train]:
    """Yield each `Train`; follow each `Print` between them.

    Raises:
        EOFError: If the driver is gone.
    """
    while isinstance(message := driver.receive(), Train | Print):
        if isinstance(message, Train):
            yield message
        else:
            _print_to(message.log)


def main() -> int:
    """Serve one driver until it is done or has ended."""
    collect_seldom()
    die_with_parent(int(sys.argv[1]))
    channel = channel_to_parent()
    driver = Driver(channel)
    begin = driver.receive()
    assert isinstance(begin, Begin)
    heartbeat = Heartbeat(channel)
    with every(HEARTBEAT_SECONDS, heartbeat.beat):
        try:
            with ray_session(begin.address, begin.scratch, begin.num_ready):
                processes = () if begin.address else needed_processes()
                driver.machines = ray_machines if begin.address else None  # a cluster changes
                channel.send(Ready(machines=ray_machines(), processes=processes))
                with (
                    every(HEARTBEAT_SECONDS, heartbeat.ask, join_seconds=0),
                    nullcontext() if begin.address else inheriting_actors(),
                ):
                    if begin.address:
                        with shared_cluster(channel) as share:
                            _serve(driver, channel, begin.scratch, share)
                    else:
                        _serve(driver, channel, begin.scratch)
        except BadInput as error:
            channel.send(Refused(sentence=str(error)))
        except (EOFError, BrokenPipeError):  # the driver is gone, or done
            return 0
    return 0


@contextmanager
def shared_cluster(channel: Channel) -> Generator["ClusterShare"]:
    """Yield the launch's share of the joined cluster, kept up to date while the block runs."""
    from sweeps.execution.engine.tune.cluster_share import ClusterShare

    share = ClusterShare(lambda sentence: channel.send(Notice(sentence=sentence)))
    with every(HEARTBEAT_SECONDS, share.ask, join_seconds=0):
        try:
            yield share
        finally:
            share.leave()


def _serve(
    driver: Driver, channel: Channel, scratch: str, share: "ClusterShare | None" = None
) -> None:
    """Train whenever the driver says so. An error of Tune ends the process."""
    # loads Tune, which takes a second or two of a processor
    from sweeps.execution.engine.tune.tune_engine import TuneEngine

    for train in train_messages(driver):
        if share:
            share.weight, share.most = train.share, train.max_concurrent
            driver.limit = partial(setattr, share, "most")
        TuneEngine(train.num_concurrent, scratch, share).run(jobs=driver, events=driver)
        channel.send(Finished())


def _print_to(log: str) -> None:
    descriptor = in_storage(Path(log).parent).append(Path(log).name)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)


if __name__ == "__main__":
    raise SystemExit(main())
