"""What promotion trains and finds, beside stopping for good and training all: simulated searches.

python -m tools.acceptance.promotion --cases 100 --sampler random
"""

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from capsmodel.search_range import Floats
from search_spaces import Asha, Confirm, Hyperband, NoScheduler, PromotionAsha, Search
from search_spaces.plans.decisions import Cell
from search_spaces.plans.scheduler import Scheduler
from tools.acceptance.figures import wilcoxon_p
from tools.acceptance.search_runs import PLAIN, RATE, SearchRun
from tools.acceptance.searched_functions import SMOOTH, unit_place

EPOCHS = 27
NOISE = 0.01
SCHEDULERS = {
    "none": NoScheduler(),
    "asha": Asha(),
    "asha, a tenth, reduction 2": Asha(grace=0.1, reduction_factor=2),
    "promotion": PromotionAsha(),
    "promotion, a 27th": PromotionAsha(grace=1 / 27),
    "promotion, a quarter": PromotionAsha(grace=0.25),
    "hyperband": Hyperband(),
    "hyperband, a 27th": Hyperband(grace=1 / 27),
    "promotion, 3 times the proposals": PromotionAsha(),
}


@dataclass(frozen=True)
class Outcome:
    """What one search came to.

    Attributes:
        share: Epochs trained, of those that all proposals would take.
        regret: Of the first that it chose, without noise, in points; infinite where it chose none.
        survived: Share of those that came to the first rung and went on; NaN where there is none.
    """

    share: float
    regret: float
    survived: float


@dataclass(frozen=True)
class Kind:
    """Searches of one kind.

    Attributes:
        sampler: That proposes.
        trials: Proposals.
        slots: Trainings at once.
        spread: Of the epochs in which an error falls to a third: the smaller the rate, the slower.
            With 0 curves keep their order but for noise, with 5 they cross.
    """

    sampler: Any
    trials: int
    slots: int
    spread: float


def searched(scheduler: Scheduler, kind: Kind, trials: int, case: int) -> Outcome:
    """Return the outcome of one search.

    An error falls from where all begin to what its settings are worth; each epoch is measured with
    noise.
    """
    chance = np.random.default_rng([2027, case])

    def train(cell: Cell) -> list[float]:
        final = 0.05 + 0.2 * SMOOTH.value(cell.settings, case) if cell.settings else 0.3
        slowness = 3.5 + kind.spread * (0.5 - _rate_place(cell))
        epochs = np.arange(1, EPOCHS + 1)
        return (
            final + 0.5 * np.exp(-epochs / slowness) + NOISE * chance.normal(size=EPOCHS)
        ).tolist()

    plan = Search(
        space=PLAIN,
        trials=trials,
        sampler=kind.sampler,
        sampler_seed=case,
        scheduler=scheduler,
        confirm=Confirm(best=3),
    )
    run = SearchRun(plan, train, EPOCHS, kind.slots).to_its_end()
    params = dict(zip(run.known.names, run.known.params, strict=True))
    regret = 20 * SMOOTH.value(params[run.chosen[0]], case) if run.chosen else math.inf
    rungs = scheduler.rungs(EPOCHS)
    trained = [max(run.known.by_key(key).epochs, default=0) for (key,) in run.proposals()]
    survived = float(np.mean([epochs > rungs[0] for epochs in trained])) if rungs else math.nan
    share = sum(trained) / (trials * EPOCHS)
    return Outcome(share, regret, survived)


def _rate_place(cell: Cell) -> float:
    dimension = next(candidate for candidate in PLAIN.dimensions if candidate.name == RATE)
    assert isinstance(dimension.range, Floats)
    return unit_place(dimension.range, cell.settings[RATE]) if cell.settings else 0.5


def lines(kind: Kind, cases: int, names: list[str]) -> Iterator[str]:
    """Yield a line of the table for each scheduler, held against training all."""
    yield "| scheduler | epochs trained | go on at rung 1 | median regret | p worse | p better |"
    yield "| :-- | --: | --: | --: | --: | --: |"
    regrets_of_all: list[float] = []
    for name in names:
        more = 3 if "3 times" in name else 1
        outcomes = [
            searched(SCHEDULERS[name], kind, more * kind.trials, case) for case in range(cases)
        ]
        regrets = [outcome.regret for outcome in outcomes]
        regrets_of_all = regrets_of_all or regrets
        tests = ("greater", "less") if regrets is not regrets_of_all else ()
        p = [
            f"{wilcoxon_p(regrets, regrets_of_all, alternative):.2g}" for alternative in tests
        ] or ["", ""]
        share = more * float(np.mean([outcome.share for outcome in outcomes]))
        survived = float(np.mean([outcome.survived for outcome in outcomes]))
        first = "" if math.isnan(survived) else f"{survived:.3f}"
        yield f"| {name} | {share:.3f} | {first} | {np.median(regrets):.3f} | {' | '.join(p)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--sampler", default="random")
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--slots", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=list(SCHEDULERS))
    parser.add_argument("--spread", type=float, default=5.0)
    options = parser.parse_args()
    kind = Kind(options.sampler, options.trials, options.slots, options.spread)
    for line in lines(kind, options.cases, options.only):
        print(line, flush=True)


if __name__ == "__main__":
    main()
