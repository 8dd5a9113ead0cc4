"""The stage between opened records and a report: cells filled while the recorder carries them."""

from contextlib import ExitStack

from sweeps.execution.cells.journal import Journal
from sweeps.execution.driver.board import Board, empty_cells
from sweeps.execution.driver.growing_launch import GrowingLaunch
from sweeps.execution.driver.options import LaunchOptions
from sweeps.execution.launch.cells_to_train import cells_to_train
from sweeps.execution.launch.opened_records import open_records
from sweeps.execution.launch.progress import Progress
from sweeps.execution.launch.started_engine import start_engine
from sweeps.execution.launch.started_recorder import start_recorder
from sweeps.execution.launch.training import train
from sweeps.execution.search.definition_growth import num_expected
from sweeps.storage.store_format import use_own_format

FINISH_SECONDS = 30.0
INTERRUPTED_FINISH_SECONDS = 3.0


def fill(progress: Progress, options: LaunchOptions) -> None:
    """Train the empty cells while the recorder carries what they tell.

    Args:
        progress: Of the launch: gets journal, records and growth as they are there, and in any
            case what was trained, what failed, and whether all is recorded.
        options: Of the launch.

    Raises:
        SweepError: If the engine cannot be started, or the store not be written to.
        KeyboardInterrupt: If the launch is interrupted, after the recorder was given a moment.
    """
    plan = progress.plan
    use_own_format(plan.storage)
    journal = progress.journal = Journal(plan.storage.journals, plan.name)
    num_cells = num_expected(plan.definition)
    board = Board(list(plan.cells), dict(plan.definition.epochs), journal, num_expected=num_cells)
    with ExitStack() as session:
        engine = session.enter_context(ExitStack())
        scratch = start_engine(engine, plan, options.resources, board) if plan.has_work else None
        progress.records = open_records(plan, options, journal)
        parent_id = progress.records.parent_id
        growth = progress.growth = GrowingLaunch(plan, board, parent_id)
        recorder = start_recorder(plan, parent_id)
        session.callback(recorder.stop)
        journal.open_launch(len(empty_cells(plan.cells)))
        wait = INTERRUPTED_FINISH_SECONDS
        try:
            cells = cells_to_train(plan, options, journal, growth)
            if scratch:
                train(cells, board, recorder, options, scratch)
            wait = FINISH_SECONDS
        finally:
            engine.close()
            progress.num_trained = board.num_trained
            progress.note_failures(board.failures)
            progress.is_recorded = False  # should this be interrupted too
            progress.is_recorded = recorder.finish(wait)
            progress.complaint = recorder.complaint
