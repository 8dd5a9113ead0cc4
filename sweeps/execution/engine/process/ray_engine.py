"""Ray Tune as an engine that outlives its own death.

Ray and Tune run in a process of their own, which is watched. Where it falls silent, or Ray behind
it ends, all of it is ended, the trials that it ran count as lost and not as failed, and where Ray
was started here it is started anew. After some hundreds of jobs a fresh process takes over, as
Tune keeps what it has ever run.
"""

import os
import secrets
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Self

from sweeps.execution.child_process import ChildLostError
from sweeps.execution.engine.engine import (
    CannotGoOn,
    ConcurrencyLimit,
    EpochEnded,
    Events,
    Job,
    Jobs,
    Next,
    TrialEnded,
    TrialStarted,
)
from sweeps.execution.engine.failure_policy import Failure
from sweeps.execution.engine.placement import Machine
from sweeps.execution.engine.process.engine_session import EngineSession
from sweeps.execution.engine.process.process_messages import (
    Finished,
    JobRequest,
    LimitChanged,
    NoJob,
    Notice,
    Proceed,
    Train,
)
from sweeps.execution.engine.process.ray_token import refuse_readable_token
from sweeps.execution.engine.process.scratch import scratch_folder
from sweeps.execution.worker.worker_process import environment_of
from sweeps.records.errors import BadInput
from sweeps.storage.folder import in_storage, read_named_file

JOBS_A_PROCESS = 250
MOST_STARTS_IN_A_ROW = 4  # the first, and three anew
_LEAVE_SECONDS = 20.0
_QUIET = {
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1",  # a trial whose cell is filled reports nothing
    "TUNE_GLOBAL_CHECKPOINT_S": "1000000000",  # Tune's snapshots are of no use to us
    "TUNE_PRINT_ALL_TRIAL_ERRORS": "0",
    "TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "0",
}


class RayEngine:
    """Runs jobs by Ray Tune; an `Engine`. Start it by a `with`.

    Args:
        address: Address of a running Ray cluster; None starts Ray here.
        log: Takes what Ray prints.
        notify: Called with a sentence when the process is lost.
        num_ready: Processes that are started with Ray, each with what trains loaded already; None
            starts none before there is a job, and a cluster that is joined has its own.
        limit: Jobs at once in any cluster, which may change; None for any number.
        share: Weight of the launch's share of a cluster.
        open_session: Starts a process, from its environment and log.
    """

    def __init__(
        self,
        address: str | None,
        log: Path,
        notify: Callable[[str], None] = lambda _: None,
        *,
        num_ready: int | None = None,
        limit: ConcurrencyLimit | None = None,
        share: float = 1.0,
        open_session: Callable[[dict[str, str], Path], EngineSession] = EngineSession,
    ) -> None:
        self._address = address
        self._log = log
        self._notify = notify
        self._num_ready = num_ready
        self._limit = limit or ConcurrencyLimit()
        self._most: int | None = None  # as the process knows it
        self._share = share
        self._open_session = open_session
        self._session: EngineSession | None = None
        self._machines: Sequence[Machine] = ()
        self._resources = ExitStack()
        self._running: dict[str, None] = {}
        self._early_log: Path | None = None
        self._num_starts = 0

    @property
    def has_begun(self) -> bool:
        """Whether its process is there."""
        return self._session is not None

    @property
    def machines(self) -> Sequence[Machine]:
        """What each machine had when Ray was last asked."""
        return self._machines

    def run(self, jobs: Jobs, events: Events, num_concurrent: int) -> None:
        """Run jobs until there are no more.

        Raises:
            CannotGoOn: If Ray is lost for good.
        """
        while (first := jobs.next()) is not Next.DONE:
            self._add_running(first)
            try:
                if self._session is None:
                    self._start_anew()
                self._serve(first, jobs, events, num_concurrent)
                if self._address:  # a Ray of our own is ended at once, a cluster is left in order
                    self._live.end(_LEAVE_SECONDS)
            except ChildLostError as lost:
                self.end()  # first: what still runs holds its cells
                self._report_lost(events, lost)
            else:
                self.end()

    def begin(self) -> None:
        """Start Ray, or join the cluster, without waiting for it.

        Raises:
            ChildLostError: If its process has ended.
        """
        self._num_starts += 1
        scratch = self._resources.enter_context(scratch_folder())
        own = {} if self._address else self._own_ray_environment()
        environment = {**os.environ, **_QUIET, "RAY_AUTH_MODE": "token", **own}
        self._session = self._open_session(environment, self._log)
        self._live.begin(self._address, scratch, self._num_ready)

    def adopt(self, log: Path, notify: Callable[[str], None]) -> None:
        """Redirect a started engine to another log, with its earlier output, and another listener.

        Call it before the engine is entered.
        """
        self._early_log, self._log, self._notify = self._log, log, notify

    def __enter__(self) -> Self:
        """Start Ray, or join the cluster; wait for it where it has begun.

        Raises:
            BadInput: If it cannot be started, the cluster does not answer or refuses the token, or
                others may read the token.
        """
        if self._address:
            refuse_readable_token()
        with ExitStack() as undo:
            undo.callback(self.end)
            try:
                if self._session is None:
                    self.begin()
                self._wait()
            except ChildLostError as lost:
                raise BadInput(f"Ray could not be started: {lost}; see {self._log}.") from lost
            undo.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def end(self) -> None:
        """End the process and all that it has started, whatever it is doing."""
        session, self._session = self._session, None
        if session:
            session.end()
        self._resources.close()

    @property
    def _live(self) -> EngineSession:
        assert self._session is not None
        return self._session

    def _wait(self) -> None:
        try:
            self._live.wait(self._log if self._early_log else None)
        finally:
            self._keep_early_log()
        self._machines = self._live.machines

    def _keep_early_log(self) -> None:
        early, self._early_log = self._early_log, None
        if early:
            descriptor = in_storage(self._log.parent).append(self._log.name)
            with os.fdopen(descriptor, "ab") as log:
                log.write(read_named_file(early))

    def _own_ray_environment(self) -> dict[str, str]:
        """Return the environment of a Ray that is started here and of its worker processes."""
        own = {
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",  # this process's own serves its workers as well
        }
        if self._num_ready is None:
            return own
        return {**own, **environment_of()}  # a job may set another number of threads

    def _start_anew(self) -> None:
        try:
            self.begin()
            self._wait()
        except BadInput as error:  # it was there before, so it is no question of input
            raise ChildLostError(str(error)) from error

    def _serve(self, first: Job | Next, jobs: Jobs, events: Events, num_concurrent: int) -> None:
        """Answer the process until all of its jobs have ended."""
        session, num_handed_out, self._most = self._live, 0, self._limit.most
        answers = chain([first], iter(jobs.next, None))
        session.send(
            Train(
                num_concurrent=num_concurrent,
                max_concurrent=self._most,
                share=self._share,
            )
        )
        while not isinstance(message := session.receive_message(), Finished):
            self._send_limit(session)
            if isinstance(message, JobRequest):
                self._machines = message.machines or self._machines
                is_spent = num_handed_out == JOBS_A_PROCESS
                answer = Next.DONE if is_spent else next(answers)
                self._add_running(answer)
                num_handed_out += isinstance(answer, Job)
                session.send(NoJob(next=answer) if isinstance(answer, Next) else answer)
            elif isinstance(message, TrialStarted):
                events.tell(message)
            elif isinstance(message, Notice):
                self._notify(message.sentence)
            elif isinstance(message, EpochEnded):
                self._num_starts = 1  # it works
                session.send(events.tell(message) or Proceed())
            elif isinstance(message, TrialEnded):
                self._num_starts = 1
                if message.trial_key in self._running:  # or its end has been reported before
                    del self._running[message.trial_key]
                    events.tell(message)

    def _send_limit(self, session: EngineSession) -> None:
        """Send the limit if it has changed. The process reads it with the answer that follows."""
        if self._limit.most != self._most:
            self._most = self._limit.most
            session.send(LimitChanged(max_concurrent=self._most))

    def _add_running(self, answer: Job | Next) -> None:
        if isinstance(answer, Job):
            self._running |= dict.fromkeys(answer.trial_keys)

    def _report_lost(self, events: Events, lost: ChildLostError) -> None:
        """Report the trials lost with the process; return only if another process may follow.

        Raises:
            CannotGoOn: If none may.
        """
        running, self._running = self._running, {}
        for key in running:
            events.tell(TrialEnded(trial_key=key, failure=Failure.LOST, reason=str(lost)))
        if self._address:
            raise CannotGoOn(f"The Ray cluster at {self._address} was lost: {lost}.")
        if self._num_starts == MOST_STARTS_IN_A_ROW:
            raise CannotGoOn(f"Ray was lost {self._num_starts} times in a row, at last as {lost}.")
        self._notify(f"Ray was lost, as {lost}: it is restarted, and trials resume.")
