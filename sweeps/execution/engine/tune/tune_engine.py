"""Ray Tune as an engine: it places jobs on machines and runs them in processes that it reuses.

A searcher gives the jobs to Tune, a scheduler passes on epochs and stops trials, and a callback
notes why a process ended. All three hold live objects of the driver, which Tune would pickle into
its snapshots, so they leave them out of their state. What Tune stores is never read.
"""

import os
import re
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter
from ray import cloudpickle, tune
from ray.exceptions import OutOfMemoryError, RayActorError, RayError, RayTaskError
from ray.tune.schedulers import FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher

from capsmodel.launch_folder import LAUNCH_FOLDER
from capsmodel.metrics import EpochMetrics
from sweeps.execution.cells.folder import CellBusyError, reason_of
from sweeps.execution.engine.engine import (
    EpochEnded,
    Events,
    Job,
    Jobs,
    Next,
    TrialEnded,
    TrialStarted,
)
from sweeps.execution.engine.failure_policy import Failure
from sweeps.execution.engine.placement import Share
from sweeps.execution.engine.tune.cluster_share import ClusterShare, Dispatched
from sweeps.execution.engine.tune.ray_private import (
    is_known_release,
    leave_cell,
    room_for_others,
    tune_run,
)
from sweeps.execution.engine.tune.ray_session import is_gone
from sweeps.execution.engine.tune.ready_worker import load_libraries
from sweeps.execution.worker.evaluation import run_evaluations, train_and_evaluate
from sweeps.execution.worker.worker_process import (
    die_with_parent,
    keep_freed_memory,
    prepare_environment,
    release_card,
    use_card,
)

EPOCHS = TypeAdapter(list[EpochEnded])  # of one trial, in their order: more where none may stop it
_NODE_DIED = "node has died"  # Ray says so only in the text
_ADDRESS = re.compile(r"\bip: (\S+)")  # likewise
_NO_MACHINE = "its machine went away"


class Fault(NamedTuple):
    """How a process ended, as far as Tune knows."""

    failure: Failure | None
    reason: str
    machine: str = ""  # that is gone, by its address


_NO_FAULT = Fault(None, "")


class TuneEngine:
    """Runs jobs by Ray Tune in a running Ray session.

    A process is reused only for a job of the same share.

    Args:
        num_concurrent: Largest number of jobs at once.
        scratch: Folder for what Tune writes.
        share: The launch's share of a joined cluster; None for a Ray of our own.
    """

    def __init__(
        self, num_concurrent: int, scratch: str, share: ClusterShare | None = None
    ) -> None:
        self._num_concurrent = num_concurrent
        self._scratch = scratch
        self._share = share

    def run(self, jobs: Jobs, events: Events) -> None:
        """Run jobs until there are no more."""
        searcher = JobSearcher(jobs, events, self._num_concurrent, self._share)
        tuner = tune.Tuner(
            tune.with_resources(train_job, resources_of),
            tune_config=tune.TuneConfig(
                search_alg=searcher,
                scheduler=StopScheduler(events),
                num_samples=-1,
                # of a cluster the searcher knows how many, which changes
                max_concurrent_trials=_ANY_NUMBER if self._share else self._num_concurrent,
                reuse_actors=is_known_release(),
                trial_name_creator=_trial_name,
                trial_dirname_creator=_trial_name,
            ),
            run_config=tune.RunConfig(
                name="launch",
                storage_path=str(Path(self._scratch) / "tune"),
                verbose=0,
                callbacks=[TrialCallback(searcher)],
                failure_config=tune.FailureConfig(max_failures=0),
            ),
        )
        with ExitStack() as parts:
            parts.enter_context(tune_run(ActorLostError, ActorBusyError))
            if self._share and is_known_release():
                parts.enter_context(room_for_others(searcher.keeps, searcher.num_to_take_back))
            tuner.fit()
        searcher.report_ended(is_over=True)


def train_job(config: dict[str, Any]) -> None:
    """Do a job: the function that Tune runs in its worker processes."""
    job = Job.model_validate_json(config["job"])
    threads = job.trials[0].spec.threads if job.trials else job.share.cpus
    prepare_environment(threads)
    os.environ["TUNE_FUNCTION_THREAD_TIMEOUT_S"] = str(_LEAVE_SECONDS)  # read by this process
    # Tune has changed to a folder of the trial's own, and paths in the sweep's file are of another
    os.environ[LAUNCH_FOLDER] = os.environ.get("TUNE_ORIG_WORKING_DIR", "")
    die_with_parent(os.getppid())  # Ray itself ends one whose parent is gone already
    keep_freed_memory()
    if card := job.share.card:
        use_card(card.visible_as, card.label, card.memory_fraction)
    load_libraries()
    import torch

    torch.set_num_threads(threads)

    def report(results: Sequence[EpochMetrics]) -> None:
        events = [EpochEnded(trial_key=trial.spec.trial_key, result=result) for result in results]
        # a number for Tune's searcher, and the events
        tune.report({"epoch": results[-1].epoch, "events": EPOCHS.dump_json(events).decode()})

    try:
        for trial in job.trials:
            train_and_evaluate(trial, report)
        for evaluation in job.evaluations:
            run_evaluations(evaluation)
    finally:
        release_card()


def resources_of(config: dict[str, Any]) -> Any:
    """Return what a job gets; jobs of equal shares may use each other's processes."""
    share = Job.model_validate_json(config["job"]).share
    if share.card:  # Ray sees no GPU in it, but that jobs of other cards are not alike
        number = _TINIEST * (1 + share.card.number)
        return tune.PlacementGroupFactory([{"CPU": share.cpus, _EVERY_RAY_HAS: number}])
    return tune.PlacementGroupFactory([{"CPU": share.cpus, "GPU": share.gpus}])


def _trial_name(trial: Any) -> str:
    """Name Tune's trial, and its scratch folder, after the cell and the attempt."""
    return f"{trial.config['trial_key']}-{trial.trial_id}"


class JobSearcher(Searcher):
    """Gives jobs to Tune and reports the trials that ended.

    Args:
        jobs: Gives the jobs.
        events: Takes what happens to trials.
        num_concurrent: Largest number of jobs at once where nothing divides a cluster.
        share: The launch's share of a joined cluster.
    """

    def __init__(
        self,
        jobs: Jobs,
        events: Events,
        num_concurrent: int = 1,
        share: ClusterShare | None = None,
    ) -> None:
        super().__init__(metric="epoch", mode="max")
        self._jobs = jobs
        self._events = events
        self._num_concurrent = num_concurrent
        self._share = share
        self._slot: Share | None = None  # of the last job
        self._wants_more = True
        self._running: dict[str, tuple[str, ...]] = {}  # also those that wait for a process
        self._started = set[str]()  # of them, those that have one
        self._ended: dict[str, float] = {}  # of them, when those ended that are yet to be reported
        self._taken_back = set[str]()  # of those, the ones that never had a process
        self._faults: dict[str, Fault] = {}
        self._addresses: dict[str, str] = {}  # of the machine of each job
        self._broken: list[tuple[float, str]] = []  # when a process broke off, and on which machine

    def suggest(self, trial_id: str) -> Any:
        """Return a job, None to be asked again later, or Tune's constant for the end."""
        self.report_ended()
        self._record_dispatched()
        self._report_lost_machines()
        if self._share and self._num_dispatched >= self._num_allowed(self._share):
            return None
        job = self._jobs.next()
        self._wants_more = isinstance(job, Job)
        if isinstance(job, Job):
            self._running[trial_id] = job.trial_keys
            self._slot = job.share
        self._record_dispatched()
        if job is Next.DONE:
            return Searcher.FINISHED
        if job is Next.WAIT:
            return None
        return {"trial_key": job.trial_keys[0], "job": job.model_dump_json()}

    def on_trial_complete(
        self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
    ) -> None:
        """Record that a job has ended, in whatever way.

        It is reported when Tune asks for the next job, as Tune gives the reason of an error later.
        """
        del result
        if trial_id in self._running:
            self._ended[trial_id] = time.monotonic()
            if not error and trial_id not in self._started:
                self._taken_back.add(trial_id)
            self._record_dispatched()

    def report_started(self, trial_id: str) -> None:
        """Report that a process has begun with a job."""
        self._started.add(trial_id)
        self._record_dispatched()
        for key in self._running[trial_id]:
            self._events.tell(TrialStarted(trial_key=key))

    def record_fault(self, trial_id: str, fault: Fault) -> None:
        """Record how the process of a job ended."""
        self._faults[trial_id] = fault
        address = fault.machine or self._addresses.get(trial_id)
        if self._share and address:
            self._broken.append((time.monotonic(), address))

    @property
    def has_cluster(self) -> bool:
        """Whether jobs may run on other machines."""
        return self._share is not None

    def record_address(self, trial_id: str, address: str) -> None:
        """Record on which machine a job runs."""
        self._addresses[trial_id] = address

    def report_ended(self, *, is_over: bool = False) -> None:
        """Report the trials that have ended.

        One that was killed may have to wait for what its machine does next.

        Args:
            is_over: Whether nobody asks again, so that none waits.
        """
        for trial_id in [*self._ended]:
            if is_over or not self._may_be_lost(trial_id):
                self._report_end(trial_id)

    def _may_be_lost(self, trial_id: str) -> bool:
        """Return whether the machine of a killed trial may still prove to be gone; record it if so.

        A machine that goes ends its processes one by one, and Ray counts it as there for longer.
        """
        address = self._addresses.get(trial_id)
        if not self._share or not address or self._faults.get(trial_id) != _NO_FAULT:
            return False
        if is_gone(address):
            self._faults[trial_id] = Fault(Failure.LOST, _NO_MACHINE, address)
            return False
        return time.monotonic() < self._ended[trial_id] + _GOING_SECONDS

    def _report_end(self, trial_id: str) -> None:
        del self._ended[trial_id]
        self._addresses.pop(trial_id, None)
        failure, reason, _ = self._faults.pop(trial_id, _NO_FAULT)
        is_taken_back = trial_id in self._taken_back
        self._started.discard(trial_id)
        self._taken_back.discard(trial_id)
        for key in self._running.pop(trial_id):
            ended = TrialEnded(
                trial_key=key, failure=failure, reason=reason, is_taken_back=is_taken_back
            )
            self._events.tell(ended)

    def keeps(self) -> bool:
        """Return whether a process without a job is kept for the next one."""
        if self._share is None:
            return True
        is_for_next = self._wants_more or self._share.is_alone
        return is_for_next and self._num_dispatched < self._num_allowed(self._share)

    def num_to_take_back(self) -> int:
        """Return how many jobs are dispatched beyond what is allowed and have no process."""
        if self._share is None:
            return 0
        return self._num_dispatched - max(self._num_started, self._num_allowed(self._share))

    @property
    def _num_dispatched(self) -> int:
        return len(self._running) - len(self._ended)

    @property
    def _num_started(self) -> int:
        return len(self._started.difference(self._ended))

    def _num_allowed(self, share: ClusterShare) -> int:
        allowed = share.num_jobs(without=self._num_concurrent)
        # a Tune whose parts are not known keeps the room of one process, whatever is allowed
        return allowed if is_known_release() else max(1, allowed)

    def _record_dispatched(self) -> None:
        """Record for the share what is dispatched."""
        if self._share and self._slot:
            num_pending = self._num_dispatched - self._num_started
            self._share.dispatched = Dispatched(
                self._slot, self._num_started, num_pending, self._wants_more
            )

    def _report_lost_machines(self) -> None:
        """Report which machines are gone, and how many trials broke off on each.

        Ray often reports the trials as killed, and finds only later that the machine is gone.
        """
        share = self._share
        if share is None:
            return
        for machine in share.take_gone():
            since = time.monotonic() - _LOST_SECONDS
            num = sum(at >= since and where == machine.address for at, where in self._broken)
            trials = "its trial resumes" if num == 1 else f"its {num} trials resume"
            follows = f", {trials} elsewhere" if num else ""
            share.notify(f"machine {machine.name} is gone{follows}.")

    def save(self, checkpoint_path: str) -> None:
        """Write an empty file, which Tune wants: folders and log are the truth."""
        Path(checkpoint_path).write_text("{}")

    def restore(self, checkpoint_path: str) -> None:
        """Restore nothing."""

    def __getstate__(self) -> dict[str, Any]:
        return {"_metric": "epoch", "_mode": "max"}

    def __deepcopy__(self, memo: dict[int, Any]) -> "JobSearcher":
        return self


class StopScheduler(FIFOScheduler):
    """Passes on epochs and stops trials where the answer says so."""

    def __init__(self, events: Events) -> None:
        super().__init__()
        self._events = events

    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        """Report epochs; stop the trial if any answer says so."""
        if "events" not in result:  # a trial whose cell is filled reports nothing
            return TrialScheduler.CONTINUE
        is_stopped = False
        for event in EPOCHS.validate_json(result["events"]):
            is_stopped |= self._events.tell(event) is not None
        if not is_stopped:
            return TrialScheduler.CONTINUE
        # Tune may keep its process for the next job, however late that comes
        leave_cell(trial)
        return TrialScheduler.STOP

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def __deepcopy__(self, memo: dict[int, Any]) -> "StopScheduler":
        return self


class TrialCallback(tune.Callback):
    """Reports what only Tune knows: when a process begins, and what it raised before its lease."""

    def __init__(self, searcher: JobSearcher) -> None:
        self._searcher = searcher

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Report that a process has begun with a job, be it a new process or one used before."""
        self._searcher.report_started(trial.trial_id)
        if self._searcher.has_cluster:
            with suppress(RayError):  # it may be gone already
                self._searcher.record_address(trial.trial_id, trial.get_ray_actor_ip() or "")

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """Record why the process of a job ended; nothing is known of a killed one."""
        self._searcher.record_fault(trial.trial_id, _fault(trial))

    def __getstate__(self) -> dict[str, Any]:
        return {}


class ActorLostError(RayActorError):
    """An actor that Ray ended, for which it gives an error of another class.

    Attributes:
        cause: That error.
    """

    def __init__(self, cause: Exception) -> None:
        super().__init__(error_msg=str(cause))
        self.cause = cause

    def __reduce__(self) -> Any:
        return type(self), (self.cause,)


class ActorBusyError(RayActorError):
    """An actor that the previous trial did not leave in time."""


def _fault(trial: Any) -> Fault:
    """Return how a process ended; no fault if it was killed or its cell was locked."""
    if trial.pickled_error_file is None:
        return _NO_FAULT
    error = cloudpickle.loads(Path(trial.pickled_error_file).read_bytes())
    if isinstance(error, RayTaskError) and not isinstance(error.cause, CellBusyError):
        return Fault(Failure.RAISED, reason_of(error.cause))
    if isinstance(error, ActorLostError) and isinstance(error.cause, OutOfMemoryError):
        return Fault(Failure.OUT_OF_MEMORY, "its machine had no memory left")
    if isinstance(error, ActorBusyError):
        return Fault(Failure.LOST, "its process was not free in time")
    if isinstance(error, RayActorError):
        return _actor_fault(error)
    return _NO_FAULT


def _actor_fault(error: RayActorError) -> Fault:
    lines = str(error).strip().splitlines()
    if error.actor_init_failed:
        return Fault(Failure.RAISED, lines[-1])
    if error.preempted or _NODE_DIED in str(error):
        address = _ADDRESS.search(str(error))
        return Fault(Failure.LOST, _NO_MACHINE, address[1] if address else "")
    return _NO_FAULT


_ANY_NUMBER = 100_000
_EVERY_RAY_HAS = "node:__internal_head__"  # one of it, and no use
_TINIEST = 0.0001  # that Ray counts of a resource
_LOST_SECONDS = 120.0  # within which Ray finds that a machine is gone
_GOING_SECONDS = 5.0  # that a machine takes from the end of a trial to that of Ray's own process
_LEAVE_SECONDS = 60  # that a stopped trial may take to leave its process to another
