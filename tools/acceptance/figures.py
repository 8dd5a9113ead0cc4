"""A rate that was counted, beside what it has to be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from sweeps.aggregation.statistics.exact_tests import share


@dataclass(frozen=True)
class Figure:
    """How often something happened in tables that were drawn.

    Attributes:
        criterion: What has to hold, in words.
        case: Of networks, and of what else varies.
        seeds: An arm.
        images: Of the test or validation split.
        count: How often it happened.
        draws: Of how many.
        least: The rate may be no smaller.
        most: Nor larger.
        context: Other figures of the same tables.
    """

    criterion: str
    case: str
    seeds: int
    images: int
    count: int
    draws: int
    least: float = 0.0
    most: float = 1.0
    context: Mapping[str, float] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        return self.count / self.draws

    @property
    def holds(self) -> bool:
        return self.least <= self.rate <= self.most

    @property
    def ends(self) -> tuple[float, float]:
        """The exact binomial 95 % interval of the rate."""
        interval = share(self.count, self.draws)
        return interval.low, interval.high

    def as_record(self) -> dict[str, object]:
        low, high = self.ends
        return {
            "criterion": self.criterion,
            "case": self.case,
            "seeds": self.seeds,
            "images": self.images,
            "rate": round(self.rate, 5),
            "low": round(low, 5),
            "high": round(high, 5),
            "draws": self.draws,
            "least": self.least,
            "most": self.most,
            "holds": self.holds,
            "context": {name: round(float(value), 5) for name, value in self.context.items()},
        }

    def as_line(self) -> str:
        low, high = self.ends
        context = "; ".join(f"{name} {value:.3g}" for name, value in self.context.items())
        cells = [
            self.case,
            str(self.seeds),
            f"{self.images:,}",
            f"{self.rate:.4f}",
            f"{low:.4f} to {high:.4f}",
            "yes" if self.holds else "**no**",
            context,
        ]
        return "| " + " | ".join(cells) + " |"


def counted(happened: Bool[np.ndarray, " draws"]) -> tuple[int, int]:
    """Return how often, and of how many."""
    return int(happened.sum()), happened.size


def wilcoxon_p(
    values: Sequence[float] | Float[np.ndarray, " cases"],
    others: Sequence[float] | Float[np.ndarray, " cases"],
    alternative: str,
    *,
    zero_method: str = "wilcox",
) -> float:
    """Return the p-value of Wilcoxon's signed-rank test of paired values."""
    from scipy.stats import wilcoxon

    result: Any = wilcoxon(values, others, alternative=alternative, zero_method=zero_method)
    return float(result.pvalue)
