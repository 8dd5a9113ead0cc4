"""The stage that trains the empty cells, while the recorder copies their results to MLflow."""

import logging
import sqlite3
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from search_spaces.evaluation_key import evaluation_key
from search_spaces.user_code import line_in_sweep_file
from sweeps.aggregation.rendering.libraries import load_libraries
from sweeps.execution.cells.evaluations import CellEvaluations
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.engine.capacity import Room
from sweeps.execution.engine.cell_queue import CellQueue, EpochBudget
from sweeps.execution.engine.cell_source import CellSource, ListedCells
from sweeps.execution.engine.engine import (
    CannotGoOn,
    ConcurrencyLimit,
    Engine,
    EngineSetting,
    Event,
    Job,
    Next,
    Stop,
    TrialEnded,
)
from sweeps.execution.engine.engines import ENGINES
from sweeps.execution.engine.limited_jobs import LimitedJobs
from sweeps.execution.engine.policies import Policies
from sweeps.execution.interruption import Interrupted, clear_time_limit, set_time_limit
from sweeps.execution.launch.evaluating.evaluation_queue import EvaluationQueue, TrialToEvaluate
from sweeps.execution.launch.evaluating.stage import trials_to_evaluate
from sweeps.execution.launch.flush_records import queue_evaluations, record_rest, start_recorder
from sweeps.execution.launch.growing_launch import GrowingLaunch
from sweeps.execution.launch.look_taker import LookTaker
from sweeps.execution.launch.opened_records import open_records, settled_records
from sweeps.execution.launch.progress import Progress
from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.launch_process.concurrency import requested_concurrency, withdraw_request
from sweeps.execution.periodic import every
from sweeps.execution.plan.plan_runner import PlanRunner, Specs, TrialFacts
from sweeps.execution.recorder.client import RecorderClient
from sweeps.execution.search.decider import decider_of
from sweeps.execution.survey.survey import Survey
from sweeps.execution.survey.surveyed_cells import epochs_taken_over
from sweeps.execution.survey.surveyed_evaluations import EvaluationState
from sweeps.execution.sweep_log import SweepLog
from sweeps.execution.view.board import Board, empty_cells
from sweeps.execution.view.disk_watch import DiskWatch
from sweeps.execution.view.evaluation_watch import EvaluationWatch, evaluation_seconds
from sweeps.execution.view.live_view import output_to_log, show_lines
from sweeps.execution.view.notebook_view import show_progress
from sweeps.execution.view.stall_watch import StallWatch
from sweeps.execution.worker.provenance import git_revision, package_versions
from sweeps.execution.worker.trial import TrialJob
from sweeps.records.manifest import ManifestCell
from sweeps.storage.locations import Storage
from sweeps.tracking.opening import load_writer

if TYPE_CHECKING:
    from capsmodel.evaluation import Evaluation

_LOG = logging.getLogger(__name__)
_WATCH_SECONDS = 5.0


class TrainThenEvaluate:
    """The jobs of a launch: trainings first, and then the evaluations that are missing.

    A training's process makes its evaluations too. Missing are those of trials that were trained
    before, those whose process was killed, and those that failed there.

    Args:
        training: Gives the trainings, and takes their events.
        evaluations: The same of evaluations; none are made where a budget left cells empty.
        num_left: Returns how many cells are empty.
        evaluated: Called with the key of each trial that has got evaluations.
        is_trained: Whether no training is to be done.
        is_look_due: Whether trainings follow once evaluations are made: a plan of looks
            may judge them, and a search may limit their figures.
    """

    def __init__(
        self,
        training: EpochBudget,
        evaluations: EvaluationQueue,
        num_left: Callable[[], int],
        evaluated: Callable[[str], None] = lambda _: None,
        *,
        is_trained: bool = False,
        is_look_due: Callable[[], bool] = lambda: False,
    ) -> None:
        self.training = training
        self.evaluations = evaluations
        self._num_left = num_left
        self._evaluated = evaluated
        self._is_trained = is_trained
        self.is_look_due = is_look_due
        self._num_awaited = 0
        self._running: dict[str, tuple[TrialJob, int]] = {}  # and how many evaluations it had

    def next(self) -> Job | Next:
        """Return the next job; an evaluation once every training has ended."""
        if not self._is_trained and (answer := self.training.next()) is not Next.DONE:
            for trial in answer.trials if isinstance(answer, Job) else ():
                self._running[trial.spec.trial_key] = trial, _num_evaluations(trial)
            return answer
        if self.training.is_spent and self._num_left():
            return Next.DONE
        self._is_trained = True
        answer = self.evaluations.next()
        is_new = self.evaluations.num_made > self._num_awaited
        if answer is not Next.DONE or not is_new or not self.is_look_due():
            return answer
        self._is_trained, self._num_awaited = False, self.evaluations.num_made
        self.evaluations.find_again()
        return self.next()

    def tell(self, event: Event) -> Stop | None:
        """Pass an event on; count the evaluations that a training's process has made."""
        num_before = self.evaluations.num_made
        if self._is_trained:
            answer = self.evaluations.tell(event)
        else:
            answer = self.training.tell(event)
            if isinstance(event, TrialEnded):
                trial, num_evaluations = self._running.pop(event.trial_key)
                self.evaluations.num_made += _num_evaluations(trial) - num_evaluations
        if self.evaluations.num_made > num_before:
            self._evaluated(event.trial_key)
        return answer


def _num_evaluations(trial: TrialJob) -> int:
    if not trial.evaluations:
        return 0
    return len(CellEvaluations(Path(trial.cells) / trial.spec.trial_key).keys())


class StartedEngine(NamedTuple):
    """A running engine.

    Attributes:
        room: On its machines.
        num_fitting: Jobs that fit there at once.
        limit: Jobs that may run at once.
    """

    engine: Engine
    room: Room
    num_fitting: int
    limit: ConcurrencyLimit


class ConcurrencyWatch:
    """Sets a launch's limit of trials at once to what it is asked for from another shell.

    Args:
        survey: Of the launch.
        started: Its engine, with the limit.
        board: Is told of a change.
    """

    def __init__(self, survey: Survey, started: StartedEngine, board: Board) -> None:
        self._journals = survey.storage.journals
        self._sweep = survey.name
        self._started = started
        self._board = board

    def look(self) -> None:
        """Look for a request now."""
        request = requested_concurrency(self._journals, self._sweep)
        limit, num_fitting = self._started.limit, self._started.num_fitting
        if request is None or request.max_concurrent == limit.most:
            return
        limit.most = request.max_concurrent
        self._board.num_concurrent = min(limit.most or num_fitting, num_fitting)
        trials = "as many as fit" if limit.most is None else f"{limit.most:,} at most"
        self._board.say(f"trials at once from now on, as asked: {trials}")


def train(
    jobs: TrainThenEvaluate,
    started: StartedEngine,
    board: Board,
    recorder: RecorderClient,
    *,
    progress: Progress,
    options: LaunchOptions,
) -> None:
    """Train every empty cell, then make the evaluations that are missing.

    Args:
        jobs: Gives both, and takes their events.
        started: Does them, so many at once.
        board: Shows an interruption.
        recorder: Its process is restarted if it dies.
        progress: Gets the reason if training ends early.
        options: They hold the time limit.

    Raises:
        KeyboardInterrupt: If it is interrupted, its time is up, or its budget is spent before all
            cells are filled.
    """
    budget = jobs.training
    if options.time_limit_seconds:
        set_time_limit(options.time_limit_seconds)
    try:
        keys = _keys_with_training(progress.survey)
        evaluations = EvaluationWatch(progress.survey.storage, board, keys)
        stalls = StallWatch(progress.survey.storage, board)
        concurrency = ConcurrencyWatch(progress.survey, started, board)
        looks = (evaluations.look, stalls.look, concurrency.look, lambda: load_for_report(board))
        limited = LimitedJobs(jobs, started.limit)
        with watching(recorder.keep_alive, *looks):
            started.engine.run(limited, limited, started.num_fitting)
    except CannotGoOn as error:
        progress.stop_reason = str(error)
        return
    except KeyboardInterrupt as error:
        board.is_stopping = True
        if line := line_in_sweep_file(error):  # of a trial in this process, or of a plan
            board.say(f"interrupted at {line}")
        raise
    finally:
        clear_time_limit()
        withdraw_request(progress.survey.storage.journals, progress.survey.name)
    if jobs.is_look_due():
        waiting = "search" if progress.definition.manifest.search else "next look"
        progress.stop_reason = f"The {waiting} waits for evaluations that could not be made."
    if budget.is_spent and progress.num_left:
        progress.stop_reason = budget.sentence
        raise Interrupted


def _keys_with_training(survey: Survey) -> set[str]:
    """Return the keys of the evaluations that the process of a training makes."""
    evaluations = survey.definition.sweep.evaluations
    return {evaluation_key(evaluation) for evaluation in evaluations if not evaluation.other_trials}


def load_for_report(board: Board) -> None:
    """Import the libraries of the report once a trial has ended; before, processes start up.

    If an import fails, the report raises the error.
    """
    if board.num_done:
        with suppress(ImportError):
            load_libraries()


def watching(*checks: Callable[[], None]) -> AbstractContextManager[None]:
    """Call some checks every few seconds while the block runs.

    A check that fails, as a network disk does at times, is logged and retried.
    """

    def check_all() -> None:
        for check in checks:
            try:
                check()
            except OSError as error:
                _LOG.warning("will retry: %s", error)

    return every(_WATCH_SECONDS, check_all)


class TrialJobs:
    """Makes the jobs of one launch.

    Args:
        storage: The storage with the cells' folders.
        options: The options of the launch.
        folder: The folder of the sweep's code.
        room: Says which share of a machine each trial gets.
        evaluations: Of the sweep. Those that need other trials are made after all trainings.
    """

    def __init__(
        self,
        storage: Storage,
        options: LaunchOptions,
        folder: Path,
        room: Room | None = None,
        *,
        evaluations: Iterable["Evaluation"] = (),
    ) -> None:
        self._cells = str(storage.cells)
        self._states = str(storage.states)
        self._options = options
        self._folder = folder
        self._room = room or Room(options.resources)
        self._evaluations = tuple(
            evaluation.model_dump(mode="json")
            for evaluation in evaluations
            if not evaluation.other_trials
        )

    def of(self, definition: Specs, cell: ManifestCell) -> TrialJob:
        """Return what a worker needs to train a cell."""
        spec = definition.spec(cell)
        share = self._room.share(spec.config)
        placement = {"device": share.device, "threads": share.cpus}
        spec = spec.model_copy(update=self._launch | placement)
        return TrialJob(
            cells=self._cells,
            spec=spec,
            evaluations=self._evaluations,
            states=self._states,
            takes_shorter=not self._options.retrain,
            most_state_bytes=self._options.most_state_bytes,
        )

    @cached_property
    def _launch(self) -> dict[str, Any]:
        """The part of the spec that all trials of the launch share."""
        return {
            "gradient_checkpointing": self._options.gradient_checkpointing,
            "git_revision": git_revision(self._folder),
            "versions": package_versions(),
        }


def cells_to_train(
    survey: Survey, options: LaunchOptions, log: SweepLog, growth: GrowingLaunch, *, room: Room
) -> CellSource:
    """Return the source of cells to train: a list, or a plan that adds cells as it runs.

    Args:
        survey: What the launch has to do.
        options: The options of the launch.
        log: The log for a plan's decisions.
        growth: Hears of what a plan adds.
        room: Says which share of a machine each trial gets.
    """
    definition, storage = survey.definition, survey.storage
    evaluations = definition.sweep.evaluations
    jobs = TrialJobs(storage, options, definition.folder, room, evaluations=evaluations)
    if definition.decided_by is None:
        return ListedCells(jobs.of(definition, empty.cell) for empty in empty_cells(survey.cells))
    facts = TrialFacts(storage.cells, survey.store.record)
    decider = decider_of(definition.sweep, definition.lost)
    look = LookTaker(storage.cells, survey.store).take
    return PlanRunner(
        growth.growing, decider, log, jobs.of, facts=facts, listener=growth, look=look
    )


def start_engine(
    running: ExitStack, survey: Survey, options: LaunchOptions, policies: Policies, *, board: Board
) -> StartedEngine:
    """Start the engine before anything is written: an unreachable cluster costs nothing then.

    Args:
        running: Ends what is started here when it is closed.
        survey: What the launch has to do.
        options: The options of the launch.
        policies: They say how many trials run at once, and hold an engine that was started early.
        board: Shown from now on.

    Raises:
        BadInput: If it cannot be started or joined, or no trial fits.
    """
    log = survey.storage.logs / f"{survey.name}.log"
    if options.trains_here:
        running.enter_context(show_lines(board, survey.name, sys.stdout))
    else:
        terminal = running.enter_context(output_to_log(log))
        running.enter_context(show_progress(board, survey.name, terminal))
        board.say_now("starting Ray")
    load_writer(survey.store)  # while Ray starts
    limit = ConcurrencyLimit(options.max_concurrent)
    empty, manifest = empty_cells(survey.cells), survey.definition.manifest
    arms = {cell.cell.arm for cell in empty}
    configs = [arm.config for arm in manifest.arms if arm.name in arms or not arms]
    num_ready = None
    if options.address is None:
        num_ready = policies.room(options.resources).capacity(configs).num_concurrent
        num_ready = num_ready if manifest.is_growing else min(num_ready, _num_jobs(survey, options))
    if engine := policies.begun:
        engine.adopt(log, board.say)
    else:
        make = policies.engine or ENGINES[options.engine]
        engine = make(
            EngineSetting(
                log,
                board.say,
                options.address,
                num_ready,
                limit=limit,
                share=options.share,
            )
        )
    running.enter_context(engine)
    board.say_now("")
    room = policies.room(options.resources, lambda: engine.machines)
    board.num_concurrent = room.capacity(configs).num_concurrent
    for card in room.packer.cards if room.packer else ():
        board.say(f"GPU {card.label}: {card.described()}")
    return StartedEngine(engine, room, room.num_fitting(configs), limit)


def _num_jobs(survey: Survey, options: LaunchOptions) -> int:
    """Return how many jobs there are from the beginning."""
    num_empty = 0 if options.evaluations_only else len(empty_cells(survey.cells))
    return num_empty or len(
        {
            evaluation.trial_key
            for evaluation in survey.evaluations
            if evaluation.state is EvaluationState.TO_MAKE
        }
    )


def fill_none(progress: Progress, options: LaunchOptions) -> None:
    """Open the records of a sweep whose cells are all filled and recorded.

    Raises:
        SweepError: If the store is not writable.
    """
    survey = progress.survey
    progress.log = SweepLog(survey.storage.journals, survey.name)
    settled = settled_records(survey, options, progress.log)
    progress.records = settled or open_records(survey, options, progress.log)


def _evaluations(
    progress: Progress, board: Board, room: Room, policies: Policies
) -> EvaluationQueue:
    def find() -> list[TrialToEvaluate]:
        trials = trials_to_evaluate(progress)
        if num := sum(len(trial.missing) for trial in trials):
            board.say(f"evaluations to make from kept weights: {num}")
        board.unevaluated = {
            trial.job.trial_key: {evaluation.evaluation_key for evaluation in trial.missing}
            for trial in trials
        }
        return trials

    return EvaluationQueue(
        find,
        room.share,
        packer=room.packer,
        failure_policy=policies.failure,
        say=board.say_now,
    )


def _jobs(
    queue: CellQueue,
    evaluations: EvaluationQueue,
    progress: Progress,
    options: LaunchOptions,
    *,
    board: Board,
    cells: CellSource,
) -> TrainThenEvaluate:
    return TrainThenEvaluate(
        EpochBudget(queue, options.budget_epochs, epochs_taken_over(progress.survey.cells)),
        evaluations,
        lambda: progress.num_left,
        partial(_note_evaluated, progress.survey, board),
        is_trained=options.evaluations_only,
        is_look_due=lambda: isinstance(cells, PlanRunner) and cells.is_look_due,
    )


def _note_evaluated(survey: Survey, board: Board, trial_key: str) -> None:
    """Have a trial's evaluations recorded now. What is not queued is found at the launch's end."""
    board.evaluated(trial_key, evaluation_seconds(CellFolder(survey.storage.cells, trial_key)))
    with suppress(sqlite3.Error, OSError):
        queue_evaluations(survey, [trial_key])


def _board(progress: Progress, log: SweepLog) -> Board:
    survey = progress.survey
    unevaluated: dict[str, set[str]] = {}
    for surveyed in survey.evaluations:
        if surveyed.state is EvaluationState.TO_MAKE:
            unevaluated.setdefault(surveyed.trial_key, set()).add(
                surveyed.evaluation.evaluation_key
            )
    return Board(
        list(survey.cells),
        dict(survey.definition.epochs),
        log,
        num_expected=progress.num_cells,
        mean_share=survey.mean_share,
        changes=survey.changes_by_arm,
        fresh_seeds=survey.fresh_seeds,
        evaluations=tuple(
            evaluation.evaluation_key for evaluation in survey.definition.manifest.evaluations
        ),
        unevaluated=unevaluated,
    )


def fill(progress: Progress, options: LaunchOptions, policies: Policies) -> EvaluationQueue | None:
    """Train the empty cells while the recorder copies their results to the tracking store.

    Evaluations that are missing then are made too.

    Args:
        progress: Gets log, records and growth, and in any case what was trained, what failed,
            and whether all is recorded.
        options: The options of the launch.
        policies: They place trials and handle their failures.

    Returns:
        The evaluations of this launch, None if nothing was to be trained or evaluated.

    Raises:
        SweepError: If the engine cannot be started, or the store is not writable.
        KeyboardInterrupt: If the launch is interrupted, after the recorder had a moment.
    """
    survey, evaluations = progress.survey, None
    log = progress.log = SweepLog(survey.storage.journals, survey.name)
    board = _board(progress, log)
    with ExitStack() as session:
        session.enter_context(watching(DiskWatch(survey.storage, board).look))  # logs wait for room
        running = session.enter_context(ExitStack())
        started, room = None, policies.room(options.resources)
        if survey.needs_engine_for(options):
            started = start_engine(running, survey, options, policies, board=board)
            room = started.room
        progress.records = open_records(survey, options, log)
        sweep_id = progress.records.sweep_id
        growth = progress.growth = GrowingLaunch(survey, board, sweep_id)
        recorder = start_recorder(survey, sweep_id)
        session.callback(recorder.stop)
        log.start_launch(len(empty_cells(survey.cells)))
        is_interrupted = True
        try:
            cells = cells_to_train(survey, options, log, growth, room=room)
            if started:
                queue = CellQueue(
                    cells,
                    board,
                    failure_policy=policies.failure,
                    share_of=room.share,
                    packer=room.packer,
                    oom_kills=room.oom_kills,
                    say=board.say,
                )
                evaluations = _evaluations(progress, board, room, policies)
                jobs = _jobs(queue, evaluations, progress, options, board=board, cells=cells)
                train(jobs, started, board, recorder, progress=progress, options=options)
            is_interrupted = False
        finally:
            running.close()
            progress.started_keys = board.started_keys
            progress.note_failures(board.failures)
            record_rest(progress, recorder, is_interrupted=is_interrupted)
    return evaluations
