"""Sweeps over capsule networks that lose nothing, and the tables rebuilt from their records.

    sweeps.run("quickstart")            train what is missing, record it, rebuild the table
    sweeps.plan("quickstart")           say what that would do
    sweeps.best_configs("quickstart")   the arms, best first by validation error
    sweeps.trials("quickstart")         a pandas frame, one row a trial
    sweeps.pictures("da2bbc")           what a trial's network draws, and how it routes

Names are loaded when they are first used, so that reading records loads neither torch nor ray.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sweeps.aggregation.pictures.trial_pictures import Pictures as Pictures
    from sweeps.aggregation.pictures.trial_pictures import pictures as pictures
    from sweeps.aggregation.query import BestConfig as BestConfig
    from sweeps.aggregation.query import TrialView as TrialView
    from sweeps.aggregation.query import best_configs as best_configs
    from sweeps.aggregation.query import show as show
    from sweeps.aggregation.query import trials as trials
    from sweeps.execution.driver.result import SweepResult as SweepResult
    from sweeps.execution.driver.survey import Plan as Plan
    from sweeps.execution.launch.run import plan as plan
    from sweeps.execution.launch.run import run as run
    from sweeps.records.errors import BadInput as BadInput
    from sweeps.records.errors import StoreUnreachable as StoreUnreachable
    from sweeps.records.errors import SweepError as SweepError

_HOMES = {
    "BadInput": "sweeps.records.errors",
    "BestConfig": "sweeps.aggregation.query",
    "Pictures": "sweeps.aggregation.pictures.trial_pictures",
    "Plan": "sweeps.execution.driver.survey",
    "StoreUnreachable": "sweeps.records.errors",
    "SweepError": "sweeps.records.errors",
    "SweepResult": "sweeps.execution.driver.result",
    "TrialView": "sweeps.aggregation.query",
    "best_configs": "sweeps.aggregation.query",
    "pictures": "sweeps.aggregation.pictures.trial_pictures",
    "plan": "sweeps.execution.launch.run",
    "run": "sweeps.execution.launch.run",
    "show": "sweeps.aggregation.query",
    "trials": "sweeps.aggregation.query",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its home."""
    if name not in _HOMES:
        raise AttributeError(f"module 'sweeps' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return sorted(_HOMES)
