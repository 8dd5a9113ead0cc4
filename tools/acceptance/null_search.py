"""Searches among equal configurations: whether their confirmation shows what is not there.

Forty configurations err alike over all seeds and images. Each is trained with a seed, the best
three by validation are trained again on five fresh ones, and their test errors are held against
the base's.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from search_spaces import Confirm, Search
from search_spaces.plans.decisions import Cell
from sweeps.aggregation.results.comparisons import Comparison, comparisons
from sweeps.execution.search.decider import best_arms
from sweeps.execution.search.observation import Observation
from tools.acceptance.drawn_arms import drawn_arm, drawn_predictions
from tools.acceptance.figures import Figure, counted
from tools.acceptance.judged_tables import judged_tables, minus_first
from tools.acceptance.networks import Generator
from tools.acceptance.search_runs import PLAIN, SearchRun

PROPOSALS, BEST, FRESH = 40, 3, 5
MOST_BIAS = 0.05  # points
_BOLD = "any bold of the three confirmed, at most .05"


@dataclass(frozen=True)
class Bias:
    """By how much a difference comes out wrong on average, in percentage points.

    Attributes:
        criterion: What has to hold, in words.
        case: Of networks.
        images: Of the test split.
        points: Differences that should be 0 on average.
        context: Other figures of the same draws.
        is_asked: Whether anything is asked of it.
    """

    criterion: str
    case: str
    images: int
    points: Float[np.ndarray, " draws"]
    context: Mapping[str, float]
    is_asked: bool = True

    @property
    def half(self) -> float:
        return 1.96 * float(self.points.std(ddof=1)) / np.sqrt(len(self.points))

    @property
    def holds(self) -> bool:
        return not self.is_asked or abs(self.points.mean()) - self.half <= MOST_BIAS

    def as_line(self) -> str:
        context = "; ".join(f"{name} {value:.3g}" for name, value in self.context.items())
        verdict = "" if not self.is_asked else "yes" if self.holds else "**no**"
        figures = f"{self.points.mean():+.3f} | ± {self.half:.3f} | {verdict} | {context} |"
        return f"| {self.case} | {FRESH} | {self.images:,} | {figures}"


def drawn(generator: Generator, images: int, draws: int) -> Iterator[Figure | Bias]:
    """Count many searches at once: equal configurations can be proposed in any order."""
    parts = [_judged(wrong, images) for wrong in _networks(generator, images, draws)]
    outcomes = {
        name: np.concatenate([part[name] for part in parts]) for part in parts for name in part
    }
    bold, old = outcomes["bold"], outcomes["old bold"]
    context = {"first chosen in bold": outcomes["first bold"].mean(), "old rule": old.mean()}
    name = generator.name
    yield Figure(_BOLD, name, FRESH, images, *counted(bold), most=0.05, context=context)
    context = {"by validation images, as before": outcomes["old first"].mean()}
    criterion = "bias of rank 1, the first chosen, in points, within .05"
    yield Bias(criterion, name, images, outcomes["first"], context)
    context = {"by validation images, as before": outcomes["old ranked"].mean()}
    criterion = "bias of the first by the fresh seeds' validation, which is why it is not rank 1"
    yield Bias(criterion, name, images, outcomes["ranked"], context, is_asked=False)


def searched(generator: Generator, images: int, draws: int) -> Iterator[Figure | Bias]:
    """Count searches that were made one by one, as the product makes, confirms and judges them."""
    bold, first = list[bool](), list[float]()
    for number, wrong in enumerate(w for part in _networks(generator, images, draws) for w in part):
        compared = _confirmed(wrong, images, number)
        bold.append(any(comparison.is_different for comparison in compared))
        first.append(100 * (compared[0].difference.mean or 0.0))
    case = f"{generator.name}, TPE"
    yield Figure(_BOLD, case, FRESH, images, *counted(np.array(bold)), most=0.05)
    criterion = "bias of the first chosen, in points, within .05"
    yield Bias(criterion, case, images, np.array(first), {})


def _networks(
    generator: Generator, images: int, draws: int
) -> Iterator[Bool[np.ndarray, "draws arms seeds images"]]:
    """Yield the base and all configurations, on one seed and fresh ones, on both splits."""
    errors = [generator.error] * (1 + PROPOSALS)
    yield from generator.parts(f"search {images}", errors, (draws, 1 + FRESH, 2 * images))


def _judged(
    wrong: Bool[np.ndarray, "draws arms seeds images"], images: int
) -> dict[str, Float[np.ndarray, " draws"]]:
    """Return the outcomes of a part of the searches, in points and shares."""
    validation, test = wrong[..., :images], wrong[..., images:]
    arms = np.array([[0, *chosen_from(errors[1:, 0].mean(axis=-1))] for errors in validation])
    rows = np.arange(len(wrong))[:, None]
    tables = judged_tables(test[rows, arms, 1:])
    by_validation = validation[rows, arms, 1:]
    before = judged_tables(by_validation)
    ranked = by_validation[:, 1:].sum(axis=(2, 3)).argmin(axis=1)
    return {
        "bold": np.asarray(tables.is_bold.any(axis=1)),
        "first bold": tables.is_bold[:, 0],
        "old bold": np.asarray(before.was_bold.any(axis=1)),
        "first": 100 * tables.way.mean[:, 0],
        "ranked": 100 * tables.way.mean[rows[:, 0], ranked],
        "old first": 100 * before.way.mean[:, 0],
        "old ranked": 100 * minus_first(by_validation)[rows[:, 0], ranked].mean(axis=(1, 2)),
    }


def chosen_from(errors: Sequence[float] | Float[np.ndarray, " proposals"]) -> list[int]:
    """Return the places of the chosen among the base and the proposals, of whose seeds' errors."""
    went = [Observation("complete", float(error), 1) for error in errors]
    keys = [str(number) for number in range(len(went))]
    return [number + 1 for number in best_arms(went, keys, BEST, by_loss=False)]


def _confirmed(
    wrong: Bool[np.ndarray, "arms seeds images"], images: int, number: int
) -> list[Comparison]:
    def train(cell: Cell) -> list[float]:
        return [float(wrong[run.number(cell) + 1, 0, :images].mean())]

    confirm = Confirm(best=BEST, seeds=tuple(range(101, 101 + FRESH)))
    plan = Search(space=PLAIN, trials=PROPOSALS, sampler_seed=number, confirm=confirm)
    run = SearchRun(plan, train)
    run.to_its_end()
    places = {name: run.known.names.index(name) + 1 for name in run.chosen}
    fresh = {name: wrong[place, 1:, images:] for name, place in {"base": 0, **places}.items()}
    arms = [drawn_arm(name, rows) for name, rows in fresh.items()]
    return comparisons(arms, drawn_predictions(fresh))
