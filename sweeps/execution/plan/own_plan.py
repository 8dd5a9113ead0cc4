"""A plan of a user's own, a class in the sweep's file, as the manifest holds it."""

import hashlib
import json
from typing import Any

from search_spaces.source_version import part_version
from search_spaces.sweep import Sweep
from search_spaces.trial_key import trial_key


def is_own(sweep: Sweep) -> bool:
    """Return whether a sweep's plan is a class of the user's, not of the package."""
    return not type(sweep.plan).__module__.startswith("search_spaces.")


def own_plan_fields(sweep: Sweep, source: str | None) -> dict[str, Any]:
    """Return what the manifest holds of a user's own plan, nothing for one of the package.

    Its code enters the definition, not the trial keys: what is trained hangs on the settings alone.
    """
    if not is_own(sweep):
        return {}
    assert source is not None
    plan = sweep.plan
    decisive = {
        "kind": plan.kind,
        "code": part_version(source, type(plan).__name__),
        "settings": plan.model_dump(mode="json"),
        "base": trial_key(sweep.base, 0),
        "seeds": sweep.arm_seeds,
    }
    text = json.dumps(decisive, sort_keys=True)
    return {
        "plan": {
            "kind": plan.kind,
            "definition": hashlib.sha256(text.encode()).hexdigest()[:20],
            "is_over": plan.is_whole_at_start(sweep),
            "factors": {path: tuple(levels) for path, levels in plan.told_factors().items()},
            "objectives": plan.told_objectives(),
        }
    }
