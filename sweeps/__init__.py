"""Sweeps over capsule networks that lose nothing, and the tables rebuilt from their records.

    sweeps.run("quickstart")            train what is missing, record it, rebuild the table
    sweeps.plan("quickstart")           say what that would do
    sweeps.plan_seeds("quickstart", 1)  say how many seeds find a difference of one point
    sweeps.best_configs("quickstart")   the arms, best first by validation error
    sweeps.sweeps()                     a pandas frame, one row per sweep of the store
    sweeps.status("quickstart")         how far a sweep is
    sweeps.trials("quickstart")         a pandas frame, one row per trial
    sweeps.curves("quickstart")         a pandas frame, one row per epoch of a trial
    sweeps.predictions("quickstart")    a pandas frame, one row per image of a trial
    sweeps.evaluations("quickstart")    a pandas frame, one row per metric of an evaluated trial
    sweeps.compare("one", "another")    a pandas frame, arms of sweeps side by side
    sweeps.diff("ed5cdf", "41c09e")     in what two trials, or two sweeps, differ
    sweeps.report("quickstart")         its tables and figures, rebuilt from its records
    sweeps.verify("paper.tex")          whether a paper's numbers follow from the records
    sweeps.load_model("ed5cdf")         a trial's network, or a sweep's best, ready to predict
    sweeps.pictures("ed5cdf")           what a trial's network draws, and how it routes

Names are loaded when they are first used, so that reading records loads neither torch nor ray.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sweeps.aggregation.best_configs import BestConfig as BestConfig
    from sweeps.aggregation.best_configs import best_configs as best_configs
    from sweeps.aggregation.comparison import Difference as Difference
    from sweeps.aggregation.comparison import compare as compare
    from sweeps.aggregation.comparison import diff as diff
    from sweeps.aggregation.frames import curves as curves
    from sweeps.aggregation.frames import evaluations as evaluations
    from sweeps.aggregation.frames import predictions as predictions
    from sweeps.aggregation.frames import sweeps as sweeps
    from sweeps.aggregation.frames import trials as trials
    from sweeps.aggregation.named_models import load_model as load_model
    from sweeps.aggregation.pictures.trial_pictures import Pictures as Pictures
    from sweeps.aggregation.pictures.trial_pictures import pictures as pictures
    from sweeps.aggregation.rendering.contents import Figure as Figure
    from sweeps.aggregation.rendering.contents import Report as Report
    from sweeps.aggregation.rendering.contents import Section as Section
    from sweeps.aggregation.rendering.renderers import FigureRenderer as FigureRenderer
    from sweeps.aggregation.rendering.renderers import ReportRenderer as ReportRenderer
    from sweeps.aggregation.rendering.renderers import TableRenderer as TableRenderer
    from sweeps.aggregation.rendering.table import Cell as Cell
    from sweeps.aggregation.rendering.table import Column as Column
    from sweeps.aggregation.rendering.table import Table as Table
    from sweeps.aggregation.report.files import report as report
    from sweeps.aggregation.results.sweep_results import Results as Results
    from sweeps.aggregation.trial_view import TrialView as TrialView
    from sweeps.aggregation.trial_view import show as show
    from sweeps.aggregation.verification.verify import verify as verify
    from sweeps.execution.launch.result import SweepResult as SweepResult
    from sweeps.execution.launch.run import plan as plan
    from sweeps.execution.launch.run import run as run
    from sweeps.execution.launch.seed_plan import SeedPlan as SeedPlan
    from sweeps.execution.launch.seed_plan import plan_seeds as plan_seeds
    from sweeps.execution.survey.status import SweepStatus as SweepStatus
    from sweeps.execution.survey.status import status as status
    from sweeps.execution.survey.survey import Plan as Plan
    from sweeps.records.errors import BadInput as BadInput
    from sweeps.records.errors import StoreUnreachable as StoreUnreachable
    from sweeps.records.errors import SweepError as SweepError

_HOMES = {
    "BadInput": "sweeps.records.errors",
    "BestConfig": "sweeps.aggregation.best_configs",
    "Cell": "sweeps.aggregation.rendering.table",
    "Column": "sweeps.aggregation.rendering.table",
    "Difference": "sweeps.aggregation.comparison",
    "Figure": "sweeps.aggregation.rendering.contents",
    "FigureRenderer": "sweeps.aggregation.rendering.renderers",
    "Pictures": "sweeps.aggregation.pictures.trial_pictures",
    "Plan": "sweeps.execution.survey.survey",
    "Report": "sweeps.aggregation.rendering.contents",
    "ReportRenderer": "sweeps.aggregation.rendering.renderers",
    "Results": "sweeps.aggregation.results.sweep_results",
    "Section": "sweeps.aggregation.rendering.contents",
    "SeedPlan": "sweeps.execution.launch.seed_plan",
    "StoreUnreachable": "sweeps.records.errors",
    "SweepError": "sweeps.records.errors",
    "SweepResult": "sweeps.execution.launch.result",
    "SweepStatus": "sweeps.execution.survey.status",
    "Table": "sweeps.aggregation.rendering.table",
    "TableRenderer": "sweeps.aggregation.rendering.renderers",
    "TrialView": "sweeps.aggregation.trial_view",
    "best_configs": "sweeps.aggregation.best_configs",
    "compare": "sweeps.aggregation.comparison",
    "curves": "sweeps.aggregation.frames",
    "diff": "sweeps.aggregation.comparison",
    "evaluations": "sweeps.aggregation.frames",
    "load_model": "sweeps.aggregation.named_models",
    "pictures": "sweeps.aggregation.pictures.trial_pictures",
    "plan": "sweeps.execution.launch.run",
    "plan_seeds": "sweeps.execution.launch.seed_plan",
    "predictions": "sweeps.aggregation.frames",
    "report": "sweeps.aggregation.report.files",
    "run": "sweeps.execution.launch.run",
    "show": "sweeps.aggregation.trial_view",
    "status": "sweeps.execution.survey.status",
    "sweeps": "sweeps.aggregation.frames",
    "trials": "sweeps.aggregation.frames",
    "verify": "sweeps.aggregation.verification.verify",
}

__all__ = list(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Load a public name from its home.

    Raises:
        ImportError: If packages that only sweeps need are not installed, or this is Windows.
    """
    if name not in _HOMES:
        raise AttributeError(f"module 'sweeps' has no attribute '{name}'")
    from importlib import import_module

    import_module("sweeps.command").prepare_process()
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return sorted(_HOMES)
