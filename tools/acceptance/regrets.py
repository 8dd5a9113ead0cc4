"""How two searches of the same functions compare, case by case."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tools.acceptance.figures import Figure, counted, wilcoxon_p
from tools.acceptance.searched_functions import (
    Found,
    Function,
    optuna_called,
    searched,
)

LEVEL, FEW = 0.05, 18
NO_WORSE = "regret no worse than Optuna called directly"
BETTER = "regret lower {} where part of the space diverges"
RARE = "proposals after the start that diverge, below those of the random start"


@dataclass(frozen=True)
class Regrets:
    """Regrets of the product beside those of another, of the same cases.

    Attributes:
        criterion: What has to hold, in words.
        case: Which function.
        own: Of the product.
        others: Of what it is held against.
        is_better_asked: Whether it has to be better, else no worse.
        beside: Other figures of the same searches.
    """

    criterion: str
    case: str
    own: Sequence[float]
    others: Sequence[float]
    is_better_asked: bool
    beside: Mapping[str, float] = field(default_factory=dict)

    @property
    def p_worse(self) -> float:
        """One-sided, of the product being no worse; Wilcoxon's of the paired differences."""
        return self._p("greater")

    @property
    def p_better(self) -> float:
        """One-sided, of the product being no better."""
        return self._p("less")

    @property
    def holds(self) -> bool:
        return self.p_better < LEVEL if self.is_better_asked else self.p_worse >= LEVEL

    def as_line(self) -> str:
        own, others = float(np.median(self.own)), float(np.median(self.others))
        beside = "; ".join(f"{name} {value:.3g}" for name, value in self.beside.items())
        tests = f"{self.p_worse:.3g} | {self.p_better:.2g}"
        verdict = "yes" if self.holds else "**no**"
        figures = f"{len(self.own)} | {own:.4f} | {others:.4f} | {tests} | {verdict} | {beside}"
        return f"| {self.case} | {figures} |"

    def _p(self, alternative: str) -> float:
        most = 10.0  # where nothing was found at all; above every value of the functions
        own, others = (np.minimum(one, most) for one in (self.own, self.others))
        return wilcoxon_p(own, others, alternative, zero_method="pratt")


def against_optuna(function: Function, cases: range) -> Iterator[Regrets]:
    """Compare the product with Optuna on as many trainings, the base's among them.

    The first few are held against each other as well, as few as were published before.
    """
    own = [searched(function, case) for case in cases]
    others = [optuna_called(function, case) for case in cases]
    what = BETTER.format("than Optuna's called directly") if function.diverging else NO_WORSE
    for count in sorted({min(FEW, len(cases)), len(cases)}):
        yield _regrets(what, function, own[:count], others[:count])


def compared_where_rare(function: Function, cases: range) -> Iterator[Regrets | Figure]:
    """Compare divergence told as the worst value with divergence told as a failure."""
    own = [searched(function, case) for case in cases]
    failed = [searched(function, case, as_failed=True) for case in cases]
    yield _regrets(BETTER.format("than told as failed"), function, own, failed)
    after = np.array([one for found in own for one in found.after_start])
    start = [one for found in own for one in found.diverged[: -len(found.after_start)]]
    beside = {
        "of the random start": float(np.mean(start)),
        "told as failed": _share(failed),
        "largest of a search": max(float(np.mean(found.after_start)) for found in own),
    }
    yield Figure(RARE, function.name, 1, 0, *counted(after), most=function.diverging, beside=beside)


def _regrets(what: str, function: Function, own: list[Found], others: list[Found]) -> Regrets:
    beside = {"diverged": _share(own), "there": _share(others)} if function.diverging else {}
    first, second = ([one.regret for one in each] for each in (own, others))
    return Regrets(what, function.name, first, second, bool(function.diverging), beside)


def _share(found: list[Found]) -> float:
    return float(np.mean([one.after_start for one in found]))
