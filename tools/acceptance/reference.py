"""Whether a search is said to beat random points at equal compute where it does not.

    OMP_NUM_THREADS=1 python -m tools.acceptance.reference [--draws 10000]

Trainings are drawn, the product's own test judges. Prints a table a criterion. The exit code is 1
if anything does not hold.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from sweeps.aggregation.statistics.families import SIGNIFICANCE, holm_rows
from tools.acceptance import networks
from tools.acceptance.figures import Figure, counted
from tools.acceptance.judged_tables import JudgedTables, judged_tables
from tools.acceptance.networks import Generator
from tools.acceptance.null_search import BEST, FRESH, PROPOSALS

COMPARISONS = 2 * BEST + 1


_MOST = 0.055


_REACH = 1.3  # of the bar: what is found about four times of five


_AT_ONCE = 50  # draws of one set of configurations


_ROLES = 2 + BEST  # base, chosen, random


Levels = Int[np.ndarray, "draws roles"]


def equal(generator: Generator, images: int, draws: int) -> Iterator[Figure]:
    """Count claims where all configurations err alike."""
    better, any_bold, first, detectable = _claims(generator, images, draws, (generator.error,))
    context = {"of the first chosen": first.mean(), "detectable, points": 100 * detectable}
    criterion = "better than random, in bold, where all configurations are equal: at most .055"
    made = counted(np.asarray(better.any(axis=1)))
    yield Figure(criterion, generator.name, FRESH, images, *made, most=_MOST, context=context)
    criterion = "any bold of all comparisons, where all configurations are equal: at most .055"
    yield Figure(criterion, generator.name, FRESH, images, *counted(any_bold), most=_MOST)
    if detectable < generator.error:
        yield _power(generator, images, draws, detectable)


def sloped(generator: Generator, images: int, draws: int) -> Iterator[Figure]:
    """Count claims where configurations differ: what is wrong of them, and what is luck."""
    levels = tuple(generator.error * factor for factor in (1.0, 0.85, 0.7, 0.55, 0.4))
    true, bold = list[Levels](), list[Bool[np.ndarray, "draws chosen"]]()
    for of_roles, tables in _tables(generator, images, draws, levels):
        true.append(of_roles)
        bold.append(_is_bold(*tables)[1] & (tables[1].way.mean < 0))
    level, claimed = np.concatenate(true), np.concatenate(bold)
    is_better = level[:, 1:-1] > level[:, -1:]  # a later level errs less
    made = counted(np.asarray((claimed & ~is_better).any(axis=1)))
    context = {
        "claims that are right, by luck of the draw": (claimed & is_better).any(axis=1).mean()
    }
    criterion = "better than random, in bold, of an arm that is not: at most .055"
    case = f"{generator.name}, five levels of error"
    yield Figure(criterion, case, FRESH, images, *made, most=_MOST, context=context)


def _power(generator: Generator, images: int, draws: int, detectable: float) -> Figure:
    """Count how often the first chosen is found that is better by what the table can show."""
    errors = (generator.error, max(generator.error - detectable, 0.001))
    chance, bold = generator.chance(f"power of reference {images}"), list[Any]()
    levels = np.tile(np.eye(_ROLES, dtype=int)[1], (_AT_ONCE, 1))
    for _ in range(0, min(draws, 4000), _AT_ONCE):
        tables = _confirmed(generator, chance, errors, levels, images)
        bold.append(_is_bold(*tables)[1][:, 0])
    context = {"better by, points": 100 * (errors[0] - errors[1])}
    criterion = "the first chosen better than random by what is detectable, found: at least .8"
    made = counted(np.concatenate(bold))
    return Figure(criterion, generator.name, FRESH, images, *made, least=0.8, context=context)


def _claims(
    generator: Generator, images: int, draws: int, levels: Sequence[float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    better, any_bold, detectable = list[Any](), list[Any](), list[Any]()
    for _, tables in _tables(generator, images, draws, levels):
        of_base, of_random = _is_bold(*tables)
        better.append(of_random & (tables[1].way.mean < 0))
        any_bold.append(np.concatenate([of_base, of_random], axis=1).any(axis=1))
        detectable.append(_REACH * tables[1].way.half_width(1 - SIGNIFICANCE / COMPARISONS)[:, 0])
    is_better = np.concatenate(better)
    return (
        is_better,
        np.concatenate(any_bold),
        is_better[:, 0],
        float(np.median(np.concatenate(detectable))),
    )


def _tables(
    generator: Generator, images: int, draws: int, levels: Sequence[float]
) -> Iterator[tuple[Levels, tuple[JudgedTables, JudgedTables]]]:
    """Yield which levels the base, the chosen and the best random one have, and their tables."""
    chance = generator.chance(f"reference {images} {len(levels)}")
    num_points = 2 * PROPOSALS + 1
    for start in range(0, draws, _AT_ONCE):
        size = min(_AT_ONCE, draws - start)
        of_points = chance.integers(len(levels), size=num_points)
        errors = [levels[level] for level in of_points]
        errors = generator.wrong(chance, errors, (size, 1, images))[:, :, 0].mean(axis=-1)
        searched, random = errors[:, :PROPOSALS], errors[:, PROPOSALS:]
        chosen = np.argsort(searched, axis=1, kind="stable")[:, :BEST]
        best = PROPOSALS + random.argmin(axis=1)[:, None]
        places = np.concatenate([chosen, best], axis=1)
        of_roles = np.concatenate([np.zeros((size, 1), int), of_points[places]], axis=1)
        yield of_roles, _confirmed(generator, chance, levels, of_roles, images)


def _confirmed(
    generator: Generator,
    chance: np.random.Generator,
    levels: Sequence[float],
    of_roles: Levels,
    images: int,
) -> tuple[JudgedTables, JudgedTables]:
    """Return the tables of the base with all others, and of the random best with the chosen."""
    draws, roles = of_roles.shape
    errors = [error for _ in range(roles) for error in levels]
    wrong = generator.wrong(chance, errors, (draws, FRESH, images))
    wrong = wrong.reshape(draws, roles, len(levels), FRESH, images)
    by_role = np.take_along_axis(wrong, of_roles[:, :, None, None, None], axis=2)[:, :, 0]
    return judged_tables(by_role), judged_tables(by_role[:, [-1, *range(1, 1 + BEST)]])


def _is_bold(of_base: JudgedTables, of_random: JudgedTables) -> tuple[np.ndarray, np.ndarray]:
    """Return which arms are bold against either, by Holm over all comparisons."""
    adjusted = holm_rows(np.concatenate([of_base.p_value, of_random.p_value], axis=1))
    is_rare = adjusted < SIGNIFICANCE
    at = of_base.p_value.shape[1]
    return is_rare[:, :at] & of_base.has_spread, is_rare[:, at:] & of_random.has_spread


_HEAD = "| networks | seeds | images | rate | 95 % | holds | beside |"


def main() -> int:
    """Count, and print."""

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=10_000, help="searches a rate")
    draws = parser.parse_args().draws
    by_criterion = dict[str, list[Figure]]()
    for generator in (networks.IMAGES_DOMINATE, networks.SEEDS_DOMINATE, networks.BOTH_MATTER):
        for count in (equal, sloped):
            for figure in count(generator, 359, draws):
                by_criterion.setdefault(figure.criterion, []).append(figure)
                print(figure.as_line(), file=sys.stderr)
    for criterion, figures in by_criterion.items():
        print(f"\n**{criterion}**\n\n{_HEAD}\n|{' :--- |' * (_HEAD.count('|') - 1)}")
        for figure in figures:
            print(figure.as_line())
    return 0 if all(figure.holds for figures in by_criterion.values() for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
