"""Searches that are drawn: settings of known effect, all at full length or half of them stopped."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from sweeps.aggregation.results.search_results import search_results
from sweeps.aggregation.sensitivity.column import Column
from sweeps.aggregation.sensitivity.sample import Sample, sample_of
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Outcome, TrialRecord

NUM_SETTINGS = 4
_RUNG = 4
_NUM_EPOCHS = 8


@dataclass(frozen=True)
class Effects:
    """What the objective is made of; shares of its variance are in sum 1.

    Attributes:
        name: For readers.
        mains: Of the first settings, each alone: straight lines.
        pair: Of the last two settings: the product of the signs of their places.
        tails: Degrees of freedom of the noise, which has the rest; infinity for normal noise.
    """

    name: str
    mains: tuple[float, ...] = ()
    pair: float = 0.0
    tails: float = math.inf

    def drawn(self, n: int, seed: int) -> "DrawnTrials":
        """Return random trials: four numbers, a choice of five and a choice of two."""
        chance = np.random.default_rng((n, seed))
        units = chance.random((n, NUM_SETTINGS))
        spread = (units - 0.5) * math.sqrt(12)
        levels = [(chance.integers(0, k, n) + 0.5) / k for k in (5, 2)]
        noise = chance.standard_t(self.tails, n) if self.tails < math.inf else chance.normal(size=n)
        together = np.sign(spread[:, -1]) * np.sign(spread[:, -2])
        said = math.sqrt(self.pair) * together
        for place, share in enumerate(self.mains):
            said = said + math.sqrt(share) * spread[:, place]
        rest = math.sqrt(max(0.0, 1 - self.pair - sum(self.mains)))
        columns = [Column(tuple(each)) for each in units.T.tolist()]
        columns += [
            Column(tuple(each.tolist()), num_levels=k, is_choice=True)
            for each, k in zip(levels, (5, 2), strict=True)
        ]
        return DrawnTrials(tuple(columns), said + rest * noise)


@dataclass(frozen=True)
class DrawnTrials:
    """Random trials.

    Attributes:
        columns: Their settings.
        objective: What came of each, small is good.
    """

    columns: tuple[Column, ...]
    objective: Float[np.ndarray, " trials"]

    def samples(self, seed: int) -> tuple[Sample, Sample]:
        """Return what sensitivity rests on once the worse half was stopped, and the survivors.

        Halfway through, the objective is what it will be with a fifth of its spread as noise.
        """
        noise = np.random.default_rng((seed, 1)).normal(size=len(self.objective))
        early = 2 * np.abs(self.objective.min()) + self.objective + 0.2 * noise
        stopped = np.flatnonzero(early > np.median(early)).tolist()
        manifest = _manifest(self.columns, {n: float(early[n]) for n in stopped})
        keys = [cell.trial_key for cell in manifest.cells]
        records = {
            key: TrialRecord(
                record_id=key,
                trial_key=key,
                outcome=Outcome.PRUNED if n in stopped else Outcome.FINISHED,
                seed=0,
                metrics={"validation_loss": float(self.objective[n])},
            )
            for n, key in enumerate(keys)
        }
        curves = {key: {_RUNG: float(early[n])} for n, key in enumerate(keys)}
        for n in set(range(len(keys))) - set(stopped):
            curves[keys[n]][_NUM_EPOCHS] = float(self.objective[n])
        results = search_results(manifest, records)
        survivors = {one.number: results.value(one.number) for one in results.counted}
        return sample_of(results, manifest, records, lambda *_: curves), Sample(survivors)

    def within(self, sample: Sample) -> tuple[list[Column], list[float]]:
        """Return the columns and values of a sample of the trials."""
        columns = [
            Column(tuple(one.units[n] for n in sample.values), one.num_levels, one.is_choice)
            for one in self.columns
        ]
        return columns, list(sample.values.values())


def _manifest(columns: Sequence[Column], stopped: Mapping[int, float]) -> Manifest:
    """Return a random search over the columns."""
    num = len(columns[0].units)
    names = [f"setting {place}" for place in range(len(columns))]
    cells: list[dict[str, Any]] = [
        {"arm": f"proposal {n}", "seed": 0, "trial_key": f"{n:020x}"} for n in range(num)
    ]
    for n, value in stopped.items():
        cells[n]["stopped"] = {"epoch": _RUNG, "value": value}
    proposals = [
        {
            "number": n,
            "arm": f"proposal {n}",
            "params": {name: one.units[n] for name, one in zip(names, columns, strict=True)},
        }
        for n in range(num)
    ]
    search = {
        "objective": "validation_loss",
        "definition": "0",
        "sampler": "random",
        "scheduler": {"kind": "asha"},
        "num_trials": num,
        "dimensions": [
            {"name": name, "path": name, "kind": "floats", "low": 0.0, "high": 1.0}
            for name in names
        ],
        "proposals": proposals,
    }
    arms = [{"name": cell["arm"], "config": {}, "num_parameters": 1} for cell in cells]
    content = {"sweep": "drawn", "arms": arms, "seeds": [0], "cells": cells, "search": search}
    return Manifest.model_validate({**content, "tables": [{"kind": "sensitivity"}]})


def proposed_by_tpe(num: int, num_startup: int, seed: int) -> DrawnTrials:
    """Return proposals of Optuna's TPE, the first of them random.

    A bowl along the first of five numbers has 67 % of the variance of random trials, straight lines
    along the next two 10 and 15 %, and noise the rest.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=num_startup)
    study = optuna.create_study(sampler=sampler)
    noise = np.random.default_rng((num, seed)).normal(size=num)
    mean, deviation = 0.37 / 3, math.sqrt((0.3**5 + 0.7**5) / 5 - (0.37 / 3) ** 2)
    units, values = list[list[float]](), list[float]()
    for each in noise.tolist():
        trial = study.ask()
        first, *rest = (trial.suggest_float(f"x{place}", 0, 1) for place in range(5))
        value = math.sqrt(0.67) * ((first - 0.3) ** 2 - mean) / deviation
        value += math.sqrt(12 * 0.10) * (rest[0] - 0.5) + math.sqrt(12 * 0.15) * (rest[1] - 0.5)
        values.append(value + math.sqrt(0.08) * each)
        units.append([first, *rest])
        study.tell(trial, values[-1])
    columns = tuple(Column(tuple(row)) for row in zip(*units, strict=True))
    return DrawnTrials(columns, np.array(values))
