"""Contrasts: which arms, with which weights, tell what each factor does and each two together."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
from jaxtyping import Float, Int

Term = tuple[int, ...]
"""Places of the factors that act: one for a main effect, two for an interaction."""

Columns = Float[np.ndarray, "arms _"]

ABSENT = -1
_NOTHING = 1e-9  # of the length of a column: what rounding leaves of one that others explain


@dataclass(frozen=True)
class Contrast:
    """What a term adds to a model of the arms.

    Attributes:
        term: Which one.
        basis: Rows of length 1, at right angles; none where the arms cannot tell the term.
        num_wanted: Number of rows if every combination were there.
        effect: Weights whose sum over the arms is the term's effect; None where one figure does
            not tell it.
        unit: How large an effect of two levels is, the others halfway, that lies 1 off 0.
    """

    term: Term
    basis: Float[np.ndarray, "degrees arms"]
    num_wanted: int
    effect: Float[np.ndarray, " arms"] | None
    unit: float = 1.0

    @property
    def degrees(self) -> int:
        """Degrees of freedom."""
        return len(self.basis)


def all_terms(num_factors: int) -> tuple[Term, ...]:
    """Return the main effects, and then the interactions of two."""
    return tuple(term for size in (1, 2) for term in combinations(range(num_factors), size))


def contrasts(
    levels: Int[np.ndarray, "arms factors"], num_levels: Sequence[int], terms: Sequence[Term]
) -> list[Contrast]:
    """Return what each term adds to all others but those that contain it (type II).

    Where every combination is there once, these are the textbook's: a main effect of two levels is
    the mean of the arms at the second less that at the first, an interaction half the difference
    of two such differences.

    Args:
        levels: Places of each arm's levels; `ABSENT` where the arm does not have the factor, which
            then says nothing of it.
        num_levels: Number of levels of each factor.
        terms: Those of the model. One that only aliases another is not among them.
    """
    columns = {term: columns_of(levels, num_levels, term) for term in terms}
    made = (_contrast(term, columns, len(levels)) for term in terms)
    return [
        contrast
        if contrast.effect is not None
        else replace(contrast, unit=_unit(contrast, levels, num_levels))
        for contrast in made
    ]


def columns_of(
    levels: Int[np.ndarray, "arms factors"], num_levels: Sequence[int], term: Term
) -> Float[np.ndarray, "arms columns"]:
    """Return a term's columns of a model; a term of two-level factors has one column."""
    columns = np.full((len(levels), 1), 0.5)
    for place in term:
        at = levels[:, place]
        above = np.arange(1, num_levels[place])
        of_factor = (at[:, None] == above).astype(float) - (at[:, None] == 0)
        size = columns.shape[1] * of_factor.shape[1]
        columns = (columns[:, :, None] * of_factor[:, None, :]).reshape(len(levels), size)
    return columns


def differences_from_first(
    levels: Int[np.ndarray, "arms factors"],
    num_levels: Sequence[int],
    terms: Sequence[Term],
    place: int,
) -> list[Float[np.ndarray, " arms"] | None]:
    """Return weights that give each other level of a factor less its first, as `contrasts` does.

    None stands for a level that the arms cannot tell.
    """
    columns = {term: columns_of(levels, num_levels, term) for term in terms}
    others = _others((place,), columns, len(levels))
    at, num = levels[:, [place]], num_levels[place]
    of_factor = np.where(at == ABSENT, 1 / num, at == np.arange(1, num))
    weights: list[Float[np.ndarray, " arms"] | None] = []
    for column in range(of_factor.shape[1]):
        explained = np.column_stack([others, np.delete(of_factor, column, axis=1)])
        weights.append(_weights(_residuals(of_factor[:, [column]], explained)))
    return weights


def _contrast(term: Term, columns: dict[Term, Columns], num_arms: int) -> Contrast:
    of_term = columns[term]
    residuals = _residuals(of_term, _others(term, columns, num_arms))
    basis = _basis(residuals)
    effect = _weights(residuals) if of_term.shape[1] == 1 else None
    return Contrast(term, basis, of_term.shape[1], effect)


def _unit(
    contrast: Contrast, levels: Int[np.ndarray, "arms factors"], num_levels: Sequence[int]
) -> float:
    """Return the size of that effect of two levels which shows least."""
    pairs = (tuple(combinations(range(num_levels[place]), 2)) for place in contrast.term)
    lengths: list[float] = []
    for chosen in product(*pairs):
        pattern = np.full(len(levels), 0.5)
        for place, (first, second) in zip(contrast.term, chosen, strict=True):
            pattern = pattern * ((levels[:, place] == second) * 1.0 - (levels[:, place] == first))
        lengths.append(float(np.linalg.norm(contrast.basis @ pattern)))
    shown = [length for length in lengths if length > _NOTHING]
    return 1 / min(shown) if shown else math.inf


def _others(term: Term, columns: dict[Term, Columns], num_arms: int) -> Columns:
    of_others = [of_term for other, of_term in columns.items() if not {*term} <= {*other}]
    return np.column_stack([np.ones((num_arms, 1)), *of_others])


def _residuals(
    columns: Float[np.ndarray, "arms columns"], others: Float[np.ndarray, "arms others"]
) -> Float[np.ndarray, "arms columns"]:
    """Return what columns hold beyond others, exactly nothing where that is only rounding."""
    if not len(columns):
        return columns
    fitted, *_ = np.linalg.lstsq(others, columns, rcond=None)
    residuals = columns - others @ fitted
    is_some = np.linalg.norm(residuals, axis=0) > _NOTHING * np.linalg.norm(columns, axis=0)
    return np.where(is_some, residuals, 0.0)


def _basis(residuals: Float[np.ndarray, "arms columns"]) -> Float[np.ndarray, "degrees arms"]:
    across, lengths, _ = np.linalg.svd(residuals, full_matrices=False)
    is_some = lengths > _NOTHING * max(float(lengths.max(initial=0.0)), _NOTHING)
    return across[:, is_some].T


def _weights(residuals: Float[np.ndarray, "arms 1"]) -> Float[np.ndarray, " arms"] | None:
    squares = float((residuals**2).sum())
    return residuals[:, 0] / squares if squares else None
