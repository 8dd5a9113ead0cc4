"""Whether sensitivity holds what it says: settings of known effect found, and chance not taken.

    OMP_NUM_THREADS=1 python benchmarks/sensitivity_acceptance.py [--draws 400] [--only stopped ...]

Searches are drawn (`benchmarks/simulated/searches.py`), nothing is trained; the product's own
functions judge them. Prints a line a rate, with its exact binomial interval. The exit code is 1
where a whole interval lies on the wrong side of what is asked for. What is bold hangs on all trials
alone, and halves of them on how wide bands are, so few halves are drawn here.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]

if TYPE_CHECKING:
    from benchmarks.simulated.searches import Effects
    from sweeps.aggregation.sensitivity.shadows import Excess


@dataclass(frozen=True)
class Rate:
    """How often something happened, beside what it has to be."""

    what: str
    case: str
    trials: int
    happened: list[bool]
    least: float = 0.0
    most: float = 1.0
    beside: str = ""

    def ends(self) -> tuple[float, float]:
        from sweeps.aggregation.statistics.pairs import share

        found = share(sum(self.happened), len(self.happened))
        return found.low, found.high

    def holds(self) -> bool:
        low, high = self.ends()
        return low <= self.most and high >= self.least

    def as_line(self) -> str:
        low, high = self.ends()
        rate, draws = sum(self.happened) / len(self.happened), len(self.happened)
        asked = f"at least {self.least:g}" if self.least else f"at most {self.most:g}"
        cells = [self.what, self.case, str(self.trials), asked, f"{rate:.3f} of {draws}"]
        cells += [f"{low:.3f} to {high:.3f}", "yes" if self.holds() else "**no**", self.beside]
        return "| " + " | ".join(cells) + " |"


def stopped(draws: int) -> Iterator[Rate]:
    """Count searches of which half is stopped that still show the dominant setting as such."""
    from benchmarks.simulated.searches import Effects
    from sweeps.aggregation.sensitivity.importance import fanova

    effects, n = Effects("71 %, 9 %", mains=(0.71, 0.09)), 80
    found, kept, nulls = list["Excess"](), list[float](), list[bool]()
    for seed in range(draws):
        trials = effects.drawn(n, seed)
        everything, survivors = trials.samples(seed)
        assert everything.epoch is not None, everything
        assert len(everything.values) == n, everything
        excesses = fanova(*trials.within(everything))
        found.append(excesses[0])
        nulls.append(any(one.is_clear for one in excesses[len(effects.mains) :]))
        if seed < max(1, draws // 10):
            kept.append(fanova(*trials.within(survivors))[0].share.mean or 0.0)
    shares = [one.share.mean or 0.0 for one in found]
    beside = f"median {median(shares):.1f} %; among survivors {median(kept):.1f} %"
    above = [share > 50 for share in shares]
    yield Rate(
        "dominant above 50 % after half are stopped", "80 proposals", n, above, 0.95, 1, beside
    )
    bold = [one.is_clear for one in found]
    yield Rate("dominant bold", "half stopped", n, bold, 0.95)
    yield Rate("any null bold beside it", "half stopped", n, nulls, most=0.05)


def settings(draws: int) -> Iterator[Rate]:
    """Count tables in which a setting without effect is bold."""
    from benchmarks.simulated.searches import Effects
    from sweeps.aggregation.sensitivity.importance import fanova, ped_anova

    for n in (24, 40):
        yield _any_clear("a setting bold by fANOVA", Effects("noise"), n, draws, fanova)
    yield _any_clear("a setting bold by fANOVA", Effects("heavy tails", tails=2), 40, draws, fanova)
    yield _any_clear("a setting bold by PED-ANOVA", Effects("noise"), 40, draws, ped_anova)


def null_pairs(draws: int) -> Iterator[Rate]:
    """Count tables in which a pair without an effect of its own is bold."""
    from benchmarks.simulated.searches import Effects

    for effects in (Effects("noise"), Effects("two mains of 45 %", mains=(0.45, 0.45))):
        yield _any_clear("a pair bold that does not act together", effects, 60, draws, _pairs)


def pair(draws: int) -> Iterator[Rate]:
    """Count searches that show two settings that act only together."""
    from benchmarks.simulated.searches import NUM_SETTINGS, Effects
    from sweeps.aggregation.sensitivity.pairs import pair_importances

    for effects in (Effects("sign-product 90 %", pair=0.9), Effects("67 % and 20 %", (0.67,), 0.2)):
        is_found, others, shares = list[bool](), list[bool](), list[float]()
        for seed in range(draws):
            trials = effects.drawn(200, seed)
            for one in pair_importances(trials.columns, trials.objective.tolist()):
                if (one.first, one.second) == (NUM_SETTINGS - 2, NUM_SETTINGS - 1):
                    is_found.append(one.excess.is_clear)
                    shares.append(one.excess.share.mean or 0.0)
                else:
                    others.append(one.excess.is_clear)
        beside = (
            f"median {median(shares):.1f} %; of other pairs bold {sum(others) / len(others):.4f}"
        )
        yield Rate("the sign-product pair bold", effects.name, 200, is_found, 0.95, 1, beside)


def chosen(draws: int) -> Iterator[Rate]:
    """Count searches by TPE whose random start alone is nearer to a dominant setting's share."""
    from benchmarks.simulated.searches import proposed_by_tpe
    from sweeps.aggregation.sensitivity.importance import fanova
    from sweeps.aggregation.sensitivity.sample import Sample

    for num_startup, least, most in ((10, 0.0, 0.5), (20, 0.5, 1.0), (30, 0.5, 1.0)):
        shares: list[tuple[float, float]] = []
        for seed in range(draws):
            trials = proposed_by_tpe(60, num_startup, seed)
            everything = Sample(dict(enumerate(trials.objective.tolist())))
            parts = everything, everything.only(range(num_startup))
            found = [fanova(*trials.within(part))[0].share.mean or 0.0 for part in parts]
            shares.append((found[0], found[1]))
        nearer = [abs(start - 67) < abs(every - 67) for every, start in shares]
        medians = [median(each) for each in zip(*shares, strict=True)]
        beside = f"medians: all {medians[0]:.0f} %, start {medians[1]:.0f} %"
        case = f"TPE after {num_startup} at random, a bowl of 67 %"
        yield Rate("the start alone is nearer", case, 60, nearer, least, most, beside)


def _pairs(columns: object, objective: object) -> "tuple[Excess, ...]":
    from sweeps.aggregation.sensitivity.pairs import pair_importances

    return tuple(one.excess for one in pair_importances(columns, objective))


def _any_clear(
    what: str,
    effects: "Effects",
    n: int,
    draws: int,
    measure: "Callable[..., tuple[Excess, ...]]",
) -> Rate:
    found: list[bool] = []
    for seed in range(draws):
        trials = effects.drawn(n, seed)
        clear = measure(trials.columns, trials.objective.tolist())
        found.append(any(one.is_clear for one in clear))
    return Rate(f"any: {what}", effects.name, n, found, most=0.05)


def _draw_few_halves() -> None:
    from sweeps.aggregation.sensitivity import importance, pairs

    importance.NUM_HALVES = pairs.NUM_HALVES = 2


PARTS = {
    "stopped": stopped,
    "settings": settings,
    "null-pairs": null_pairs,
    "pair": pair,
    "chosen": chosen,
}


def main() -> int:
    """Count what is asked for, and print it."""
    sys.path.insert(0, str(ROOT))
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=400, help="searches a rate")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    given = parser.parse_args()
    _draw_few_halves()
    print("| what | case | trials | asked | rate | 95 % | holds | beside |")
    print("| :--- | :--- | ---: | :--- | ---: | ---: | :--- | :--- |")
    start, holds = time.process_time(), True
    for part in given.only:
        for rate in PARTS[part](given.draws):
            print(rate.as_line(), flush=True)
            print(f"{time.process_time() - start:6.0f} s", file=sys.stderr, flush=True)
            holds &= rate.holds()
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
