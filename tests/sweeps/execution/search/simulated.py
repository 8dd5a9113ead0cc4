"""Launches of a search without Ray: one trial at a time, each training a line of arithmetic.

All that a real launch keeps is kept: log, cells' folders, the store's log. The rest is memory, and
dropped with a launch that is killed.
"""

import json
import math
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from capsmodel.metrics import EpochMetrics
from search_spaces.looks import Look, Looked
from search_spaces.plans.decisions import Continue, Decision, Stop
from sweeps.execution.cells.folder import CellFolder, reason_of
from sweeps.execution.engine.cell_queue import CellQueue
from sweeps.execution.engine.cell_source import ListedCells
from sweeps.execution.engine.engine import EpochEnded, Event, Job, Next, TrialEnded
from sweeps.execution.engine.engine import Stop as StopMessage
from sweeps.execution.engine.placement import Machine
from sweeps.execution.plan.definition import SweepDefinition
from sweeps.execution.plan.growing_definition import GrowingDefinition, resumed
from sweeps.execution.plan.plan_runner import Looker, PlanRunner, Specs, TrialFacts
from sweeps.execution.search.beyond_log import with_lost_decisions
from sweeps.execution.search.decider import decider_of
from sweeps.execution.search.observation import Observation
from sweeps.execution.search.search_known import SearchKnown
from sweeps.execution.survey.surveyed_cells import surveyed
from sweeps.execution.sweep_log import EarlierLog, SweepLog, stored_entries
from sweeps.execution.view.board import Board
from sweeps.execution.worker.trial import TrialJob
from sweeps.records.cell_contents import OutboxLine, TrialSpec
from sweeps.records.manifest import Manifest, ManifestCell
from sweeps.records.manifest_plan import Plain
from sweeps.records.sweep_log import Decided, Entry, decisions_under, entries_of, manifest_of
from sweeps.records.trial_record import Outcome, TrialRecord
from tests.sweeps.execution.engine.simulated_engine import SimulatedEngine, Training
from tests.sweeps.execution.examples import final

Score = Callable[[TrialSpec, int], float]
"""The validation error of a trial after an epoch; may raise instead."""

Seconds = Callable[[TrialSpec], float]
"""The seconds of an epoch of a trial."""


class Killed(BaseException):
    """Stands in for SIGKILL of the driver and all its processes."""


class WorkerKilled(BaseException):
    """Stands in for SIGKILL of the process that trains."""


def no_step() -> None:
    """Where a launch may be killed, and is not."""


def unkilled(trial_key: str) -> None:
    """Where a trial's process may be killed, and is not."""


def no_seconds(spec: TrialSpec) -> float:
    """Return that no time passes."""
    return 0.0


@dataclass(frozen=True)
class World:
    """What outlives a launch.

    Attributes:
        has_store: Whether logs reach the tracking store.
    """

    root: Path
    has_store: bool = True

    @property
    def cells(self) -> Path:
        """Folder of the cells' folders."""
        return self.root / "cells"

    @property
    def journals(self) -> Path:
        """Folder of the journals."""
        return self.root / "journals"

    def copy(self, root: Path) -> "World":
        """Return a copy of it as it is now."""
        shutil.copytree(self.root, root)
        return World(root, self.has_store)

    def publish(self, log: SweepLog, sweep: str = "example") -> None:
        """Copy a log to the tracking store."""
        if self.has_store:
            self.root.mkdir(exist_ok=True)
            self._store(sweep).write_bytes(log.shared())

    def stored(self, sweep: str = "example") -> list[Entry]:
        """Return the log in the tracking store."""
        path = self._store(sweep)
        return entries_of(path.read_bytes()) if self.has_store and path.exists() else []

    def current(self, sweep: str = "example") -> Manifest | None:
        """Return the manifest in the tracking store."""
        return manifest_of(self.stored(sweep))

    def earlier(self, sweep: str = "example") -> EarlierLog:
        """Return what earlier launches have left."""
        return EarlierLog(stored_entries(self.journals, sweep), self.stored(sweep))

    def resumed(self, definition: SweepDefinition) -> SweepDefinition:
        """Return a definition with what earlier launches have decided."""
        earlier = self.earlier(definition.manifest.sweep)
        known = {entry.subject for entry in definition.decisions}
        decisions = earlier.decisions(definition.decided_by)
        resumed_so_far = resumed(
            definition, [decision for decision in decisions if decision.subject not in known]
        )
        return with_lost_decisions(resumed_so_far, earlier, self.cells)

    def decisions(self, definition: SweepDefinition) -> list[Decision]:
        """Return what the log in the storage folder says that a definition's plan has decided."""
        entries = stored_entries(self.journals, definition.manifest.sweep)
        return [entry.decision for entry in decisions_under(definition.decided_by, entries)]

    def folder(self, trial_key: str) -> CellFolder:
        """Return a cell's folder."""
        return CellFolder(self.cells, trial_key)

    def epochs_trained(self) -> Counter[tuple[str, int]]:
        """Return how often each epoch of each trial was trained."""
        path = self.root / "trained"
        rows = path.read_text().splitlines() if path.exists() else []
        return Counter((row.split()[0], int(row.split()[1])) for row in rows)

    def _store(self, sweep: str) -> Path:
        return self.root / f"{sweep}.jsonl"


@dataclass(frozen=True)
class Verdict:
    """What a scheduler decided about a trial at a rung."""

    trial_key: str
    epoch: int
    is_stop: bool


def verdicts_of(decisions: Iterable[Decision]) -> list[Verdict]:
    """Return the verdicts among decisions, in order."""
    return [
        Verdict(decision.trial_key, decision.epoch, isinstance(decision, Stop))
        for decision in decisions
        if isinstance(decision, Stop | Continue)
    ]


def no_look(look: Look, manifest: Manifest) -> Looked:
    """Fail, as no plan of looks is launched."""
    raise AssertionError(f"nobody looks: {look} of {manifest.sweep}")


class Launch:
    """One launch over a world, from what earlier ones left there.

    Args:
        world: Where it happens.
        definition: As declared.
        score: What a training comes to.
        step: Called wherever the launch may be killed.
        trainer_step: Called with a trial's key wherever its process may be killed alone.
        record_of: What the tracking store knows of a trial.
        look: Takes the verdicts of a look.
        seconds: How long a trial takes.
    """

    def __init__(
        self,
        world: World,
        definition: SweepDefinition,
        score: Score,
        *,
        step: Callable[[], None] = no_step,
        trainer_step: Callable[[str], None] = unkilled,
        record_of: Callable[[str], TrialRecord | None] = lambda key: None,
        look: Looker = no_look,
        seconds: Seconds = no_seconds,
    ) -> None:
        self._world = world
        self._step = step
        self._train = Trainer(world, score, lambda key: (step(), trainer_step(key)), seconds)
        self.started: list[str] = []
        grown = world.resumed(definition)
        assert grown.decided_by
        self.log = _SteppedLog(world.journals, grown.manifest.sweep, step)
        self.log.declare(grown.declared, grown.decisions)
        world.publish(self.log, grown.manifest.sweep)
        cells = list(surveyed(grown.manifest.cells, {}, {}))
        self.board = Board(cells, dict(grown.epochs), self.log)
        self.growing = GrowingDefinition(grown)
        facts = TrialFacts(world.cells, record_of)
        decider = decider_of(grown.sweep, grown.lost)
        self.plan = PlanRunner(
            self.growing,
            decider,
            self.log,
            self._order,
            facts=facts,
            listener=self,
            look=look,
        )
        self.queue = CellQueue(self.plan, self.board)

    @property
    def manifest(self) -> Manifest:
        """As it is now."""
        return self.definition.manifest

    @property
    def definition(self) -> SweepDefinition:
        """As it is now."""
        return self.growing.snapshot()

    def observations(self) -> list[Observation]:
        """Return how each proposal went so far."""
        assert isinstance(self.plan.known, SearchKnown)
        return list(self.plan.known.observations)

    def states(self) -> list[str]:
        """Return the state of each proposal so far."""
        return [observation.state for observation in self.observations()]

    def verdicts(self) -> list[Verdict]:
        """Return the decisions of the scheduler, in order."""
        return verdicts_of(self.decisions())

    def decisions(self) -> list[Decision]:
        """Return the decisions in its log, in order."""
        return self._world.decisions(self.definition)

    def run(self, num_concurrent: int = 1) -> "Launch":
        """Train until nothing is left, so many at once by turns of an epoch."""
        self.log.start_launch(0)
        exit_code = None
        try:
            machines = (Machine(cpus=num_concurrent),)
            SimulatedEngine(self._train, machines).run(self, self, num_concurrent)
            exit_code = 0
        except KeyboardInterrupt:
            exit_code = 130
        finally:
            if exit_code is not None:
                self.log.end_launch(exit_code)
        return self

    def next(self) -> Job | Next:
        """Hand out a job, and note it."""
        job = self.queue.next()
        if isinstance(job, Job):
            self.started.extend(job.trial_keys)
            self._step()
        return job

    def tell(self, event: Event) -> StopMessage | None:
        """Pass on what happened."""
        answer = self.queue.tell(event)
        if isinstance(event, TrialEnded):
            self._step()
        return answer

    def grown(self, entry: Decided) -> None:
        """Hear of a decision: the plan's listener."""
        self.board.add(surveyed(entry.cells, {}, {}), self.growing.epochs)
        if isinstance(entry.decision, Stop):
            self.board.pruned(entry.decision.trial_key)
        self._step()
        self._world.publish(self.log, self.manifest.sweep)
        self._step()

    def proposals(self) -> list[dict[str, Plain]]:
        """Return the settings of the proposals."""
        assert self.manifest.search
        return [proposal.params for proposal in self.manifest.search.proposals]

    def _order(self, definition: Specs, cell: ManifestCell) -> TrialJob:
        return TrialJob(cells=str(self._world.cells), spec=definition.spec(cell))


class Trainer:
    """Trains in the order in which a real trial writes: checkpoint, outbox, report, final."""

    def __init__(
        self,
        world: World,
        score: Score,
        step: Callable[[str], object],
        seconds: Seconds = no_seconds,
    ) -> None:
        self._world = world
        self._score = score
        self._step = step
        self._seconds = seconds

    def __call__(self, job: TrialJob) -> Training:
        """Train until the trial ends in any way."""
        folder = self._world.folder(job.spec.trial_key)
        with suppress(WorkerKilled), folder.lease(0) as fence:
            try:
                yield from self._attempt(folder, job.spec, fence)
            except ValueError as error:
                folder.append_failure(job.spec, fence, reason_of(error))

    def _attempt(self, folder: CellFolder, spec: TrialSpec, fence: int) -> Training:
        last_reported = folder.epochs_done()
        folder.append(OutboxLine(type="start", time=1, fence=fence, head=spec))
        self._step(spec.trial_key)
        curve = _checkpointed(folder)
        for line in self._epochs(folder, spec, curve):
            if line.epoch > last_reported:
                time = 1000 + line.epoch
                folder.append(OutboxLine(type="epoch", time=time, fence=fence, epoch=line))
                self._step(spec.trial_key)
                is_stopped = yield EpochEnded(trial_key=spec.trial_key, result=line)
                self._step(spec.trial_key)
                if is_stopped:
                    yield None
        outcome = Outcome.DIVERGED if _has_diverged(curve) else Outcome.FINISHED
        record = final(
            0,
            head=spec,
            curve=tuple(curve),
            outcome=outcome,
            fence=fence,
            duration_seconds=math.fsum(line.duration_seconds for line in curve),
        )
        folder.write_final(record)
        self._step(spec.trial_key)

    def _epochs(
        self, folder: CellFolder, spec: TrialSpec, curve: list[EpochMetrics]
    ) -> Iterator[EpochMetrics]:
        """Yield the epochs of the checkpoint, then new ones until the training ends."""
        yield from list(curve)
        while len(curve) < _num_epochs(spec) and not _is_over(curve):
            curve.append(self._trained(spec, len(curve) + 1))
            with (self._world.root / "trained").open("a") as file:
                file.write(f"{spec.trial_key} {len(curve)}\n")
            folder.checkpoint.write_text(json.dumps(list(map(asdict, curve))))
            self._step(spec.trial_key)
            yield curve[-1]

    def _trained(self, spec: TrialSpec, epoch: int) -> EpochMetrics:
        loss = self._score(spec, epoch)
        error = 0.9 if math.isnan(loss) else loss
        return EpochMetrics(
            epoch=epoch,
            train_loss=loss,
            validation_loss=loss,
            validation_error=error,
            duration_seconds=self._seconds(spec),
            reaches_target=error <= spec.config["stopping"].get("at_or_below", -1),
        )


def train_elsewhere(world: World, job: TrialJob, score: Score) -> CellQueue:
    """Train a cell to its end as a design does, which stops nothing."""
    log = SweepLog(world.journals, "elsewhere")
    cell = ManifestCell(arm=job.spec.arm, seed=job.spec.seed, trial_key=job.spec.trial_key)
    board = Board(list(surveyed([cell], {}, {})), {cell.arm: 3}, log)
    queue = CellQueue(ListedCells([job]), board)
    SimulatedEngine(Trainer(world, score, unkilled)).run(queue, queue, num_concurrent=1)
    return queue


class _SteppedLog(SweepLog):
    """A log around whose every line the driver may be killed."""

    def __init__(self, journals: Path, sweep: str, step: Callable[[], None]) -> None:
        super().__init__(journals, sweep)
        self._step = step

    def append(self, entry: Decided) -> None:
        self._step()
        super().append(entry)
        self._step()


def _checkpointed(folder: CellFolder) -> list[EpochMetrics]:
    if not folder.checkpoint.exists():
        return []
    known: list[Any] = json.loads(folder.checkpoint.read_text())
    return [EpochMetrics(**fields) for fields in known]


def _num_epochs(spec: TrialSpec) -> int:
    stopping = spec.config["stopping"]
    return stopping.get("max_epochs") or stopping["epochs"]


def _is_over(curve: list[EpochMetrics]) -> bool:
    return bool(curve) and (_has_diverged(curve) or curve[-1].reaches_target)


def _has_diverged(curve: list[EpochMetrics]) -> bool:
    return bool(curve) and not math.isfinite(curve[-1].train_loss)
