"""What may vary: sweeps as typed Python values. Names are loaded when they are first used."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from search_spaces.plans.base import Plan as Plan
    from search_spaces.plans.decisions import Cell as Cell
    from search_spaces.plans.designs.factorial import FullFactorial as FullFactorial
    from search_spaces.plans.designs.leave_one_out import LeaveOneOut as LeaveOneOut
    from search_spaces.plans.designs.one_factor import OneFactor as OneFactor
    from search_spaces.plans.listed import Arm as Arm
    from search_spaces.plans.listed import ListedArms as ListedArms
    from search_spaces.plans.scheduler import Asha as Asha
    from search_spaces.plans.scheduler import Median as Median
    from search_spaces.plans.scheduler import NoScheduler as NoScheduler
    from search_spaces.plans.search import Confirm as Confirm
    from search_spaces.plans.search import Search as Search
    from search_spaces.space.dimension import Dimension as Dimension
    from search_spaces.space.space import Space as Space
    from search_spaces.sweep import Sweep as Sweep
    from search_spaces.tables import AblationTable as AblationTable
    from search_spaces.tables import ConfirmationTable as ConfirmationTable
    from search_spaces.tables import CurvesFigure as CurvesFigure
    from search_spaces.tables import EvaluationsTable as EvaluationsTable
    from search_spaces.tables import GridCell as GridCell
    from search_spaces.tables import GridRow as GridRow
    from search_spaces.tables import GridTable as GridTable
    from search_spaces.tables import OwnTable as OwnTable
    from search_spaces.tables import PublishedRow as PublishedRow
    from search_spaces.tables import PublishedTable as PublishedTable
    from search_spaces.tables import SensitivityTable as SensitivityTable

_HOMES = {
    "Cell": "search_spaces.plans.decisions",
    "Plan": "search_spaces.plans.base",
    "AblationTable": "search_spaces.tables",
    "Arm": "search_spaces.plans.listed",
    "Asha": "search_spaces.plans.scheduler",
    "Confirm": "search_spaces.plans.search",
    "ConfirmationTable": "search_spaces.tables",
    "CurvesFigure": "search_spaces.tables",
    "Dimension": "search_spaces.space.dimension",
    "EvaluationsTable": "search_spaces.tables",
    "FullFactorial": "search_spaces.plans.designs.factorial",
    "GridCell": "search_spaces.tables",
    "GridRow": "search_spaces.tables",
    "GridTable": "search_spaces.tables",
    "LeaveOneOut": "search_spaces.plans.designs.leave_one_out",
    "ListedArms": "search_spaces.plans.listed",
    "Median": "search_spaces.plans.scheduler",
    "NoScheduler": "search_spaces.plans.scheduler",
    "OneFactor": "search_spaces.plans.designs.one_factor",
    "OwnTable": "search_spaces.tables",
    "PublishedRow": "search_spaces.tables",
    "PublishedTable": "search_spaces.tables",
    "Search": "search_spaces.plans.search",
    "SensitivityTable": "search_spaces.tables",
    "Space": "search_spaces.space.space",
    "Sweep": "search_spaces.sweep",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its home, so that listing sweeps does not load torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'search_spaces' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return sorted(_HOMES)
