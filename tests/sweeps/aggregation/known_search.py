"""Searches whose truth is planted, as manifest and records."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Outcome, TrialRecord
from tests.sweeps.aggregation.known_sweep import by_key, finished, trial_key, unfinished

Params = Mapping[str, Any]
PLANTED = ("dominant", "weak", "none", "first", "second")


def floats(name: str, low: float = 0.0, high: float = 1.0, **more: Any) -> dict[str, Any]:
    return {"name": name, "path": name, "kind": "floats", "low": low, "high": high, **more}


def ints(name: str, low: int, high: int, **more: Any) -> dict[str, Any]:
    return {"name": name, "path": name, "kind": "ints", "low": low, "high": high, "step": 1, **more}


def choices(name: str, *values: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "path": name, "kind": "choices", "choices": values, **more}


def search_of(
    dimensions: Sequence[dict[str, Any]],
    params: Sequence[Params],
    *,
    seeds: Sequence[int] = (0,),
    stopped: Mapping[int, tuple[int, float]] | None = None,
    **more: Any,
) -> Manifest:
    """Return a manifest of a search; `stopped`: number -> epoch and value."""
    arms = [f"proposal {number}" for number in range(len(params))]
    ends = {arms[n]: {"epoch": e, "value": v} for n, (e, v) in (stopped or {}).items()}
    search = {
        "objective": "validation_error",
        "definition": "0",
        "sampler": "random",
        "scheduler": {"kind": "none"},
        "num_trials": max(1, len(params)),
        "dimensions": dimensions,
        "proposals": [
            {"number": number, "arm": arm, "params": dict(settings)}
            for number, (arm, settings) in enumerate(zip(arms, params, strict=True))
        ],
    }
    return Manifest.model_validate(
        {
            "sweep": "planted",
            "arms": [{"name": arm, "config": {}, "num_parameters": 1000} for arm in arms],
            "seeds": seeds,
            "cells": [
                {
                    "arm": arm,
                    "seed": seed,
                    "trial_key": trial_key(arm, seed),
                    "stopped": ends.get(arm),
                }
                for arm in arms
                for seed in seeds
            ],
            "tables": [{"kind": "sensitivity"}],
            "search": search | more,
        }
    )


def ended(number: int, value: float | None, seed: int = 0, **more: Any) -> TrialRecord:
    """Return the finished trial of a proposal, with its validation error."""
    return finished(f"proposal {number}", seed, 5, validation_error=value, **more)


def broken(number: int, outcome: Outcome, seed: int = 0) -> TrialRecord:
    return unfinished(f"proposal {number}", seed, outcome, "")


def searched(
    dimensions: Sequence[dict[str, Any]],
    params: Sequence[Params],
    objective: Callable[[Params], float],
    **more: Any,
) -> tuple[Manifest, dict[str, TrialRecord]]:
    """Return a search all of whose proposals ran to full length."""
    manifest = search_of(dimensions, params, **more)
    return manifest, by_key(*(ended(n, objective(settings)) for n, settings in enumerate(params)))


def planted_search(seed: int, num_trials: int = 200) -> tuple[Manifest, dict[str, TrialRecord]]:
    """Return random trials of a sum with known shares of the variance.

    67 % are of "dominant", 8 % of "weak", none of "none", 5 % are noise; "first" and "second" act
    only together, with 20 %.
    """
    chance = np.random.default_rng(seed)
    units = chance.random((num_trials, len(PLANTED)))
    spread = (units - 0.5) * 12**0.5
    together = np.sign(spread[:, 3]) * np.sign(spread[:, 4])
    noise = chance.standard_normal(num_trials)
    parts = (spread[:, 0], spread[:, 1], together, noise)
    shares = (0.67, 0.08, 0.2, 0.05)
    values = 0.5 + 0.1 * sum(s**0.5 * part for s, part in zip(shares, parts, strict=True))
    params = [dict(zip(PLANTED, row, strict=True)) for row in units.tolist()]
    manifest = search_of([floats(name) for name in PLANTED], params)
    return manifest, by_key(*(ended(n, float(value)) for n, value in enumerate(values)))
