"""Whether sensitivity holds what it says: settings of known effect found, and chance not taken.

    OMP_NUM_THREADS=1 python -m tools.acceptance.sensitivity [--draws 400] [--only stopped ...]

Searches are drawn, nothing is trained; the product's own functions judge them. Prints a line a
rate, with its exact binomial interval. The exit code is 1 where a whole interval lies on the wrong
side of what is asked for. `importances.py` counts settings without a scheduler.
"""

import argparse
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from jaxtyping import Float

from sweeps.aggregation.results.search_results import search_results
from sweeps.aggregation.sensitivity.importance import Importance, SettingColumn, importances
from sweeps.aggregation.sensitivity.pair_importance import pair_importances
from sweeps.aggregation.sensitivity.sample import Sample, sample_of
from sweeps.aggregation.statistics.exact_tests import share
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
        for place, main in enumerate(self.mains):
            said = said + math.sqrt(main) * spread[:, place]
        rest = math.sqrt(max(0.0, 1 - self.pair - sum(self.mains)))
        columns = [SettingColumn(tuple(each)) for each in units.T.tolist()]
        columns += [
            SettingColumn(tuple(each.tolist()), num_levels=k, is_choice=True)
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

    columns: tuple[SettingColumn, ...]
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
        survivors = {
            proposal.number: results.value(proposal.number) for proposal in results.counted
        }
        return sample_of(results, manifest, records, lambda _sweep, _trials: curves), Sample(
            survivors
        )

    def within(self, sample: Sample) -> tuple[list[SettingColumn], list[float]]:
        """Return the columns and values of a sample of the trials."""
        columns = [
            SettingColumn(
                tuple(column.units[n] for n in sample.values), column.num_levels, column.is_choice
            )
            for column in self.columns
        ]
        return columns, list(sample.values.values())


def _manifest(columns: Sequence[SettingColumn], stopped: Mapping[int, float]) -> Manifest:
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
            "params": {name: column.units[n] for name, column in zip(names, columns, strict=True)},
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
    columns = tuple(SettingColumn(tuple(row)) for row in zip(*units, strict=True))
    return DrawnTrials(columns, np.array(values))


@dataclass(frozen=True)
class Rate:
    """How often something happened, beside what it has to be."""

    criterion: str
    case: str
    trials: int
    happened: list[bool]
    least: float = 0.0
    most: float = 1.0
    context: str = ""

    def ends(self) -> tuple[float, float]:

        interval = share(sum(self.happened), len(self.happened))
        return interval.low, interval.high

    def holds(self) -> bool:
        low, high = self.ends()
        return low <= self.most and high >= self.least

    def as_line(self) -> str:
        low, high = self.ends()
        rate, draws = sum(self.happened) / len(self.happened), len(self.happened)
        asked = f"at least {self.least:g}" if self.least else f"at most {self.most:g}"
        cells = [self.criterion, self.case, str(self.trials), asked, f"{rate:.3f} of {draws}"]
        cells += [f"{low:.3f} to {high:.3f}", "yes" if self.holds() else "**no**", self.context]
        return "| " + " | ".join(cells) + " |"


def stopped(draws: int) -> Iterator[Rate]:
    """Count searches of which half is stopped that still show the dominant setting as such."""

    effects, n = Effects("71 %, 9 %", mains=(0.71, 0.09)), 80
    dominant, among_survivors, nulls = list[Importance](), list[float](), list[bool]()
    for seed in range(draws):
        trials = effects.drawn(n, seed)
        everything, survivors = trials.samples(seed)
        assert everything.epoch is not None, everything
        assert len(everything.values) == n, everything
        judged = importances(*trials.within(everything))
        dominant.append(judged[0])
        nulls.append(any(setting.matters for setting in judged[len(effects.mains) :]))
        if seed < max(1, draws // 10):
            among_survivors.append(importances(*trials.within(survivors))[0].share * 100)
    shares = [100 * setting.share for setting in dominant]
    context = f"median {median(shares):.1f} %; among survivors {median(among_survivors):.1f} %"
    above = [share > 50 for share in shares]
    yield Rate(
        "dominant above 50 % after half are stopped", "80 proposals", n, above, 0.95, 1, context
    )
    bold = [setting.matters for setting in dominant]
    yield Rate("dominant bold", "half stopped", n, bold, 0.95)
    yield Rate("any null bold beside it", "half stopped", n, nulls, most=0.05)


def null_pairs(draws: int) -> Iterator[Rate]:
    """Count tables in which a pair without an effect of its own is bold."""

    for effects in (Effects("noise"), Effects("two mains of 45 %", mains=(0.45, 0.45))):
        happened: list[bool] = []
        for seed in range(draws):
            trials = effects.drawn(60, seed)
            pairs = pair_importances(trials.columns, trials.objective.tolist())
            happened.append(any(of_pair.importance.matters for of_pair in pairs))
        criterion = "any pair bold that does not act together"
        yield Rate(criterion, effects.name, 60, happened, most=0.05)


def pair(draws: int) -> Iterator[Rate]:
    """Count searches that show two settings that act only together."""

    for effects in (Effects("sign-product 90 %", pair=0.9), Effects("67 % and 20 %", (0.67,), 0.2)):
        is_bold, others, shares = list[bool](), list[bool](), list[float]()
        for seed in range(draws):
            trials = effects.drawn(200, seed)
            for of_pair in pair_importances(trials.columns, trials.objective.tolist()):
                if (of_pair.first, of_pair.second) == (
                    NUM_SETTINGS - 2,
                    NUM_SETTINGS - 1,
                ):
                    is_bold.append(of_pair.importance.matters)
                    shares.append(100 * of_pair.importance.share)
                else:
                    others.append(of_pair.importance.matters)
        context = (
            f"median {median(shares):.1f} %; of other pairs bold {sum(others) / len(others):.4f}"
        )
        yield Rate("the sign-product pair bold", effects.name, 200, is_bold, 0.95, 1, context)


def chosen(draws: int) -> Iterator[Rate]:
    """Count searches by TPE whose random start alone is nearer to a dominant setting's share."""

    for num_startup, least, most in ((10, 0.0, 0.5), (20, 0.5, 1.0), (30, 0.5, 1.0)):
        shares: list[tuple[float, float]] = []
        for seed in range(draws):
            trials = proposed_by_tpe(60, num_startup, seed)
            everything = Sample(dict(enumerate(trials.objective.tolist())))
            parts = everything, everything.only(range(num_startup))
            both = [importances(*trials.within(part))[0].share * 100 for part in parts]
            shares.append((both[0], both[1]))
        nearer = [abs(start - 67) < abs(every - 67) for every, start in shares]
        medians = [median(each) for each in zip(*shares, strict=True)]
        context = f"medians: all {medians[0]:.0f} %, start {medians[1]:.0f} %"
        case = f"TPE after {num_startup} at random, a bowl of 67 %"
        yield Rate("the start alone is nearer", case, 60, nearer, least, most, context)


PARTS = {
    "stopped": stopped,
    "null-pairs": null_pairs,
    "pair": pair,
    "chosen": chosen,
}


def main() -> int:
    """Count what is asked for, and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=400, help="searches a rate")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    options = parser.parse_args()
    print("| what | case | trials | asked | rate | 95 % | holds | beside |")
    print("| :--- | :--- | ---: | :--- | ---: | ---: | :--- | :--- |")
    start, holds = time.process_time(), True
    for part in options.only:
        for rate in PARTS[part](options.draws):
            print(rate.as_line(), flush=True)
            print(f"{time.process_time() - start:6.0f} s", file=sys.stderr, flush=True)
            holds &= rate.holds()
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
