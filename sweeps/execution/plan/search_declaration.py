"""A search as the manifest holds it before anything was proposed."""

import hashlib
import json
from typing import Any

from capsmodel.search_range import Choices
from search_spaces.plans.scheduler import Scheduler
from search_spaces.plans.search import Search
from search_spaces.space.space import Dimension
from search_spaces.sweep import Sweep
from search_spaces.trial_key import trial_key
from sweeps.records.manifest import Confirmation, ManifestDimension, ManifestSearch

_NUM_TRIED = 64


def manifest_search(sweep: Sweep) -> ManifestSearch:
    """Return what a sweep's search varies and how, without proposals."""
    search = sweep.plan
    assert isinstance(search, Search)
    return ManifestSearch.model_validate(
        {
            "objective": search.objective,
            "definition": _definition_hash(sweep, search),
            "sampler": search.sampler,
            "scheduler": search.scheduler.model_dump(mode="json"),
            "num_trials": search.trials,
            "num_startup": search.num_startup,
            "dimensions": [_dimension(one) for one in search.space.dimensions],
            "confirmation": search.confirm
            and Confirmation(best=search.confirm.best, seeds=search.confirm.seeds),
        }
    )


def refuse_impossible_points(sweep: Sweep) -> None:
    """Refuse a space in which some points are no settings, before anything runs.

    Each end of each range is checked by the space itself; here points of all of it are, as two
    settings may each be allowed and exclude each other.

    Raises:
        ValueError: Naming the first such point.
    """
    from scipy.stats import qmc

    search = sweep.plan
    assert isinstance(search, Search)
    points = qmc.Sobol(len(search.space.dimensions), rng=0).random(_NUM_TRIED)
    for point in points:
        params = search.space.at([float(coordinate) for coordinate in point])
        try:
            sweep.proposed("a proposal", params)
        except ValueError as error:
            shown = ", ".join(f"{name} = {value}" for name, value in params.items())
            raise ValueError(
                f"The space holds points that are no settings ({shown}): {error} Narrow the space."
            ) from error


def _definition_hash(sweep: Sweep, search: Search) -> str:
    """Return the hash of all that decides what is proposed, given how it went."""
    decisive: dict[str, Any] = {
        "base": trial_key(sweep.base, 0),
        "dimensions": [_dimension(one) for one in search.space.dimensions],
        "objective": search.objective,
        "sampler": [search.sampler, search.sampler_seed],
        "scheduler": [search.scheduler.kind, _without_defaults(search.scheduler)],
        "seeds": search.seeds,
    }
    return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:20]


def _without_defaults(scheduler: Scheduler) -> dict[str, Any]:
    """Return the settings that are no defaults, so that a new one leaves old hashes as they are."""
    return scheduler.model_dump(mode="json", exclude_defaults=True)


def _dimension(dimension: Dimension) -> dict[str, Any]:
    known = dimension.range
    named = {"name": dimension.name, "path": dimension.path}
    if isinstance(known, Choices):
        values: dict[str, Any] = {"kind": "choices", "choices": list(known.values)}
    else:
        values = {"kind": type(known).__name__.lower(), **vars(known)}
    fields = named | values | {"conditions": dict(dimension.conditions)}
    return ManifestDimension.model_validate(fields).model_dump(mode="json")
