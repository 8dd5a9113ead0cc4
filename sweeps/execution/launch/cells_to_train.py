"""Which cells a launch trains: all that are known now, or those that a plan adds as they come."""

from sweeps.execution.cells.journal import Journal
from sweeps.execution.driver.board import empty_cells
from sweeps.execution.driver.growing_launch import GrowingLaunch
from sweeps.execution.driver.options import LaunchOptions
from sweeps.execution.driver.survey import Plan
from sweeps.execution.driver.trial_orders import Orders
from sweeps.execution.engine.capacity import Room
from sweeps.execution.engine.cell_queue import Listed
from sweeps.execution.engine.cell_queue import Plan as CellPlan
from sweeps.execution.plan.conductor import Conductor
from sweeps.execution.plan.decision_log import DecisionLog
from sweeps.execution.plan.trial_facts import TrialFacts
from sweeps.execution.search.deciders import decider_of


def cells_to_train(
    plan: Plan, options: LaunchOptions, journal: Journal, growth: GrowingLaunch, room: Room
) -> CellPlan:
    """Return which cells there are to train.

    Args:
        plan: What the launch does.
        options: Of the launch.
        journal: Where a plan's decisions are noted.
        growth: Hears of what a plan adds.
        room: Says what each trial gets of a machine.
    """
    definition, storage = plan.definition, plan.storage
    orders = Orders(storage, options, definition.folder, room)
    if definition.decided_by is None:
        return Listed(orders.of(definition, empty.cell) for empty in empty_cells(plan.cells))
    log = DecisionLog(journal, definition.decided_by, definition.manifest.seeds)
    if plan.current and not options.fresh:
        log.adopt(plan.current, definition.sweep.plan.cells_at_start(definition.sweep))
    facts = TrialFacts(storage.cells, plan.store.record)
    decider = decider_of(definition.sweep)
    return Conductor(growth.growing, decider, log, orders.of, facts, growth)
