"""Whether verdicts on all pairs of arms hold, and whether Tukey's or Holm's rule finds more."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.interpolate import CubicSpline

from sweeps.aggregation.statistics.all_pairs import places_of_pairs, range_quantile, share_pairs
from sweeps.aggregation.statistics.covariances import mean_covariances
from sweeps.aggregation.statistics.equivalence import beyond_margin
from sweeps.aggregation.statistics.families import SIGNIFICANCE
from sweeps.aggregation.statistics.shared_seeds import own_variances
from sweeps.aggregation.statistics.two_way import TwoWay, two_way
from tools.acceptance.criteria import GUESSES_WRONG, AnyGenerator
from tools.acceptance.figures import Figure, counted
from tools.acceptance.judged_tables import holm_rows, log_e_rows

_NO_SPREAD = 1e-20
_KNOTS = 16
_FEWEST_DEGREES = 2.0

BOLD = "any pair bold where no arm differs, at most .055 (.079 with one wild arm)"
COVERAGE = "coverage of a pair's difference, mean of all pairs, at least .94"
WORST = "coverage of the pair where it is least, reported"
AT_ONCE = "all simultaneous intervals of a table hold, at least .94 (.92 with one wild arm)"
POWER = "bold of a pair that differs, reported"
PEEKING = "any pair bold at any of ten looks, at most .1"
EQUIVALENT = '"equivalent" of any pair that differs by the margin, at most .05'
MOST, MOST_WILD, LEAST, LEAST_WILD, MOST_PEEKING = 0.055, 0.079, 0.94, 0.92, 0.1


@dataclass(frozen=True)
class JudgedPairs:
    """Many tables of three or more arms of which all pairs were compared.

    Attributes:
        way: Of each table and pair.
        num_arms: Of each table.
        errors: Mean error of each arm by seed.
    """

    way: TwoWay
    num_arms: int
    errors: Float[np.ndarray, "draws arms seeds"]

    @property
    def is_bold(self) -> Bool[np.ndarray, "draws pairs"]:
        """By the product's rule."""
        return self.is_bold_at(SIGNIFICANCE)

    def is_bold_at(self, level: float) -> Bool[np.ndarray, "draws pairs"]:
        """Where seeds were added the level is half of it, and evidence is needed as well."""
        return (np.abs(self.way.mean) > self.half_width(level)) & (self.way.over_seeds > 0)

    @property
    def is_bold_by_holm(self) -> Bool[np.ndarray, "draws pairs"]:
        """By the other rule, with the same variances."""
        return holm_rows(self.way.p_value) < SIGNIFICANCE

    def half_width(self, level: float = SIGNIFICANCE) -> Float[np.ndarray, "draws pairs"]:
        """Return half the width of the intervals that hold at once."""
        widths = [
            _quantiles(self.num_arms, np.broadcast_to(degrees, error.shape), level) * error
            for error, degrees in self.way.errors
        ]
        return np.max(widths, axis=0)

    @property
    def evidence(self) -> Float[np.ndarray, "draws pairs"]:
        first, second = places_of_pairs(self.num_arms)
        return log_e_rows(self.errors[:, second] - self.errors[:, first])


def judged_pairs(wrong: Bool[np.ndarray, "draws arms seeds images"]) -> JudgedPairs:
    """Return tables of all pairs, each the second arm less the first."""
    num_arms, num_seeds, num_images = wrong.shape[1:]
    errors, places = wrong.mean(axis=-1), places_of_pairs(wrong.shape[1])
    means, parts = errors.mean(axis=-1), mean_covariances(wrong.astype(float))
    over_seeds = _of_pairs(parts.over_seeds, places)
    way = TwoWay(
        mean=means[:, places[1]] - means[:, places[0]],
        over_seeds=np.where(over_seeds > _NO_SPREAD, over_seeds, 0.0),
        over_images=_of_pairs(parts.over_images, places),
        residual=_of_pairs(parts.residual, places),
        largest=np.zeros_like(over_seeds),
        num_seeds=num_seeds,
        num_clusters=num_images,
    )
    return JudgedPairs(share_pairs(way, own_variances(errors), places), num_arms, errors)


def _of_pairs(
    covariance: Float[np.ndarray, "draws arms arms"],
    places: tuple[Int[np.ndarray, " pairs"], Int[np.ndarray, " pairs"]],
) -> Float[np.ndarray, "draws pairs"]:
    """Return the variance of each pair's difference."""
    first, second = places
    own = np.diagonal(covariance, axis1=-2, axis2=-1)
    joint = covariance[:, first, second]
    return np.maximum(own[:, first] + own[:, second] - 2 * joint, 0.0)


@cache
def _spline(num_arms: int, level: float) -> CubicSpline:
    """Return the logarithm of `range_quantile` by the inverse of the degrees of freedom."""
    inverse = np.linspace(1e-5, 1 / _FEWEST_DEGREES, _KNOTS)
    at = [range_quantile(num_arms, float(1 / value), level) for value in inverse]
    return CubicSpline(inverse, np.log(at))


def _quantiles(
    num_arms: int, degrees: Float[np.ndarray, "draws pairs"], level: float
) -> Float[np.ndarray, "draws pairs"]:
    """Return `range_quantile` of many degrees of freedom, exact to a hundred-thousandth."""
    return np.exp(_spline(num_arms, level)(1 / degrees))


def under_null(
    generator: AnyGenerator,
    errors: Sequence[float],
    shape: tuple[int, int, int],
    *,
    case: str = "",
    is_wild: bool = False,
) -> Iterator[Figure]:
    """Count what is bold among arms of equal errors, and what intervals cover.

    Args:
        generator: Of the networks.
        errors: Of each arm.
        shape: Tables, seeds and images.
        case: How the arms differ, if they do.
        is_wild: Whether one arm varies far more than the others.
    """
    draws, seeds, images = shape
    first, second = places_of_pairs(len(errors))
    true = np.asarray(errors)[second] - np.asarray(errors)[first]
    names = ("bold", "Holm", "covered", "at once")
    by_name = {name: list[Bool[np.ndarray, "draws pairs"]]() for name in names}
    for wrong in generator.parts(f"pairs {case} {seeds}", errors, (draws, seeds, images)):
        pairs = judged_pairs(wrong)
        off = np.abs(pairs.way.mean - true)
        by_name["bold"].append(pairs.is_bold & (true == 0))
        by_name["Holm"].append(pairs.is_bold_by_holm & (true == 0))
        by_name["covered"].append(off <= pairs.way.half_width())
        by_name["at once"].append(off <= pairs.half_width())
    found = {name: np.concatenate(parts) for name, parts in by_name.items()}
    of = (f"{generator.name}, {len(errors)} arms{case}", seeds, images)
    holm = {"Holm": found["Holm"].any(axis=1).mean()}
    most = MOST_WILD if is_wild else MOST
    yield Figure(
        BOLD, *of, *counted(np.asarray(found["bold"].any(axis=1))), most=most, context=holm
    )
    covered = found["covered"]
    mean = (round(covered.mean() * draws), draws)
    yield Figure(COVERAGE, *of, *mean, LEAST)
    yield Figure(WORST, *of, *counted(covered[:, covered.mean(axis=0).argmin()]))
    all_hold = counted(np.asarray(found["at once"].all(axis=1)))
    yield Figure(AT_ONCE, *of, *all_hold, LEAST_WILD if is_wild else LEAST)


def power(
    generator: AnyGenerator, num_arms: int, seeds: int, images: int, draws: int
) -> Iterator[Figure]:
    """Count bold by both rules where one arm differs, and where arms differ step by step.

    The one arm differs by four standard errors of the median table of equal arms, a step is half
    of that.
    """
    equal = [generator.error] * num_arms
    (pilot, *_) = generator.parts("pairs of equal arms", equal, (60, seeds, images))
    step = 4 * float(np.median(judged_pairs(pilot).way.standard_error))
    first, second = places_of_pairs(num_arms)
    steps = [generator.error + step / 2 * arm for arm in range(num_arms)]
    for name, errors in (("one differs", [*equal[1:], generator.error + step]), ("steps", steps)):
        values = np.minimum(errors, GUESSES_WRONG)
        differs = values[first] != values[second]
        bold, by_holm = list[Bool[np.ndarray, " _"]](), list[Bool[np.ndarray, " _"]]()
        case = f"pairs {name} {seeds}"
        for wrong in generator.parts(case, values.tolist(), (draws, seeds, images)):
            pairs = judged_pairs(wrong)
            bold.append(pairs.is_bold[:, differs].ravel())
            by_holm.append(pairs.is_bold_by_holm[:, differs].ravel())
        context = {"Holm": np.concatenate(by_holm).mean(), "points": 100 * step}
        label = f"{generator.name}, {num_arms} arms, {name}"
        rate = counted(np.concatenate(bold))
        yield Figure(POWER, label, seeds, images, *rate, context=context)


def peeking(
    generator: AnyGenerator, num_arms: int, looks: Sequence[int], images: int, draws: int
) -> Iterator[Figure]:
    """Count tables that show any pair in bold at any look, where no arm differs."""
    first, _ = places_of_pairs(num_arms)
    needed = np.log(len(first) / SIGNIFICANCE)
    ever = list[Bool[np.ndarray, " draws"]]()
    errors = [generator.error] * num_arms
    case = f"pairs peeking {looks}"
    for wrong in generator.parts(case, errors, (draws, looks[-1], images)):
        now = np.zeros(len(wrong), dtype=bool)
        for look in looks:
            pairs = judged_pairs(wrong[:, :, :look])
            guarded = pairs.is_bold_at(SIGNIFICANCE / 2) & (pairs.evidence >= needed)
            now |= (pairs.is_bold if look == looks[0] else guarded).any(axis=1)
        ever.append(now)
    label = f"{generator.name}, {num_arms} arms, {looks[0]} seeds planned"
    rate = counted(np.concatenate(ever))
    yield Figure(PEEKING, label, looks[-1], images, *rate, most=MOST_PEEKING)


def equivalence(
    generator: AnyGenerator, num_arms: int, seeds: int, images: int, draws: int, margin: float
) -> Iterator[Figure]:
    """Count tables that call any pair equivalent which differs by exactly the margin.

    Every second arm errs more by the margin.
    """
    errors = [generator.error + margin * (arm % 2) for arm in range(num_arms)]
    places = first, second = places_of_pairs(num_arms)
    differs = (first + second) % 2 == 1
    called = list[Bool[np.ndarray, " draws"]]()
    for wrong in generator.parts(f"pairs {margin} {seeds}", errors, (draws, seeds, images)):
        of_pairs = wrong[:, second].astype(float) - wrong[:, first]
        way = share_pairs(two_way(of_pairs), own_variances(wrong.mean(axis=-1)), places)
        p_value = beyond_margin(way, margin)
        is_within = (p_value < SIGNIFICANCE / 2) & (holm_rows(p_value) < SIGNIFICANCE)
        is_bold = judged_pairs(wrong).is_bold
        called.append((is_within & ~is_bold & differs).any(axis=1))
    label = f"{generator.name}, {num_arms} arms, {100 * margin:g} points"
    rate = counted(np.concatenate(called))
    yield Figure(EQUIVALENT, label, seeds, images, *rate, most=0.05)
