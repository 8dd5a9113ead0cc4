"""A launch: fill in the empty cells of a sweep, record them, rebuild its table."""

from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mlflow.exceptions import MlflowException

from search_spaces.sweep import Sweep
from sweeps.aggregation.report import Report, publish_report, write_report
from sweeps.aggregation.store import RecordStore
from sweeps.errors import BadInput, StoreUnreachable
from sweeps.execution.board import Board, empty_cells
from sweeps.execution.cell_queue import CellQueue
from sweeps.execution.cells import CellFolder
from sweeps.execution.files import FileLock
from sweeps.execution.interruption import interruptible
from sweeps.execution.journal import Journal
from sweeps.execution.live import own_terminal, showing
from sweeps.execution.options import LaunchOptions
from sweeps.execution.parent import open_tracking, publish_manifest, set_aside, settle_parent
from sweeps.execution.planner import CellState, refuse_to_drop
from sweeps.execution.provenance import git_revision, package_versions
from sweeps.execution.ray_session import ray_session
from sweeps.execution.recorder_client import RecorderClient
from sweeps.execution.recorder_queue import RecorderQueue
from sweeps.execution.scheduling import (
    capacity_of,
    gpus_per_trial,
    num_concurrent,
    run_cells,
)
from sweeps.execution.survey import Plan, refuse_unwritable, survey
from sweeps.execution.tracking import Tracking
from sweeps.execution.trial import TrialOrder
from sweeps.locations import Storage

FINISH_SECONDS = 60.0
INTERRUPTED_FINISH_SECONDS = 3.0


@dataclass(frozen=True)
class SweepResult:
    """How a launch ended.

    Attributes:
        num_trained: Cells that this launch filled.
        num_filled: Cells with a final record now, of `num_cells`.
        failures: (arm, seed, reason) of cells that stayed empty because their trial failed.
        is_recorded: Whether MLflow has everything.
        report: Tables and files; None where the launch was interrupted or the store is away.
        exit_code: 0 every cell is filled and recorded; 3 not; 130 interrupted.
    """

    sweep: str
    num_cells: int
    num_filled: int
    num_trained: int
    exit_code: int
    is_recorded: bool = True
    failures: tuple[tuple[str, int, str], ...] = ()
    report: Report | None = None


def launch(which: str | Path | Sweep, options: LaunchOptions) -> SweepResult:
    """Run a sweep: train its empty cells, record everything, write its report.

    Raises:
        SweepError: Before anything is written, if it cannot be launched.
    """
    refuse_unwritable(Path(options.reports), "report")
    if options.address is None:
        capacity_of(options.resources)  # refuses trials that do not fit this machine
    plan = survey(which, options)
    if not options.replace:
        refuse_to_drop(plan.current, plan.definition.manifest)
    _make_folders(plan.storage)
    with _only_driver(plan):
        plan = survey(which, options)  # again, now that no other driver changes it
        return _Launch(plan, options).run()


@dataclass
class _Launch:
    plan: Plan
    options: LaunchOptions
    exit_code: int = 0
    is_recorded: bool = True
    failures: list[tuple[str, int, str]] = field(default_factory=list[tuple[str, int, str]])

    def run(self) -> SweepResult:
        num_before = sum(cell.is_filled for cell in self.plan.cells)
        tracking, parent_id = self._fill() if self._is_work_left() else self._open_records()
        report = self._finish(tracking, parent_id)
        return SweepResult(
            sweep=self.plan.name,
            num_cells=len(self.plan.cells),
            num_filled=self._num_filled(),
            num_trained=self._num_filled() - num_before,
            exit_code=self.exit_code,
            is_recorded=self.is_recorded,
            failures=tuple(self.failures),
            report=report,
        )

    def _is_work_left(self) -> bool:
        return any(cell.state is not CellState.RECORDED for cell in self.plan.cells)

    def _open_records(self) -> tuple[Tracking, str]:
        """Make the manifest current. The first thing that is written to the tracking store."""
        tracking = open_tracking(self.plan.tracking_uri, self.plan.storage)
        if self.options.fresh:
            self._set_cells_aside(tracking)
        return tracking, publish_manifest(tracking, self.plan.definition.manifest)

    def _fill(self) -> tuple[Tracking, str]:
        """Train the empty cells while the recorder carries what they tell."""
        journal = Journal(self.plan.storage.journals, self.plan.name)
        board = Board(self.plan.cells, self.plan.definition.epochs, journal)
        with ExitStack() as session:
            session.callback(journal.close)
            engine = ExitStack()
            session.push(engine)
            scratch = self._start_engine(engine, board) if empty_cells(self.plan.cells) else None
            tracking, parent_id = self._open_records()
            self._queue_for_recorder(parent_id)
            recorder = RecorderClient(self.plan.storage, self.plan.tracking_uri, self.plan.name)
            session.callback(recorder.stop)
            journal.open_launch(len(empty_cells(self.plan.cells)))
            try:
                if scratch:
                    self._train(board, scratch)
                engine.close()
                self.is_recorded = recorder.finish(FINISH_SECONDS)
            except KeyboardInterrupt:
                self.exit_code = 130
                engine.close()
                self.is_recorded = recorder.finish(INTERRUPTED_FINISH_SECONDS)
            if self._num_filled() < len(self.plan.cells) or not self.is_recorded:
                self.exit_code = self.exit_code or 3
            journal.close_launch(self.exit_code)
        return tracking, parent_id

    def _start_engine(self, engine: ExitStack, board: Board) -> Path:
        """Start Ray before anything is written, so that a cluster that is away costs nothing."""
        log = self.plan.storage.logs / f"{self.plan.name}.log"
        terminal = engine.enter_context(own_terminal(log))
        engine.enter_context(showing(board, self.plan.name, terminal))
        scratch = engine.enter_context(ray_session(self.options.address))
        num_concurrent(self.options.resources)  # refuses trials that fit nowhere
        return scratch

    def _train(self, board: Board, scratch: Path) -> None:
        try:
            with interruptible(self.options.time_limit_seconds):
                run_cells(CellQueue(self._orders(), board), board, self.options.resources, scratch)
        finally:
            self.failures = board.failures

    def _orders(self) -> Iterator[TrialOrder]:
        definition = self.plan.definition
        machine = {
            "device": "cuda" if gpus_per_trial(self.options.resources) else "cpu",
            "threads": self.options.cpus_per_trial,
            "git_revision": git_revision(definition.folder),
            "versions": package_versions(),
        }
        for planned in empty_cells(self.plan.cells):
            head = definition.head(planned.cell).model_copy(update=machine)
            yield TrialOrder(cells=str(self.plan.storage.cells), head=head)

    def _queue_for_recorder(self, parent_id: str) -> None:
        queue = RecorderQueue(self.plan.storage.journals, self.plan.tracking_uri)
        missing = [cell for cell in self.plan.cells if cell.state is not CellState.RECORDED]
        keys = [cell.cell.trial_key for cell in missing]
        carried = [key for key in keys if (queued := queue.cell(key)) and queued.is_closed]
        queue.forget(carried)  # noted as carried, but the store has lost them
        queue.add(keys, self.plan.name, parent_id)
        queue.close()

    def _num_filled(self) -> int:
        recorded = sum(cell.state is CellState.RECORDED for cell in self.plan.cells)
        others = [cell for cell in self.plan.cells if cell.state is not CellState.RECORDED]
        cells = self.plan.storage.cells
        return recorded + sum(CellFolder(cells, one.cell.trial_key).is_filled() for one in others)

    def _finish(self, tracking: Tracking, parent_id: str) -> Report | None:
        """Settle the parent run and write the report, unless the store or the user is away."""
        try:
            settle_parent(tracking, parent_id, self.exit_code)
            if self.exit_code == 130:
                return None
            store = RecordStore(self.plan.tracking_uri)
            report = write_report(store, self.plan.name, Path(self.options.reports))
            publish_report(self.plan.tracking_uri, parent_id, report)
        except (MlflowException, StoreUnreachable):
            self.is_recorded = False
            self.exit_code = self.exit_code or 3
            return None
        return report

    def _set_cells_aside(self, tracking: Tracking) -> None:
        """Put folders and records of the sweep's cells where no reader counts them."""
        storage = self.plan.storage
        keys = [cell.cell.trial_key for cell in self.plan.cells]
        busy = [key for key in keys if CellFolder(storage.cells, key).is_busy()]
        if busy:
            raise BadInput(
                f"--fresh cannot put aside {len(busy)} cells that another sweep is training now: "
                f"wait for it to end."
            )
        storage.replaced.mkdir(exist_ok=True)
        set_aside(tracking, keys)
        for key in keys:
            if (storage.cells / key).is_dir():
                (storage.cells / key).rename(_free_name(storage.replaced / key))
        queue = RecorderQueue(storage.journals, self.plan.tracking_uri)
        queue.forget(keys)
        queue.close()


@contextmanager
def _only_driver(plan: Plan) -> Generator[None]:
    with FileLock(plan.storage.journals / f"{plan.name}.lock") as lock:
        if not lock.acquire():
            raise BadInput(
                f"The sweep '{plan.name}' is being run already by another process over "
                f"{plan.storage.root}: wait for it to end, or give this one a --name of its own."
            )
        yield


def _make_folders(storage: Storage) -> None:
    try:
        for folder in (storage.cells, storage.journals, storage.artifacts, storage.logs):
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(
            f"The storage folder {storage.root} cannot be written to ({error.strerror}): choose "
            f"another, --storage."
        ) from error


def _free_name(path: Path) -> Path:
    number = 1
    while (candidate := path.with_name(f"{path.name}-{number}")).exists():
        number += 1
    return candidate
