"""Which cells a launch trains: all that are known now, or those that a plan adds as they come."""

from sweeps.execution.cells.journal import Journal
from sweeps.execution.driver.growing_launch import GrowingLaunch
from sweeps.execution.driver.options import LaunchOptions
from sweeps.execution.driver.survey import Survey
from sweeps.execution.driver.trial_orders import Orders
from sweeps.execution.driver.view.board import empty_cells
from sweeps.execution.engine.capacity import Room
from sweeps.execution.engine.cell_source import CellSource, Listed
from sweeps.execution.plan.decision_log import DecisionLog
from sweeps.execution.plan.plan_runner import PlanRunner, TrialFacts
from sweeps.execution.search.decider import decider_of


def cells_to_train(
    survey: Survey, options: LaunchOptions, journal: Journal, growth: GrowingLaunch, room: Room
) -> CellSource:
    """Return which cells there are to train.

    Args:
        survey: What the launch has to do.
        options: Of the launch.
        journal: Where a plan's decisions are noted.
        growth: Hears of what a plan adds.
        room: Says what each trial gets of a machine.
    """
    definition, storage = survey.definition, survey.storage
    orders = Orders(storage, options, definition.folder, room)
    if definition.decided_by is None:
        return Listed(orders.of(definition, empty.cell) for empty in empty_cells(survey.cells))
    log = DecisionLog(journal, definition.decided_by, definition.manifest.seeds)
    at_start = definition.sweep.plan.cells_at_start(definition.sweep)
    if survey.adopted and not options.fresh:
        log.adopt(survey.adopted, at_start)
    if definition.manifest.search and definition.manifest.search.warm_start:
        log.adopt(definition.manifest, at_start)  # the first launch alone is told of it
    facts = TrialFacts(storage.cells, survey.store.record)
    decider = decider_of(definition.sweep)
    return PlanRunner(growth.growing, decider, log, orders.of, facts, growth)
