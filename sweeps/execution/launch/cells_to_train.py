"""Which cells a launch trains: all that are known now, or a search's as they come."""

from sweeps.execution.cells.journal import Journal
from sweeps.execution.driver.board import empty_cells
from sweeps.execution.driver.growing_launch import GrowingLaunch
from sweeps.execution.driver.options import LaunchOptions
from sweeps.execution.driver.survey import Plan
from sweeps.execution.driver.trial_orders import Orders
from sweeps.execution.engine.capacity import Room
from sweeps.execution.engine.cell_queue import Listed
from sweeps.execution.engine.cell_queue import Plan as CellPlan
from sweeps.execution.search.account import SearchAccount
from sweeps.execution.search.search_plan import SearchPlan


def cells_to_train(
    plan: Plan, options: LaunchOptions, journal: Journal, growth: GrowingLaunch, room: Room
) -> CellPlan:
    """Return which cells there are to train.

    Args:
        plan: What the launch does.
        options: Of the launch.
        journal: Where a search notes what it decides.
        growth: Hears of what a search adds.
        room: Says what each trial gets of a machine.
    """
    definition, storage = plan.definition, plan.storage
    orders = Orders(storage, options, definition.folder, room)
    if definition.manifest.search is None:
        return Listed(orders.of(definition, empty.cell) for empty in empty_cells(plan.cells))
    account = SearchAccount(journal, definition.manifest.search.definition)
    if plan.current and not options.fresh:
        account.adopt(plan.current)
    record_of = plan.store.record
    return SearchPlan(definition, account, storage.cells, orders.of, growth, record_of)
