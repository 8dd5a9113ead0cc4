"""How two searches of the same functions compare, case by case."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tools.acceptance.figures import Figure, counted, wilcoxon_p
from tools.acceptance.searched_functions import (
    Function,
    SearchOutcome,
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
        ours: Of the product.
        others: Of what it is held against.
        is_better_asked: Whether it has to be better, else no worse.
        context: Other figures of the same searches.
    """

    criterion: str
    case: str
    ours: Sequence[float]
    others: Sequence[float]
    is_better_asked: bool
    context: Mapping[str, float] = field(default_factory=dict)

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
        ours, others = float(np.median(self.ours)), float(np.median(self.others))
        context = "; ".join(f"{name} {value:.3g}" for name, value in self.context.items())
        tests = f"{self.p_worse:.3g} | {self.p_better:.2g}"
        verdict = "yes" if self.holds else "**no**"
        figures = f"{len(self.ours)} | {ours:.4f} | {others:.4f} | {tests} | {verdict} | {context}"
        return f"| {self.case} | {figures} |"

    def _p(self, alternative: str) -> float:
        most = 10.0  # where nothing was found at all; above every value of the functions
        ours, others = (np.minimum(regrets, most) for regrets in (self.ours, self.others))
        return wilcoxon_p(ours, others, alternative, zero_method="pratt")


def against_optuna(function: Function, cases: range) -> Iterator[Regrets]:
    """Compare the product with Optuna on as many trainings, the base's among them.

    The first few are held against each other as well, as few as were published before.
    """
    ours = [searched(function, case) for case in cases]
    others = [optuna_called(function, case) for case in cases]
    criterion = BETTER.format("than Optuna's called directly") if function.diverging else NO_WORSE
    for count in sorted({min(FEW, len(cases)), len(cases)}):
        yield _regrets(criterion, function, ours[:count], others[:count])


def compared_where_rare(function: Function, cases: range) -> Iterator[Regrets | Figure]:
    """Compare divergence reported as the worst value with divergence reported as a failure."""
    ours = [searched(function, case) for case in cases]
    failed = [searched(function, case, as_failed=True) for case in cases]
    yield _regrets(BETTER.format("than told as failed"), function, ours, failed)
    after = np.array([is_diverged for search in ours for is_diverged in search.after_start])
    start = [
        is_diverged
        for search in ours
        for is_diverged in search.diverged[: -len(search.after_start)]
    ]
    context = {
        "of the random start": float(np.mean(start)),
        "told as failed": _share(failed),
        "largest of a search": max(float(np.mean(search.after_start)) for search in ours),
    }
    yield Figure(
        RARE, function.name, 1, 0, *counted(after), most=function.diverging, context=context
    )


def _regrets(
    criterion: str, function: Function, ours: list[SearchOutcome], others: list[SearchOutcome]
) -> Regrets:
    context = {"diverged": _share(ours), "others": _share(others)} if function.diverging else {}
    first, second = ([outcome.regret for outcome in each] for each in (ours, others))
    return Regrets(criterion, function.name, first, second, bool(function.diverging), context)


def _share(searches: list[SearchOutcome]) -> float:
    return float(np.mean([search.after_start for search in searches]))
