"""Analysis of variance with seeds as blocks: what each term of a model of the arms explains."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from sweeps.aggregation.statistics.contrasts import Contrast


@dataclass(frozen=True)
class BlockAnova:
    """Sums of squares, each of a term beyond all others but those that contain it (type II).

    Attributes:
        squares: Sum of squares of each term.
        degrees: Degrees of freedom of each term.
        residual: Sum of squares that nothing explains.
        residual_degrees: Its degrees of freedom.
        total: Sum of squares of the arms, seeds as blocks taken out.
    """

    squares: tuple[float, ...]
    degrees: tuple[int, ...]
    residual: float
    residual_degrees: int
    total: float

    @property
    def error(self) -> float | None:
        """Mean square of the residual, None where there is no degree of freedom for one."""
        return self.residual / self.residual_degrees if self.residual_degrees > 0 else None

    def f_value(self, place: int) -> float | None:
        """Return F of a term, None where there is no residual to hold it against."""
        if not self.error or not self.degrees[place]:
            return None
        return self.squares[place] / self.degrees[place] / self.error

    def p_value(self, place: int) -> float | None:
        """Return the p value of a term that does nothing, over new seeds alone."""
        from scipy.special import fdtrc

        f_value = self.f_value(place)
        if f_value is None:
            return None
        return float(fdtrc(self.degrees[place], self.residual_degrees, f_value))


def block_anova(errors: Float[np.ndarray, "arms seeds"], terms: Sequence[Contrast]) -> BlockAnova:
    """Return what each term explains of errors, every arm having every seed.

    Source: type II sums of squares, as `statsmodels.stats.anova.anova_lm(typ=2)` of
    `error ~ (A + B + C)**2 + C(seed)`.

    Args:
        errors: Error of each arm and seed.
        terms: Contrasts of the model's terms.
    """
    num_arms, num_seeds = errors.shape
    if not errors.size:
        return BlockAnova((0.0,) * len(terms), (0,) * len(terms), 0.0, 0, 0.0)
    blocks = np.tile(np.eye(num_seeds), (num_arms, 1))
    bases = [np.repeat(term.basis.T, num_seeds, axis=0) for term in terms]
    predictors = np.column_stack([blocks, *bases])
    means = errors.mean(axis=1)
    squares = (num_seeds * float(((term.basis @ means) ** 2).sum()) for term in terms)
    return BlockAnova(
        squares=tuple(squares),
        degrees=tuple(term.degrees for term in terms),
        residual=_unexplained(errors.reshape(-1), predictors),
        residual_degrees=errors.size - int(np.linalg.matrix_rank(predictors)),
        total=_unexplained(errors.reshape(-1), blocks),
    )


def _unexplained(
    errors: Float[np.ndarray, " trials"], predictors: Float[np.ndarray, "trials predictors"]
) -> float:
    """Return the sum of squares that a linear model, fitted by least squares, leaves."""
    residuals = errors - predictors @ (np.linalg.pinv(predictors) @ errors)
    return float(residuals @ residuals)
