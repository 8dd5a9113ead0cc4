"""Whether verdicts over several data sets hold where looks end each arm on each of them alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float

from sweeps.aggregation.statistics.across_data_sets import OverallDifference, overall
from sweeps.aggregation.statistics.families import SIGNIFICANCE, holm_rows
from sweeps.aggregation.statistics.two_way import TwoWay, half_width_by
from tools.acceptance.figures import Figure, counted
from tools.acceptance.judged_tables import JudgedTables, joined, judged_tables
from tools.acceptance.logit_networks import LogitGenerator
from tools.acceptance.looks import LOOKS, Looked, looked_at

COMPARED, IMAGES = 5, 1_000
CELLS = "looks: any cell bold at any look that does not differ, at most .055"
OVERALL = "looks: any overall difference bold, none true, at most .055, by the seeds of each cell"
COVERED = "looks: coverage of the overall difference of the arm where it is least, .94 to .99"
FOUND = "looks: an arm that errs 30 % less on each data set is found overall, reported"
MOST, LEAST, LARGEST = 0.055, 0.94, 0.99
UNLIKE = (1.0, 5**0.5, 1.0, 0.3**0.5, 3**0.5, 1.0)
GENERATORS = (
    LogitGenerator("2 %", 0.02, (0.15, 4.0), 0.5, 0.3, scales=UNLIKE),
    LogitGenerator("10 %", 0.10, (1.0, 6.0), 0.1, 0.35, scales=UNLIKE),
    LogitGenerator("5 %", 0.05, (0.3, 4.0), 0.6, 0.35, scales=UNLIKE),
    LogitGenerator("30 %", 0.30, (0.8, 1.8), 0.5, 0.15, scales=UNLIKE),
)


@dataclass(frozen=True)
class Plans:
    """Plans of looks at several data sets, of many tables.

    Attributes:
        looked: At each data set.
        first: The overall difference by the seeds of the first look alone.
        every: The same by all seeds, had no look ended any arm.
        true: Differences on each data set, by arm.
    """

    looked: tuple[Looked, ...]
    first: OverallDifference
    every: OverallDifference
    true: Float[np.ndarray, "data_sets compared"]

    @cached_property
    def own(self) -> OverallDifference:
        """The overall difference by the seeds that each cell has at its end.

        Each cell's errors are those that its printed interval stands for, see `width_at`.
        """
        return overall([_widened(looked) for looked in self.looked])

    @cached_property
    def plain(self) -> OverallDifference:
        """The same by errors that do not allow for looks."""
        return overall(self.looked)

    @property
    def false_cells(self) -> Bool[np.ndarray, "draws cells"]:
        cells = [
            looked.is_different & (true == 0)
            for looked, true in zip(self.looked, self.true, strict=True)
        ]
        return np.concatenate(cells, axis=1)


def plans(
    case: str, effects: Sequence[Sequence[float]], draws: int, margins: Sequence[float | None]
) -> Plans:
    """Return plans of looks.

    Args:
        case: In words.
        effects: What is added to the error of each compared arm, by data set.
        draws: Tables.
        margins: Of equivalence on each data set.
    """
    looked, first, every = list[Looked](), list[TwoWay](), list[TwoWay]()
    for generator, of_arms, margin in zip(GENERATORS, effects, margins, strict=False):
        errors = [generator.error, *(generator.error + effect for effect in of_arms)]
        parts, starts, ends = list[Looked](), list[JudgedTables](), list[JudgedTables]()
        for wrong in generator.parts(case, errors, (draws, LOOKS[-1], IMAGES)):
            parts.append(looked_at(wrong, LOOKS, margin, len(effects)))
            starts.append(judged_tables(wrong[:, :, : LOOKS[0]]))
            ends.append(judged_tables(wrong))
        names = vars(parts[0])
        together = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        looked.append(Looked(**together))
        first.append(joined(starts).way)
        every.append(joined(ends).way)
    return Plans(tuple(looked), overall(first), overall(every), np.asarray(effects))


def _widened(looked: Looked) -> Looked:
    scale = looked.half_width / half_width_by(looked.errors, 0.95)
    return replace(looked, standard_errors=looked.standard_errors * scale[:, None])


def _bold(difference: OverallDifference) -> Bool[np.ndarray, "draws compared"]:
    return holm_rows(difference.p_value) < SIGNIFICANCE


def rates(
    name: str, effects: Sequence[Sequence[float]], draws: int, margin: float | None
) -> Iterator[Figure]:
    """Count what is bold, and what intervals cover.

    Args:
        name: In words.
        effects: As in `plans`.
        draws: Tables.
        margin: Of equivalence, in points as a fraction.
    """
    made = plans(name, effects, draws, [margin] * len(effects))
    true = made.true.mean(axis=0)
    case = f"{name}, {len(effects)} data sets" + (f", margin {margin:g}" if margin else "")
    of = (case, LOOKS[-1], IMAGES * len(effects))
    false = counted(np.asarray(made.false_cells.any(axis=1)))
    if (made.true == 0).any():
        yield Figure(CELLS, *of, *false, most=MOST)
    by_first, by_own, by_every = _bold(made.first), _bold(made.own), _bold(made.every)
    by_plain = _bold(made.plain)
    seeds = float(np.mean([looked.seeds for looked in made.looked]))
    is_null = np.abs(true) < 1e-12
    context = {
        "by the first look": float(by_first[:, is_null].any(axis=1).mean()),
        "by all seeds": float(by_every[:, is_null].any(axis=1).mean()),
        "without widening": float(by_plain[:, is_null].any(axis=1).mean()),
        "seeds": seeds,
    }
    if is_null.any():
        bold = counted(np.asarray(by_own[:, is_null].any(axis=1)))
        yield Figure(OVERALL, *of, *bold, most=MOST, context=context)
    else:
        context |= {
            "by the first look": float(by_first.mean()),
            "by all seeds": float(by_every.mean()),
            "without widening": float(by_plain.mean()),
        }
        yield Figure(FOUND, *of, *counted(by_own), context=context)
    kinds = {
        "": made.own,
        ", without widening": made.plain,
        ", by the first look": made.first,
        ", by all seeds": made.every,
    }
    for kind, difference in kinds.items():
        covers = np.abs(difference.mean - true) <= difference.half_width()
        worst = counted(covers[:, covers.mean(axis=0).argmin()])
        bias = float(np.abs((difference.mean - true).mean(axis=0)).max())
        context = {
            "mean of all arms": float(covers.mean()),
            "largest bias, standard errors": bias
            / float(np.sqrt(((difference.mean - true) ** 2).mean())),
        }
        ends = () if kind else (LEAST, LARGEST)
        yield Figure(COVERED + kind, *of, *worst, *ends, context=context)


def cases() -> Iterator[tuple[str, list[list[float]], float | None]]:
    """Yield what arms do on 2 and 4 data sets."""
    for margin in (None, 0.02):
        for num in (2, 4):
            yield "no arm differs", [[0.0] * COMPARED] * num, margin
            for points in (0.005, 0.01):
                near, far = [-points] * COMPARED, [points * (num - 1)] * COMPARED
                yield f"-{100 * points:g} points, one more", [near] * (num - 1) + [far], margin
            less = [[-0.3 * generator.error] * COMPARED for generator in GENERATORS[:num]]
            yield "30 % less", less, margin
