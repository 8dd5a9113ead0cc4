"""The stage between opened records and a report: cells filled while the recorder carries them."""

from contextlib import ExitStack

from sweeps.execution.cells.journal import Journal
from sweeps.execution.driver.growing_launch import GrowingLaunch
from sweeps.execution.driver.options import LaunchOptions
from sweeps.execution.driver.view.board import Board, empty_cells
from sweeps.execution.engine.cell_queue import CellQueue
from sweeps.execution.engine.policies import Policies
from sweeps.execution.launch.carrying import record_rest, start_recorder
from sweeps.execution.launch.cells_to_train import cells_to_train
from sweeps.execution.launch.progress import Progress
from sweeps.execution.launch.recording.opened_records import open_records
from sweeps.execution.launch.starting.started_engine import start_engine
from sweeps.execution.launch.training import train


def fill_none(progress: Progress, options: LaunchOptions) -> None:
    """Open the records of a sweep whose cells are all filled and recorded.

    Raises:
        SweepError: If the store cannot be written to.
    """
    progress.records = open_records(progress.survey, options, journal=None)


def fill(progress: Progress, options: LaunchOptions, policies: Policies) -> None:
    """Train the empty cells while the recorder carries what they tell.

    Args:
        progress: Of the launch: gets journal, records and growth as they are there, and in any
            case what was trained, what failed, and whether all is recorded.
        options: Of the launch.
        policies: Where trials are placed, and what follows their failures.

    Raises:
        SweepError: If the engine cannot be started, or the store not be written to.
        KeyboardInterrupt: If the launch is interrupted, after the recorder was given a moment.
    """
    survey = progress.survey
    journal = progress.journal = Journal(survey.storage.journals, survey.name)
    board = Board(
        list(survey.cells),
        dict(survey.definition.epochs),
        journal,
        num_expected=progress.num_cells,
        share_to_come=survey.share_to_come,
        changes=survey.told_by_settings,
    )
    with ExitStack() as session:
        running = session.enter_context(ExitStack())
        engine, room = None, policies.room(options.resources)
        if survey.has_work:
            engine, room = start_engine(running, survey, options, policies, board)
        progress.records = open_records(survey, options, journal)
        sweep_id = progress.records.sweep_id
        growth = progress.growth = GrowingLaunch(survey, board, sweep_id)
        recorder = start_recorder(survey, sweep_id)
        session.callback(recorder.stop)
        journal.open_launch(len(empty_cells(survey.cells)))
        is_interrupted = True
        try:
            cells = cells_to_train(survey, options, journal, growth, room)
            if engine:
                queue = CellQueue(
                    cells,
                    board,
                    failure_policy=policies.failure,
                    share_of=room.share,
                    oom_kills=room.oom_kills,
                )
                train(queue, engine, board, recorder, progress, options)
            is_interrupted = False
        finally:
            running.close()
            progress.num_trained = board.num_trained
            progress.note_failures(board.failures)
            record_rest(progress, recorder, is_interrupted=is_interrupted)
