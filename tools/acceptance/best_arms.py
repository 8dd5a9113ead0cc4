"""Simulations of the set of best arms: how often it contains the truly best arm."""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from sweeps.aggregation.statistics.families import SIGNIFICANCE
from sweeps.aggregation.statistics.two_way import two_way
from tools.acceptance.figures import Figure, counted
from tools.acceptance.judged_tables import holm_rows
from tools.acceptance.networks import Generator

ARMS = 7


def sets_of_best(
    generator: Generator, spacing: float, seeds: int, images: int, draws: int
) -> Iterator[Figure]:
    """Count sets that hold the truly best arm; it stands last, so that ties go against it."""
    errors = spaced(generator.error, spacing)
    holds, named = list[Bool[np.ndarray, " draws"]](), list[Bool[np.ndarray, " draws"]]()
    sizes = list[Int[np.ndarray, " draws"]]()
    case = f"best {spacing} {seeds} {images}"
    for wrong in generator.parts(case, errors, (draws, seeds, images)):
        best = wrong.sum(axis=(2, 3)).argmin(axis=1)
        candidates = not_told_from_rows(best, wrong, generator.objects(images))
        holds.append(candidates[:, -1])
        named.append(best == ARMS - 1)
        sizes.append(candidates.sum(axis=1))
    context = {
        "best by mean is it": np.concatenate(named).mean(),
        "arms in the set": np.concatenate(sizes).mean(),
    }
    label = f"{generator.name}, {100 * spacing:g} points apart"
    criterion = "the set of best arms holds the truly best, at least .95"
    yield Figure(
        criterion, label, seeds, images, *counted(np.concatenate(holds)), 0.95, context=context
    )


def spaced(error: float, spacing: float) -> Sequence[float]:
    """Return errors of arms, the best last."""
    return [error + spacing * place for place in range(ARMS)][::-1]


def not_told_from_rows(
    best: Int[np.ndarray, " draws"],
    wrong: Bool[np.ndarray, "draws arms seeds images"],
    objects: Int[np.ndarray, " images"] | None = None,
) -> Bool[np.ndarray, "draws arms"]:
    """Return the result of `indistinguishable_from` for each draw."""
    rows = np.arange(len(wrong))
    p = two_way(wrong.astype(float) - wrong[rows, best][:, None], objects).p_value
    others = np.array([np.delete(np.arange(wrong.shape[1]), arm) for arm in best])
    adjusted: Float[np.ndarray, "draws arms"] = np.ones_like(p)
    np.put_along_axis(adjusted, others, holm_rows(np.take_along_axis(p, others, axis=1)), axis=1)
    return adjusted >= SIGNIFICANCE
