"""Values of a search as the manifest of its sweep holds them: plain, and hashed."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from capsmodel.config import TrainingConfig
from capsmodel.search_range import Choices
from capsmodel.settings.later_field import later
from search_spaces.plans.scheduler import Scheduler
from search_spaces.plans.search_rules import DEFAULT_STARTUP
from search_spaces.space.dimension import Dimension
from search_spaces.trial_key import trial_key

RULES = 2
"""Raised whenever a search with the same fields would propose, stop or choose otherwise."""

SAMPLER_FLAGS: Mapping[str, Mapping[str, Any]] = {
    "tpe": {"multivariate": True, "constant_liar": True, "group": False},
    "nsga2": {"crossover_prob": 0.9, "swapping_prob": 0.5},
}
"""What samplers of Optuna are given besides a seed, so that no default of its decides."""

FLAGS_WITH_LIMITS: Mapping[str, Mapping[str, Any]] = {
    "tpe": {"points_tried": 64},
    "gp": {"points_tried": 0},
}
"""How many points all over the space are tried, to tell a sampler of those that break the limits.

A model of the objective would have to be told what these came to, so that `gp` has none.
"""


def sampler_flags(sampler: str, *, has_limits: bool) -> dict[str, Any]:
    """Return what a sampler is given in a search, with limits or without."""
    more = FLAGS_WITH_LIMITS.get(sampler, {}) if has_limits else {}
    return {**SAMPLER_FLAGS.get(sampler, {}), **more}


def startup_field() -> Any:
    """Return the field of a random start, written only where it is not the usual one."""
    return later(DEFAULT_STARTUP)


def decisive_scheduler(scheduler: Scheduler) -> list[Any]:
    """Return a scheduler without defaults, so that a new setting leaves old hashes as they are."""
    return [scheduler.kind, scheduler.model_dump(mode="json", exclude_defaults=True)]


def definition_hash(base: TrainingConfig, decisive: Mapping[str, Any]) -> str:
    """Return the hash of all that decides what is proposed, given how it went.

    Args:
        base: The config that the proposals change.
        decisive: What else decides, as plain values.
    """
    decisive = {"base": trial_key(base, 0), **decisive}
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:20]


def dimension_fields(dimension: Dimension) -> dict[str, Any]:
    """Return a dimension with all fields, as they enter the hash of the definition."""
    known = dimension.range
    fields: dict[str, Any] = {
        "name": dimension.name,
        "path": dimension.path,
        "kind": type(known).__name__.lower(),
        "low": None,
        "high": None,
        "step": None,
        "log": False,
        "choices": [],
        "conditions": dict(dimension.conditions),
    }
    if isinstance(known, Choices):
        return fields | {"choices": list(known.values)}
    return fields | vars(known) | {"low": float(known.low), "high": float(known.high)}
