"""Whether importances of settings hold what they say: planted effects, found and sized.

    OMP_NUM_THREADS=1 python -m tools.acceptance.importances [--draws 2000] [--only planted ...]

Searches are drawn, nothing is trained; the product's own functions judge them.
"""

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float

from sweeps.aggregation.sensitivity import importance as judged
from sweeps.aggregation.sensitivity.importance import SettingColumn, importances
from sweeps.aggregation.sensitivity.sample import FEWEST_TRIALS
from tools.acceptance.counting import Job, count_and_print
from tools.acceptance.figures import Figure, counted

PROPOSALS = (24, 40, 80, 160)
BRANCHES = (2, 3, 4)
NUM_SETTINGS = (5, 11)
FALSE = "any setting without effect matters: at most .05"
FOUND = "the planted setting matters (reported)"
NEAR = "its share is within 20 points of the planted one (reported)"
KINDS = ("number", "number", "choice 3", "choice 2", "range 5")
MORE = ("number", "number", "choice 5", "range 5", "choice 3", "number")
_SHUFFLES = 999
_GRID = np.linspace(0, 1, 10_001)
Units = Float[np.ndarray, " trials"]
Shape = Callable[[Units], Units]


def _line(units: Units) -> Units:
    return units


def _saturating(units: Units) -> Units:
    return 1 - np.exp(-6 * units)


def _bowl(units: Units) -> Units:
    return (units - 0.3) ** 2


def _cliff(units: Units) -> Units:
    return (units > 0.8).astype(float)


@dataclass(frozen=True)
class Planted:
    """What the objective is made of; noise has the rest of the variance.

    Attributes:
        name: For readers.
        mains: Place of a setting -> its shape, and its share of the variance.
        pair: Share of the first two settings together: the product of the signs of their places.
        is_skewed: Whether the noise is lognormal; else normal.
    """

    name: str
    mains: tuple[tuple[int, Shape, float], ...] = ()
    pair: float = 0.0
    is_skewed: bool = False

    def objective(self, units: list[Units], chance: np.random.Generator) -> Units:
        """Return one value a trial."""
        num = len(units[0])
        said = math.sqrt(self.pair) * np.sign(units[0] - 0.5) * np.sign(units[1] - 0.5)
        for place, shape, share in self.mains:
            said = said + math.sqrt(share) * _standard(shape, units[place], KINDS[place])
        rest = 1 - self.pair - sum(share for _, _, share in self.mains)
        noise = chance.normal(size=num)
        if self.is_skewed:
            noise = (np.exp(0.8 * noise) - math.exp(0.32)) / math.sqrt(
                (math.exp(0.64) - 1) * math.exp(0.64)
            )
        return said + math.sqrt(rest) * noise


def _standard(shape: Shape, units: Units, kind: str) -> Units:
    """Return a shape of mean 0 and variance 1 over all values that a setting can have."""
    levels = int(kind.split()[1]) if " " in kind else 0
    everything = shape((np.arange(levels) + 0.5) / levels if levels else _GRID)
    return (shape(units) - everything.mean()) / everything.std()


PLANTED = (
    Planted("40, 20 and 10 %, straight", ((0, _line, 0.4), (1, _line, 0.2), (4, _line, 0.1))),
    Planted("the same, skewed noise", ((0, _line, 0.4), (1, _line, 0.2), (4, _line, 0.1)), 0, True),
    Planted("40 %, saturating", ((0, _saturating, 0.4),)),
    Planted("40 %, a bowl", ((0, _bowl, 0.4),)),
    Planted("40 %, a step at four fifths", ((0, _cliff, 0.4),)),
    Planted("a choice of 15 % beside 40 %", ((2, _line, 0.15), (0, _saturating, 0.4))),
    Planted("a choice of 40 %", ((2, _line, 0.4),)),
    Planted("a pair of 20 % beside 30 %", ((4, _line, 0.3),), 0.2),
)
NOISE = (Planted("noise"), Planted("skewed noise", is_skewed=True))


def _columns(num: int, num_settings: int, chance: np.random.Generator) -> list[SettingColumn]:
    """Return settings of random proposals; the kinds of a choice have equal shares."""
    columns: list[SettingColumn] = []
    for kind in (*KINDS, *MORE)[:num_settings]:
        levels = int(kind.split()[1]) if " " in kind else 0
        units = chance.random(num)
        if levels:
            units = (chance.permutation(np.arange(num) % levels) + 0.5) / levels
        columns.append(SettingColumn(tuple(units.tolist()), levels, kind.startswith("choice")))
    return columns


def planted(effects: Planted, num: int, num_settings: int, draws: int) -> Iterator[Figure]:
    """Count searches of settings that all proposals have."""
    judged.NUM_SHUFFLES = _SHUFFLES
    acting = {place: share for place, _, share in effects.mains}
    null = [
        place
        for place in range(num_settings)
        if place not in acting and not (effects.pair and place < 2)
    ]
    false = np.zeros(draws, dtype=bool)
    found, shares = np.zeros((2, draws, len(acting)))
    for draw in range(draws):
        chance = np.random.default_rng((num, num_settings, draw))
        columns = _columns(num, num_settings, chance)
        objective = effects.objective([np.array(c.units) for c in columns], chance).tolist()
        each = importances(columns, objective)
        matters = np.array([one.matters for one in each])
        false[draw] = matters[null].any()
        found[draw] = matters[[*acting]]
        shares[draw] = [100 * each[place].share for place in acting]
    case = f"{effects.name}, {num_settings} settings"
    yield Figure(FALSE, case, 1, num, *counted(false), most=0.05)
    for place, share in enumerate(acting.values()):
        name = f"{case}: {100 * share:g} %"
        context = _context(shares[:, place], found[:, place] > 0)
        yield Figure(FOUND, name, 1, num, *counted(found[:, place] > 0), context=context)
        near = np.abs(shares[:, place] - 100 * share) < 20
        yield Figure(NEAR, name, 1, num, *counted(near))


def _context(shares: Units, found: Units) -> dict[str, float]:
    low, median, high = np.percentile(shares, [10, 50, 90])
    context = {"10 % of shares below": low, "median": median, "90 % below": high}
    return context | ({"mean where found": shares[found].mean()} if found.any() else {})


def in_a_branch(branches: int, num: int, num_settings: int, draws: int) -> Iterator[Figure]:
    """Count searches in which one setting is there in one balanced branch of several alone.

    It explains 40 % of the differences within its branch; the others have no effect.
    """
    judged.NUM_SHUFFLES = _SHUFFLES
    counts = num // branches
    false, found = np.zeros((2, draws), dtype=bool)
    shares = np.zeros(draws)
    for draw in range(draws):
        chance = np.random.default_rng((num, num_settings, branches, draw))
        columns = _columns(num, num_settings - 1, chance)
        objective = chance.normal(size=num)
        units = chance.random(counts)
        line = _standard(_line, units, "number")
        objective[:counts] = math.sqrt(0.4) * line + math.sqrt(0.6) * objective[:counts]
        if counts >= FEWEST_TRIALS:
            absent = [math.nan] * (num - counts)
            columns.append(SettingColumn((*units.tolist(), *absent)))
        each = importances(columns, objective.tolist())
        shares[draw] = 100 * each[-1].share
        matters = np.array([one.matters for one in each])
        false[draw] = matters[: num_settings - 1].any()
        found[draw] = matters[num_settings - 1 :].any()
    case = f"40 % in one branch of {branches} ({counts} trials), {num_settings} settings"
    yield Figure(FALSE, case, 1, num, *counted(false), most=0.05)
    context = _context(shares, found) if counts >= FEWEST_TRIALS else {}
    yield Figure(FOUND, case, 1, num, *counted(found), context=context)


def _of_noise(draws: int) -> Iterator[Job]:
    for effects in NOISE:
        for num in (FEWEST_TRIALS, *PROPOSALS):
            for num_settings in NUM_SETTINGS:
                yield partial(planted, effects, num, num_settings, draws)


def _of_planted(draws: int) -> Iterator[Job]:
    for effects in PLANTED:
        for num in (FEWEST_TRIALS, *PROPOSALS):
            for num_settings in NUM_SETTINGS:
                yield partial(planted, effects, num, num_settings, draws // 4)


def _of_branches(draws: int) -> Iterator[Job]:
    for branches in BRANCHES:
        for num in PROPOSALS:
            for num_settings in NUM_SETTINGS:
                yield partial(in_a_branch, branches, num, num_settings, draws // 4)


PARTS = {"noise": _of_noise, "planted": _of_planted, "branches": _of_branches}

if __name__ == "__main__":
    sys.exit(count_and_print(PARTS, __doc__ or ""))
