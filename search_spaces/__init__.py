"""What may vary: sweeps as typed Python values. Names are loaded when they are first used."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from capsmodel.search_range import Choices as Choices
    from capsmodel.search_range import Floats as Floats
    from capsmodel.search_range import Ints as Ints
    from search_spaces.plans.base import Plan as Plan
    from search_spaces.plans.decisions import Cell as Cell
    from search_spaces.plans.designs.factorial import FullFactorial as FullFactorial
    from search_spaces.plans.designs.fractional import FractionalFactorial as FractionalFactorial
    from search_spaces.plans.designs.leave_one_out import LeaveOneOut as LeaveOneOut
    from search_spaces.plans.designs.one_factor import OneFactor as OneFactor
    from search_spaces.plans.designs.plackett_burman import PlackettBurman as PlackettBurman
    from search_spaces.plans.ends import AfterEpochs as AfterEpochs
    from search_spaces.plans.ends import AtTarget as AtTarget
    from search_spaces.plans.ends import NoImprovement as NoImprovement
    from search_spaces.plans.listed import Arm as Arm
    from search_spaces.plans.listed import ListedArms as ListedArms
    from search_spaces.plans.listed import MatchedArm as MatchedArm
    from search_spaces.plans.path import Path as Path
    from search_spaces.plans.scheduler import Asha as Asha
    from search_spaces.plans.scheduler import Hyperband as Hyperband
    from search_spaces.plans.scheduler import Median as Median
    from search_spaces.plans.scheduler import NoScheduler as NoScheduler
    from search_spaces.plans.scheduler import PromotionAsha as PromotionAsha
    from search_spaces.plans.search import Confirm as Confirm
    from search_spaces.plans.search import Search as Search
    from search_spaces.plans.tuned_arms import TunedArms as TunedArms
    from search_spaces.plans.until_decided import UntilDecided as UntilDecided
    from search_spaces.space.dimensions import Dimension as Dimension
    from search_spaces.space.limits import Limit as Limit
    from search_spaces.space.space import Space as Space
    from search_spaces.sweep import Sweep as Sweep
    from search_spaces.tables import AblationTable as AblationTable
    from search_spaces.tables import ComponentsTable as ComponentsTable
    from search_spaces.tables import ConfirmationTable as ConfirmationTable
    from search_spaces.tables import Curve as Curve
    from search_spaces.tables import CurvesFigure as CurvesFigure
    from search_spaces.tables import CustomTable as CustomTable
    from search_spaces.tables import DataSetsTable as DataSetsTable
    from search_spaces.tables import EffectsTable as EffectsTable
    from search_spaces.tables import EvaluationsTable as EvaluationsTable
    from search_spaces.tables import FrontTable as FrontTable
    from search_spaces.tables import GridCell as GridCell
    from search_spaces.tables import GridRow as GridRow
    from search_spaces.tables import GridTable as GridTable
    from search_spaces.tables import PublishedRow as PublishedRow
    from search_spaces.tables import PublishedTable as PublishedTable
    from search_spaces.tables import SensitivityTable as SensitivityTable

_HOMES = {
    "AblationTable": "search_spaces.tables",
    "AfterEpochs": "search_spaces.plans.ends",
    "Arm": "search_spaces.plans.listed",
    "Asha": "search_spaces.plans.scheduler",
    "AtTarget": "search_spaces.plans.ends",
    "Cell": "search_spaces.plans.decisions",
    "Choices": "capsmodel.search_range",
    "ComponentsTable": "search_spaces.tables",
    "Confirm": "search_spaces.plans.search",
    "ConfirmationTable": "search_spaces.tables",
    "CurvesFigure": "search_spaces.tables",
    "CustomTable": "search_spaces.tables",
    "DataSetsTable": "search_spaces.tables",
    "Dimension": "search_spaces.space.dimensions",
    "EffectsTable": "search_spaces.tables",
    "Curve": "search_spaces.tables",
    "EvaluationsTable": "search_spaces.tables",
    "Floats": "capsmodel.search_range",
    "FractionalFactorial": "search_spaces.plans.designs.fractional",
    "FrontTable": "search_spaces.tables",
    "FullFactorial": "search_spaces.plans.designs.factorial",
    "GridCell": "search_spaces.tables",
    "GridRow": "search_spaces.tables",
    "GridTable": "search_spaces.tables",
    "Hyperband": "search_spaces.plans.scheduler",
    "Ints": "capsmodel.search_range",
    "LeaveOneOut": "search_spaces.plans.designs.leave_one_out",
    "Limit": "search_spaces.space.limits",
    "ListedArms": "search_spaces.plans.listed",
    "MatchedArm": "search_spaces.plans.listed",
    "Median": "search_spaces.plans.scheduler",
    "NoImprovement": "search_spaces.plans.ends",
    "NoScheduler": "search_spaces.plans.scheduler",
    "OneFactor": "search_spaces.plans.designs.one_factor",
    "Path": "search_spaces.plans.path",
    "PlackettBurman": "search_spaces.plans.designs.plackett_burman",
    "Plan": "search_spaces.plans.base",
    "PromotionAsha": "search_spaces.plans.scheduler",
    "PublishedRow": "search_spaces.tables",
    "PublishedTable": "search_spaces.tables",
    "Search": "search_spaces.plans.search",
    "SensitivityTable": "search_spaces.tables",
    "Space": "search_spaces.space.space",
    "Sweep": "search_spaces.sweep",
    "TunedArms": "search_spaces.plans.tuned_arms",
    "UntilDecided": "search_spaces.plans.until_decided",
}
_RENAMED = {"OwnTable": "CustomTable"}

__all__ = list(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Load a public name from its module, so that listing sweeps does not load torch."""
    if new := _RENAMED.get(name):  # an AttributeError would not be shown by `from ... import`
        raise ImportError(f"'search_spaces.{name}' is called '{new}' now: import {new} instead.")
    if name not in _HOMES:
        raise AttributeError(f"module 'search_spaces' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return sorted(_HOMES)
