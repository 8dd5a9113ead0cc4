"""A small search, before, during and after its confirmation."""

from collections.abc import Mapping, Sequence
from typing import Any

from search_spaces.plans.search import BASE
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import TrialRecord
from tests.sweeps.aggregation.known_sweep import by_key, finished, trial_key

FRESH = (101, 102, 103)
PARAMS: tuple[dict[str, Any], ...] = (
    {"model.routing": "dynamic", "model.routing[dynamic].iterations": 1, "rate": 0.1},
    {"model.routing": "dynamic", "model.routing[dynamic].iterations": 3, "rate": 0.00123456},
    {"model.routing": "uniform", "rate": 0.01},
    {"model.routing": "dynamic", "model.routing[dynamic].iterations": 2, "rate": 0.02},
)
DIMENSIONS: tuple[dict[str, Any], ...] = (
    {
        "name": "model.routing",
        "path": "model.routing",
        "kind": "choices",
        "choices": ["dynamic", "uniform"],
    },
    {
        "name": "model.routing[dynamic].iterations",
        "path": "model.routing.iterations",
        "kind": "ints",
        "low": 1,
        "high": 3,
        "conditions": {"model.routing": "dynamic"},
    },
    {"name": "rate", "path": "rate", "kind": "floats", "low": 0.001, "high": 1.0, "log": True},
)


def arm_name(number: int) -> str:
    return f"proposal {number}"


def search_of(
    chosen: Sequence[int] = (),
    reference: int | None = None,
    stopped: Mapping[int, int] | None = None,
    num_proposals: int = 4,
    **more: Any,
) -> Manifest:
    """Return a search's manifest.

    Args:
        chosen: Numbers of the proposals that are confirmed.
        reference: Number of the proposal that they are compared with.
        stopped: Number of a proposal -> the epoch at which it was stopped.
        num_proposals: Of four.
        more: Of the search itself.
    """
    arms = [arm_name(number) for number in range(num_proposals)]
    confirmed = [
        arm_name(number) for number in dict.fromkeys([*chosen, reference]) if number is not None
    ]
    cells: list[dict[str, Any]] = [
        {"arm": arm, "seed": 0, "trial_key": trial_key(arm, 0)} for arm in arms
    ]
    for number, epoch in (stopped or {}).items():
        cells[number]["stopped"] = {"epoch": epoch, "value": 0.5}
    cells += [{"arm": a, "seed": s, "trial_key": trial_key(a, s)} for a in confirmed for s in FRESH]
    search: dict[str, Any] = {
        "objective": "validation_error",
        "definition": "x",
        "sampler": "tpe",
        "scheduler": {"kind": "asha"},
        "num_trials": 4,
        "dimensions": DIMENSIONS,
        "proposals": [
            {"number": number, "arm": arm, "params": PARAMS[number]}
            for number, arm in enumerate(arms)
        ],
        "confirmation": {
            "best": 2,
            "seeds": FRESH,
            "arms": [arm_name(number) for number in chosen],
            "reference": None if reference is None else arm_name(reference),
        },
    }
    return Manifest.model_validate(
        {
            "sweep": "known",
            "arms": [
                {"name": arm, "config": {"batch_size": 32 + place}, "num_parameters": 1000}
                for place, arm in enumerate(arms)
            ],
            "seeds": [0],
            "cells": cells,
            "tables": [{"kind": "confirmation"}, {"kind": "sensitivity"}],
            "search": search | more,
        }
    )


def search_with_base(chosen: Sequence[int]) -> Manifest:
    """Return a search that has trained its base, against which some proposals are confirmed."""
    written = search_of(chosen).model_dump(mode="json")
    base = {"name": BASE, "config": {"batch_size": 8}, "num_parameters": 1000, "changes": {}}
    cells = [{"arm": BASE, "seed": s, "trial_key": trial_key(BASE, s)} for s in (0, *FRESH)]
    search = written["search"]
    confirmation = search["confirmation"] | {"reference": BASE}
    return Manifest.model_validate(
        written
        | {
            "arms": [base, *written["arms"]],
            "cells": [cells[0], *written["cells"], *cells[1:]],
            "baseline": BASE,
            "search": search | {"base": BASE, "rules": 2, "confirmation": confirmation},
        }
    )


def trained(
    wrong: Mapping[int, int | None], confirmed: Mapping[int, Sequence[int]] | None = None
) -> dict[str, TrialRecord]:
    """Return finished trials.

    Args:
        wrong: Number of a proposal -> images wrong on the search's seed, None where there is none.
        confirmed: Number of a proposal -> images wrong on the fresh seeds.
    """
    trials = [finished(arm_name(n), 0, count) for n, count in wrong.items() if count is not None]
    for number, row in (confirmed or {}).items():
        trials += [
            finished(arm_name(number), seed, count) for seed, count in zip(FRESH, row, strict=False)
        ]
    return by_key(*trials)


def confirmed_search() -> tuple[Manifest, dict[str, TrialRecord]]:
    """Return a search of which the second best turned out the best."""
    records = trained({0: 30, 1: 6, 2: 12, 3: 9}, {1: (15, 16, 14), 3: (8, 9, 8), 2: (18, 21, 19)})
    return search_of([1, 3], reference=2), records
