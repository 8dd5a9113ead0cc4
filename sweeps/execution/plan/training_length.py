"""How long trainings may be: what `--epochs` sets, whatever stopping the arms have."""

from collections.abc import Mapping
from typing import Any

from capsmodel.overrides import with_settings
from capsmodel.stopping import Stopping
from search_spaces.sweep import Sweep

_CHOICES = {"stopping", "stopping.kind"}


def epochs_path(sweep: Sweep, settings: Mapping[str, Any]) -> str:
    """Return the path of the setting that holds the epochs of a sweep's base.

    Args:
        sweep: As declared.
        settings: What a launch changes of its base; it may choose another stopping.

    Raises:
        ValueError: In one sentence, if the stopping is not allowed.
    """
    return f"stopping.{_stopping(sweep, settings).length_setting}"


def stoppings_of_arms(sweep: Sweep) -> dict[str, Stopping]:
    """Return the stopping of each arm that chooses its own, so that the base's is not its.

    Raises:
        ValueError: In one sentence, if a stopping is not allowed.
    """
    return {
        name: _stopping(sweep, changes)
        for name, changes in sweep.plan.arms_at_start(sweep).items()
        if _CHOICES & changes.keys()
    }


def with_epochs(sweep: Sweep, epochs: int) -> Sweep:
    """Return the sweep with the epochs of those arms set that choose their own stopping.

    Raises:
        ValueError: In one sentence, if a stopping is not allowed.
    """
    own = stoppings_of_arms(sweep)
    if not own:
        return sweep
    settings = {
        name: {f"stopping.{stopping.length_setting}": epochs} for name, stopping in own.items()
    }
    return sweep.model_copy(update={"plan": sweep.plan.with_arm_settings(settings)})


def _stopping(sweep: Sweep, changes: Mapping[str, Any]) -> Stopping:
    own = {path: value for path, value in changes.items() if path.split(".")[0] == "stopping"}
    return with_settings(sweep.base, own, sweep.parts).stopping
