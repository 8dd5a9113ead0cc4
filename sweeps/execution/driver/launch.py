"""A launch: fill in the empty cells of a sweep, record them, rebuild its table."""

from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from mlflow.exceptions import MlflowException

from search_spaces.sweep import Sweep
from sweeps.aggregation.report import Report, publish_report, write_report
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.cells.journal import Journal
from sweeps.execution.driver.board import Board, empty_cells
from sweeps.execution.driver.data_preparation import prepare_data
from sweeps.execution.driver.growing_launch import GrowingLaunch
from sweeps.execution.driver.interruption import (
    end_after,
    end_never,
    in_main_thread,
    interruptible,
    listen,
)
from sweeps.execution.driver.kept_weights import (
    WeightsDeleted,
    WeightsToKeep,
    keep_weights,
    weights_to_keep,
)
from sweeps.execution.driver.launch_guards import kept_alive, make_folders, only_driver
from sweeps.execution.driver.live_view import own_terminal, showing
from sweeps.execution.driver.options import LaunchOptions
from sweeps.execution.driver.replacement import put_aside
from sweeps.execution.driver.result import FailedTrial, SweepResult
from sweeps.execution.driver.survey import Plan, refuse_unwritable, survey
from sweeps.execution.driver.trial_orders import Orders
from sweeps.execution.engine.cell_queue import CellQueue, Listed
from sweeps.execution.engine.cell_queue import Plan as CellPlan
from sweeps.execution.engine.ray_session import ray_session
from sweeps.execution.engine.scheduling import (
    capacity_of,
    num_concurrent,
    run_cells,
)
from sweeps.execution.plan.definition import Definition
from sweeps.execution.plan.planner import refuse_to_drop
from sweeps.execution.recorder.client import RecorderClient
from sweeps.execution.recorder.manifest_file import hand_over
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.execution.search.account import SearchAccount
from sweeps.execution.search.definition_growth import num_expected
from sweeps.execution.search.restore import restored
from sweeps.execution.search.search_plan import SearchPlan
from sweeps.records.errors import BadInput, StoreUnreachable
from sweeps.tracking.connection import answering
from sweeps.tracking.store import RecordStore
from sweeps.tracking.sweep_run import open_tracking, publish_manifest, settle_parent
from sweeps.tracking.writer import Tracking

FINISH_SECONDS = 30.0
INTERRUPTED_FINISH_SECONDS = 3.0


def launch(which: str | Path | Sweep, options: LaunchOptions) -> SweepResult:
    """Run a sweep: train its empty cells, record everything, write its report.

    Raises:
        SweepError: Before anything is written, if it cannot be launched.
    """
    if options.time_limit_seconds and not in_main_thread():
        raise BadInput("A time limit needs Python's main thread: leave time_limit_seconds out.")
    refuse_unwritable(Path(options.reports), "report")
    plan = _survey(which, options)
    keep = weights_to_keep(options.keep_weights)
    if plan.has_work and options.address is None:
        capacity_of(options.resources)  # refuses trials that do not fit this machine
        prepare_data(plan.definition)
    make_folders(plan.storage)
    with only_driver(plan.name, plan.storage), interruptible():
        plan = _survey(which, options)  # again, now that no other driver changes it
        return _Launch(plan, options, keep).run()


def _survey(which: str | Path | Sweep, options: LaunchOptions) -> Plan:
    plan = survey(which, options)
    if not options.replace:
        refuse_to_drop(plan.current, plan.known.manifest, plan.lost)
    return plan


@dataclass
class _Launch:
    plan: Plan
    options: LaunchOptions
    keep: WeightsToKeep
    exit_code: int = 1  # until it is known how it ends
    is_recorded: bool = True
    complaint: str = ""
    num_trained: int = 0
    failures: tuple[FailedTrial, ...] = ()
    journal: Journal | None = None
    records: tuple[Tracking, str] | None = None
    report: Report | None = None
    weights: WeightsDeleted | None = None
    growth: GrowingLaunch | None = None

    def run(self) -> SweepResult:
        try:
            if self.plan.has_work or not all(cell.is_recorded for cell in self.plan.cells):
                self._fill()
            else:
                self._open_records()
            is_complete = self.is_recorded and self._num_filled() == self._num_cells()
            self.exit_code = 0 if is_complete else 3
            self._write_report()
            self._keep_weights()
        except KeyboardInterrupt:
            self.exit_code = 130
        finally:
            self._settle()
        return SweepResult(
            sweep=self.plan.name,
            num_cells=self._num_cells(),
            num_filled=self._num_filled(),
            num_trained=self.num_trained,
            exit_code=self.exit_code,
            is_recorded=self.is_recorded,
            complaint=self.complaint,
            failures=self.failures,
            report=self.report,
            weights=self.weights,
        )

    def _open_records(self) -> str:
        """Make the manifest current: the first thing that is written to the tracking store."""
        plan = self.plan
        try:
            with answering(plan.tracking_uri):
                tracking = open_tracking(plan.tracking_uri, plan.storage)
                hand_over(plan.storage.journals, plan.definition.manifest)
                parent_id = publish_manifest(tracking, plan.definition.manifest)
                if self.options.fresh:
                    self._put_aside(tracking)
        except PermissionError as error:
            raise BadInput(
                f"The tracking store's artifacts cannot be written to ({error}): have its server "
                f"serve them, or make their folder writable."
            ) from error
        self.records = tracking, parent_id
        return parent_id

    def _put_aside(self, tracking: Tracking) -> None:
        """Put what was trained aside, and what a search proposed and decided with it."""
        plan, journals = self.plan, self.plan.storage.journals
        known = restored(plan.definition, journals, plan.current, beyond_its_trials=True)
        cells = (*known.manifest.cells, *(plan.current.cells if plan.current else ()))
        if self.journal and plan.definition.manifest.search:
            SearchAccount(self.journal, plan.definition.manifest.search.definition).forget()
        keys = list(dict.fromkeys(cell.trial_key for cell in cells))
        put_aside(keys, plan.storage, tracking, plan.tracking_uri)

    def _fill(self) -> None:
        """Train the empty cells while the recorder carries what they tell."""
        self.journal = Journal(self.plan.storage.journals, self.plan.name)
        board = Board(
            list(self.plan.cells),
            dict(self.plan.definition.epochs),
            self.journal,
            num_expected=num_expected(self.plan.definition),
        )
        with ExitStack() as session:
            engine = session.enter_context(ExitStack())
            scratch = self._start_engine(engine, board) if self.plan.has_work else None
            parent_id = self._open_records()
            self._queue_for_recorder(parent_id)
            self.growth = GrowingLaunch(self.plan, board, parent_id)
            recorder = RecorderClient(self.plan.storage, self.plan.tracking_uri, self.plan.name)
            session.callback(recorder.stop)
            self.journal.open_launch(len(empty_cells(self.plan.cells)))
            wait = INTERRUPTED_FINISH_SECONDS
            try:
                cells = self._plan_of_cells()
                if scratch:
                    self._train(CellQueue(cells, board), board, recorder, scratch)
                wait = FINISH_SECONDS
            finally:
                engine.close()
                self.num_trained = board.num_trained
                self.failures = tuple(self._failed(*failure) for failure in board.failures)
                self.is_recorded = False  # should this be interrupted too
                self.is_recorded = recorder.finish(wait)
                self.complaint = recorder.complaint

    def _start_engine(self, engine: ExitStack, board: Board) -> Path:
        """Start Ray before anything is written, so that a cluster that is away costs nothing."""
        log = self.plan.storage.logs / f"{self.plan.name}.log"
        terminal = engine.enter_context(own_terminal(log))
        engine.enter_context(showing(board, self.plan.name, terminal))
        scratch = engine.enter_context(ray_session(self.options.address))
        listen()
        num_concurrent(self.options.resources)  # refuses trials that fit nowhere
        return scratch

    def _plan_of_cells(self) -> CellPlan:
        """Return which cells there are to train: all known now, or a search's as they come."""
        assert self.journal is not None
        assert self.growth is not None
        definition = self.plan.definition
        orders = Orders(self.plan.storage, self.options, definition.folder)
        if definition.manifest.search is None:
            return Listed(orders.of(definition, one.cell) for one in empty_cells(self.plan.cells))
        account = SearchAccount(self.journal, definition.manifest.search.definition)
        if self.plan.current and not self.options.fresh:
            account.adopt(self.plan.current)
        store = RecordStore(self.plan.tracking_uri)
        cells = self.plan.storage.cells
        return SearchPlan(definition, account, cells, orders.of, self.growth, store.record)

    def _train(
        self, queue: CellQueue, board: Board, recorder: RecorderClient, scratch: Path
    ) -> None:
        if self.options.time_limit_seconds:
            end_after(self.options.time_limit_seconds)
        try:
            with kept_alive(recorder):
                run_cells(queue, board, self.options.resources, scratch)
        except KeyboardInterrupt:
            board.is_stopping = True
            raise
        end_never()

    def _write_report(self) -> None:
        """Write the report and publish it, unless the store has gone away."""
        assert self.records is not None
        try:
            store = RecordStore(self.plan.tracking_uri)
            report = write_report(store, self.plan.name, Path(self.options.reports))
            publish_report(self.plan.tracking_uri, self.records[1], report)
        except StoreUnreachable as error:
            self.is_recorded = False
            self.complaint = self.complaint or str(error)
            self.exit_code = 3
        else:
            self.report = report

    def _keep_weights(self) -> None:
        """Delete the weights that are not to be kept, once all is there and recorded."""
        if self.exit_code == 0 and self.records:
            manifest, (tracking, _), plan = self._definition().manifest, self.records, self.plan
            storage, uri = plan.storage, plan.tracking_uri
            self.weights = keep_weights(manifest, self.keep, storage, tracking, uri)

    def _settle(self) -> None:
        """Note how the launch ended, in the journal and in the tracking store if it answers."""
        if self.journal:
            self.journal.close_launch(self.exit_code)
            self.journal.close()
        if self.records and self.is_recorded:
            with suppress(MlflowException):
                settle_parent(*self.records, self.exit_code)

    def _failed(self, arm: str, seed: int, reason: str) -> FailedTrial:
        key = self._definition().manifest.cell_keys()[arm, seed]
        return FailedTrial(arm, seed, reason, CellFolder(self.plan.storage.cells, key).log)

    def _definition(self) -> Definition:
        return self.growth.definition if self.growth else self.plan.definition

    def _num_cells(self) -> int:
        return num_expected(self._definition())

    def _queue_for_recorder(self, parent_id: str) -> None:
        queue = RecorderQueue(self.plan.storage.journals, self.plan.tracking_uri)
        missing = [cell for cell in self.plan.cells if not cell.is_recorded]
        keys = [cell.cell.trial_key for cell in missing]
        carried = [key for key in keys if (queued := queue.cell(key)) and queued.is_closed]
        queue.forget(carried)  # noted as carried, but the store has lost them
        queue.add(keys, self.plan.name, parent_id)
        queue.close()

    def _num_filled(self) -> int:
        there = {one.cell.trial_key for one in self.plan.cells if one.is_recorded}
        cells = self.plan.storage.cells
        return sum(
            cell.stopped is not None
            or cell.trial_key in there
            or CellFolder(cells, cell.trial_key).is_filled()
            for cell in self._definition().manifest.cells
        )
