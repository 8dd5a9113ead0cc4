"""Each arm compared with the baseline: the difference, its uncertainty, and the verdict."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.measured_arms import MeasuredArm, identical_measured, tested_arms
from sweeps.aggregation.results.paired_errors import over_seeds_alone, paired_errors
from sweeps.aggregation.results.predictions import Predictions, SplitPredictions
from sweeps.aggregation.statistics.added_seeds import log_e_value
from sweeps.aggregation.statistics.arm_spread import ArmSpread, reaches
from sweeps.aggregation.statistics.equivalence import beyond_margin
from sweeps.aggregation.statistics.exact_tests import Proportion, more_often_p, share
from sweeps.aggregation.statistics.families import SIGNIFICANCE, Verdict, holm_rows
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.aggregation.statistics.looks import ONLY_LOOK, LookLevel
from sweeps.aggregation.statistics.power import (
    FEWEST_ERRORS,
    Requirement,
)
from sweeps.aggregation.statistics.reach import Reach
from sweeps.aggregation.statistics.shared_seeds import shared_between
from sweeps.aggregation.statistics.tuning_slack import less_slack, tuning_slack
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS, TwoWay
from sweeps.records.manifest import Manifest

MOST_WITH_ADDED = 2 * SIGNIFICANCE
"""How often anything is bold where no arm differs and seeds may be added after looking.

The first look has the whole level. Evidence over seeds does not bound what images do, so that later
looks have more than the half of it that each is judged by: as much again at most, by
`tools/acceptance/statistics.py` (ten looks, 3, 5 and 10 seeds planned).
"""

TOO_FEW_ERRORS = "the baseline errs too seldom"
NO_SPREAD = "the differences of all seeds are equal"
_UNKNOWN_SLACK = "validation predictions of the tunings are missing"
_FEWEST_SEEDS = 2
_ONE_LOOK: Mapping[str, LookLevel] = MappingProxyType({})
_UNTUNED: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True)
class Comparison:
    """One arm, or several with identical results, against the baseline. Errors are fractions.

    Attributes:
        arms: Those with identical results, in the sweep's order; usually one.
        difference: Mean of arm minus baseline over common seeds, with its pointwise interval: over
            seeds and images where `way` is known, else over seeds alone.
        seeds_alone: The same over seeds alone, whatever the images say.
        way: Its parts over seeds and images; None where there are fewer than three seeds or no
            predictions. The variance over seeds is shared with the other comparisons of the table.
        harsh: The same with lost trials as guesses, by its own seeds: those that diverged, and
            those that failed where one arm failed more often. None where there are none.
        why_seeds_alone: Why there is none, "" where there is.
        num_images: Test images, 0 where they are not known.
        num_splits: Splits of the training images among the seeds. From five on `way` speaks of
            other splits as well, else of these alone.
        p_value: Two-sided, of no difference: the larger one, without or with lost trials as
            guesses. Where diverged trials leave too few seeds, that of both arms diverging equally
            often.
        adjusted_p: Adjusted for all comparisons of the table.
        simultaneous: The interval that holds for all comparisons at once.
        reach: The true differences that a next table finds, by the spread of all arms that vary
            alike; None where unknown.
        why_no_reach: Why it is not known what would be found, though it can be tested; else "".
        equivalent_p: p of a difference outside the declared margin; None without a margin.
            Below .025 the 95 % interval lies within it.
        adjusted_equivalent_p: Adjusted for all comparisons of the table.
        num_together: Number of comparisons in the table.
        log_e: Logarithm of evidence that looking does not inflate, where seeds were added.
        look: The level of its verdict, where it is one of several looks.
        slack: How far the arm and the baseline may lie above their best, as tuning was limited.
        verdict: "different" is what stands in bold.
        is_as_logged: Whether the verdict of a look, which the log holds, still follows from the
            records.
        errors: Of the arm, by seed.
    """

    arms: tuple[ArmResults, ...]
    difference: Interval
    seeds_alone: Interval
    way: TwoWay | None = None
    harsh: TwoWay | None = None
    why_seeds_alone: str = ""
    num_images: int = 0
    num_splits: int = 1
    p_value: float | None = None
    adjusted_p: float | None = None
    simultaneous: Interval | None = None
    reach: Reach | None = None
    why_no_reach: str = ""
    equivalent_p: float | None = None
    adjusted_equivalent_p: float | None = None
    num_together: int = 1
    log_e: float | None = None
    look: LookLevel = ONLY_LOOK
    slack: tuple[float, float] = (0.0, 0.0)
    verdict: Verdict = "undecided"
    is_as_logged: bool = True
    errors: Mapping[int, float] = field(default_factory=dict[int, float])

    @property
    def arm(self) -> ArmResults:
        """The first of the identical arms."""
        return self.arms[0]

    @property
    def shown_name(self) -> str:
        """The names of the identical arms as readers see them."""
        return " = ".join(arm.shown_name for arm in self.arms)

    @property
    def level(self) -> float:
        """The bound of the adjusted p; half of it where seeds were added: see `MOST_WITH_ADDED`."""
        return SIGNIFICANCE if self.log_e is None else SIGNIFICANCE / 2

    @property
    def has_spread(self) -> bool:
        """Whether the differences of the seeds are not all equal."""
        return self.way is not None and float(self.way.over_seeds) > 0

    @property
    def is_apart(self) -> bool:
        """Whether it is held to its own seeds as well as to those of all arms."""
        shared = self.way.shared if self.way else None
        return shared is not None and bool(shared.is_apart)

    @property
    def is_different(self) -> bool:
        """Whether it stands in bold."""
        return self.verdict == "different"


def comparisons(
    arms: Sequence[ArmResults],
    predictions: Mapping[str, Predictions],
    *,
    margin: float | None = None,
    planned_seeds: Sequence[int] = (),
    slacks: Mapping[str, float] = _UNTUNED,
) -> list[Comparison]:
    """Return a comparison per group of identical arms, in their order, but for the baseline's.

    Verdicts hold for the whole table together. "different" needs three seeds, images, an adjusted
    p below .05 (it is 1 where all seeds differ alike), also where diverged trials count as
    guesses, and where seeds were added after looking one below .025 and the evidence of `log_e`.
    "equivalent" needs the whole 95 % interval within the margin, had two more images differed as
    much as any, and an adjusted p of a difference beyond the margin below .05.

    Args:
        arms: Arms of a sweep with the baseline; empty if they are still to be chosen.
        predictions: Predictions by trial key, of those trials that have any.
        margin: Differences within it do not matter, a fraction; None where none is declared.
        planned_seeds: Those planned before any were added; empty for all.
        slacks: Arm -> how far it may lie above its best, as `tuning_slacks` returns it.
    """
    if not arms:
        return []
    return comparisons_together(
        [tested_arms(arms, predictions)],
        margin=margin,
        planned_seeds=[planned_seeds],
        slacks=[slacks],
    )[0]


def comparisons_together(
    tables: Sequence[Sequence[MeasuredArm]],
    *,
    margin: float | None = None,
    planned_seeds: Sequence[Sequence[int]] = (),
    slacks: Sequence[Mapping[str, float]] = (),
    judges_divergence: bool = True,
    finds_reach: bool = True,
    family: "Family | None" = None,
) -> list[list[Comparison]]:
    """Return the comparisons of each of several tables, whose verdicts hold for all together.

    Args:
        tables: Tables of arms with the errors that they are compared by, each with its own
            baseline; all else as in `comparisons`.
        margin: The same.
        planned_seeds: Of each table; empty where none were added to any.
        slacks: Of each table; empty where none was tuned.
        judges_divergence: Whether arms of which divergence leaves too few seeds are judged by how
            often they diverge.
        finds_reach: Whether to find what difference each table would show, which takes most of the
            time.
        family: How comparisons share what they know, and hold together; by default each table
            shares, and Holm's holds.
    """
    family = family or Family()
    slacks, planned_seeds = slacks or [{}] * len(tables), planned_seeds or [()] * len(tables)
    baselines = [next(arm for arm in table if arm.arm.is_baseline) for table in tables]
    alone = [
        [family.at_its_look(_compared(group, baseline)) for group in _against(table)]
        for baseline, table in zip(baselines, tables, strict=True)
    ]
    shared = family.shared(alone, baselines)
    compared = [
        [_tested(comparison, baseline.arm, tuned, judges_divergence) for comparison in table]
        for baseline, table, tuned in zip(baselines, shared, slacks, strict=True)
    ]
    compared = family.together(compared)
    for place, (baseline, planned) in enumerate(zip(baselines, planned_seeds, strict=True)):
        shown = [
            _with_evidence(comparison, baseline.errors, planned) for comparison in compared[place]
        ]
        reaches = reaches_of(shown, baseline.errors) if finds_reach else [None] * len(shown)
        why = TOO_FEW_ERRORS if _has_few_errors(shown, baseline.errors) else ""
        compared[place] = [
            _with_margin(_with_reason(_with_reach(comparison, reach), why), margin)
            if comparison.p_value is not None
            else comparison
            for comparison, reach in zip(shown, reaches, strict=True)
        ]
    compared = adjusted(compared, "equivalent_p", family.look, family.look.num_others_apart)
    return [
        [_judged(comparison, baseline.arm) for comparison in table]
        for baseline, table in zip(baselines, compared, strict=True)
    ]


Compared = list[list[Comparison]]
"""Comparisons of several tables."""


class Family:
    """Comparisons that hold together: each table shares its spread, and Holm's holds for all.

    Args:
        looks: Arm -> the level of its verdict, where that is of one of several looks.

    Attributes:
        look: That of the first arm.
    """

    def __init__(self, looks: Mapping[str, LookLevel] = _ONE_LOOK) -> None:
        self._looks = looks
        self.look = next(iter(looks.values()), ONLY_LOOK)

    def at_its_look(self, comparison: Comparison) -> Comparison:
        """Return a comparison with the level of its arm."""
        return replace(comparison, look=self._looks.get(comparison.arm.arm.name, ONLY_LOOK))

    def shared(self, tables: Compared, baselines: Sequence[MeasuredArm]) -> Compared:
        """Return comparisons that share their variances over seeds, without p values.

        Args:
            tables: Those of each table, each by its own seeds.
            baselines: The arm that each table is compared with.
        """
        ways = ways_that_share(tables)
        for number, baseline in enumerate(baselines):
            of_table = {place: way for place, way in ways.items() if place[0] == number}
            errors = [tables[number][place].errors for _, place in of_table]
            shared = shared_between([*of_table.values()], errors, baseline.errors)
            ways |= zip(of_table, shared, strict=True)
        return with_ways(tables, ways)

    def together(self, tables: Compared) -> Compared:
        """Return comparisons with their adjusted p and simultaneous interval, where tested."""
        p_values = [comparison.p_value for table in tables for comparison in table]
        num = self.look.num_others + sum(p_value is not None for p_value in p_values)
        return [
            [
                replace(
                    comparison,
                    num_together=num,
                    simultaneous=comparison.way
                    and comparison.way.interval(
                        comparison.difference.n,
                        comparison.look.confidence(num * comparison.look.num_data_sets),
                    ),
                )
                if comparison.p_value is not None
                else comparison
                for comparison in table
            ]
            for table in adjusted(tables, "p_value", self.look, self.look.num_others)
        ]


def ways_that_share(tables: Compared) -> dict[tuple[int, int], TwoWay]:
    """Return what can share its variance over seeds, by table and place: not over splits."""
    return {
        (number, place): comparison.way
        for number, table in enumerate(tables)
        for place, comparison in enumerate(table)
        if comparison.way is not None and comparison.num_splits == 1
    }


def with_ways(tables: Compared, ways: Mapping[tuple[int, int], TwoWay]) -> Compared:
    """Return comparisons, some with another `way`, by table and place."""
    return [
        [
            replace(comparison, way=ways.get((number, place), comparison.way))
            for place, comparison in enumerate(table)
        ]
        for number, table in enumerate(tables)
    ]


def adjusted(
    tables: Sequence[Sequence[Comparison]],
    name: str,
    look: LookLevel = ONLY_LOOK,
    num_settled: int = 0,
) -> list[list[Comparison]]:
    """Return comparisons with one of their p values adjusted for all of the tables.

    One at a look with less of the level has a p value that is larger in proportion.

    Args:
        tables: The comparisons.
        name: Of the p value.
        look: That of the first one.
        num_settled: Comparisons that earlier looks have settled.
    """
    adjusted_name = f"adjusted_{name.removesuffix('_value')}"
    tested = [
        (getattr(comparison, name), comparison.look)
        for table in tables
        for comparison in table
        if getattr(comparison, name) is not None
    ]
    num = max(len(tested) + num_settled, 1)
    p_values = np.asarray(
        [p_value * (look.share(num) / own.share(num)) for p_value, own in tested], dtype=float
    )
    of_holm = iter(holm_rows(p_values, look.share, num_settled).tolist())
    return [
        [
            comparison
            if getattr(comparison, name) is None
            else replace(comparison, **{adjusted_name: next(of_holm)})
            for comparison in table
        ]
        for table in tables
    ]


def _against(table: Sequence[MeasuredArm]) -> list[list[MeasuredArm]]:
    """Return the groups of identical arms that are not the baseline's."""
    groups = identical_measured(table)
    return [group for group in groups if not any(arm.arm.is_baseline for arm in group)]


def _compared(group: Sequence[MeasuredArm], baseline: MeasuredArm) -> Comparison:
    arm, arms = group[0], tuple(measured.arm for measured in group)
    alone = over_seeds_alone(arm, baseline)
    pairs = paired_errors(arm, baseline)
    without = Comparison(arms, _without_ends(alone), alone, errors=arm.errors)
    if isinstance(pairs, str):
        return replace(without, why_seeds_alone=pairs)
    num_images = pairs.differences.shape[1]
    if why := pairs.why_few:
        return replace(without, why_seeds_alone=why, num_images=num_images)
    guessed = paired_errors(arm, baseline, lost_as_chance=True)
    assert not isinstance(guessed, str)
    return Comparison(
        arms=arms,
        difference=alone,
        seeds_alone=alone,
        way=pairs.two_way(),
        harsh=None if guessed.seeds == pairs.seeds else guessed.two_way(),
        num_images=num_images,
        num_splits=len({*pairs.splits}) or 1,
        errors=arm.errors,
    )


def _tested(
    comparison: Comparison,
    baseline: ArmResults,
    slacks: Mapping[str, float],
    judges_divergence: bool,
) -> Comparison:
    """Return a comparison with its slack and p, if it can be tested."""
    if comparison.way is None and not judges_divergence:
        return comparison
    return _with_p_value(_with_slack(comparison, baseline, slacks), baseline)


def _with_p_value(comparison: Comparison, baseline: ArmResults) -> Comparison:
    """Return a comparison with its interval and p."""
    if comparison.way is None:
        is_lost = min(len(comparison.arm.counted), len(baseline.counted)) < FEWEST_SEEDS
        has_diverged = comparison.arm.count("diverged") or baseline.count("diverged")
        if not is_lost or not has_diverged:
            return comparison
        return replace(comparison, p_value=diverged_p(comparison.arm, baseline))
    return replace(
        comparison,
        difference=comparison.way.interval(comparison.difference.n, comparison.look.confidence(1)),
        p_value=largest_p(comparison, lambda way: float(way.p_value)),
    )


def largest_p(comparison: Comparison, p_of: Callable[[TwoWay], float]) -> float:
    """Return the largest p by a rule: as it is, with lost trials as guesses, and less slack.

    Args:
        comparison: One with a `way`.
        p_of: The rule: the p value of a difference over seeds and images.
    """
    way, harsh = comparison.way, comparison.harsh
    assert way is not None
    if harsh is not None and np.sign(harsh.mean) != np.sign(way.mean):
        return 1.0
    ways = [way] if harsh is None else [way, harsh]
    if any(comparison.slack):
        ways.append(less_slack(way, *map(np.asarray, comparison.slack)))
    return max(map(p_of, ways))


def _with_slack(
    comparison: Comparison, baseline: ArmResults, slacks: Mapping[str, float]
) -> Comparison:
    """Return a comparison that allows for the limited tuning of the arm that came out worse."""
    if comparison.way is None or not slacks:
        return comparison
    slack = (slacks.get(comparison.arm.arm.name, 0.0), slacks.get(baseline.arm.name, 0.0))
    return replace(comparison, slack=slack)


def _without_ends(alone: Interval) -> Interval:
    """Return the mean without an interval for fewer than three seeds: two give a useless one."""
    return alone if alone.n >= FEWEST_SEEDS else replace(alone, low=None, high=None)


def diverged_share(arm: ArmResults) -> Proportion:
    """Return how many of the trials that ended by themselves diverged, with its interval."""
    ended = arm.count("counted") + arm.count("diverged")
    return share(arm.count("diverged"), ended)


def diverged_p(arm: ArmResults, baseline: ArmResults) -> float:
    """Return the p value of both arms diverging equally often."""
    ours, theirs = diverged_share(arm), diverged_share(baseline)
    return more_often_p(int(ours.count), ours.total, int(theirs.count), theirs.total)


def _with_reach(comparison: Comparison, reach: Reach | None) -> Comparison:
    if comparison.way is None:
        return comparison
    slack = max(comparison.slack)
    why = _UNKNOWN_SLACK * (math.isinf(slack) and reach is not None)
    return replace(
        comparison,
        reach=reach.beyond(slack) if reach and math.isfinite(slack) else None,
        why_no_reach=why,
    )


def _with_reason(comparison: Comparison, why_no_reach: str) -> Comparison:
    if comparison.way is None or not why_no_reach:
        return comparison
    return replace(comparison, why_no_reach=why_no_reach)


def _has_few_errors(compared: Sequence[Comparison], of_baseline: Mapping[int, float]) -> bool:
    num_images = max(
        (comparison.num_images for comparison in compared if comparison.way), default=0
    )
    return num_images > 0 and few_errors(num_images, of_baseline.values())


def few_errors(num_images: int, errors: Iterable[float]) -> bool:
    """Return whether networks err too seldom to show how far seeds and images move an arm.

    Args:
        num_images: Of the test split.
        errors: Of the baseline, a fraction a seed.
    """
    return round(num_images * sum(errors)) < FEWEST_ERRORS


def reaches_of(
    compared: Sequence[Comparison], of_baseline: Mapping[int, float]
) -> list[Reach | None]:
    """Return the true differences of each arm that a next table finds.

    Args:
        compared: The comparisons of the table.
        of_baseline: Errors of the arm that they are with, by seed.

    Returns:
        One for each comparison; None where nothing can be found, or too little is known.
    """
    known = [(comparison, comparison.way) for comparison in compared if comparison.way is not None]
    if not any(float(way.over_seeds) for _, way in known) or _has_few_errors(compared, of_baseline):
        return [None] * len(compared)
    num_together = max(comparison.num_together for comparison, _ in known)
    has_splits = any(comparison.num_splits > 1 for comparison, _ in known)
    has_added = any(comparison.log_e is not None for comparison, _ in known)
    asked = Requirement(
        known[0][0].look.of_each_together(num_together) / (2 if has_added else 1),
        evidence_needed(num_together) if has_added else None,
        num_sharing=1 if has_splits else len(known),
    )
    arms = [
        ArmSpread(comparison.arm.arm.name, comparison.errors, of_baseline, way)
        for comparison, way in known
    ]
    by_arm = reaches(arms, asked)
    return [by_arm.get(comparison.arm.arm.name) for comparison in compared]


def evidence_needed(num_comparisons: int) -> float:
    """Return what the logarithm of the evidence has to reach for a difference to be bold."""
    return math.log(num_comparisons / SIGNIFICANCE)


def _with_evidence(
    comparison: Comparison, of_baseline: Mapping[int, float], planned_seeds: Sequence[int]
) -> Comparison:
    of_arm = comparison.errors
    common = [seed for seed in of_arm if seed in of_baseline]
    if comparison.p_value is None or not planned_seeds or {*common} <= {*planned_seeds}:
        return comparison
    return replace(
        comparison, log_e=log_e_value([of_arm[seed] - of_baseline[seed] for seed in common])
    )


def _with_margin(comparison: Comparison, margin: float | None) -> Comparison:
    if margin is None or comparison.way is None or margin <= max(comparison.slack):
        return comparison
    return replace(
        comparison,
        equivalent_p=float(beyond_margin(comparison.way, margin - max(comparison.slack))),
    )


def _judged(comparison: Comparison, baseline: ArmResults) -> Comparison:
    log_e = comparison.log_e
    is_shown = log_e is None or log_e >= evidence_needed(comparison.num_together)
    is_rare = comparison.adjusted_p is not None and comparison.adjusted_p < comparison.level
    if is_rare and is_shown:
        return replace(comparison, verdict="different")
    alone, together = comparison.equivalent_p, comparison.adjusted_equivalent_p
    is_within = alone is not None and alone < comparison.look.of_each(1) / 2
    holds_for_all = together is not None and together < SIGNIFICANCE
    has_diverged = comparison.arm.count("diverged") or baseline.count("diverged")
    if is_within and holds_for_all and not has_diverged:
        return replace(comparison, verdict="equivalent")
    return comparison


def tuning_slacks(
    manifest: Manifest, predictions: Mapping[str, Predictions]
) -> Mapping[str, float]:
    """Return how far each arm may lie above the best point tried for it; empty if untuned.

    A fraction of the validation images. It is infinite where it is unknown: with one tuning seed,
    or without predictions of the validation images. A point with an unfinished trial is not better.

    Args:
        manifest: The sweep's manifest.
        predictions: Predictions by trial key.
    """
    plan = manifest.plan
    if plan is None or not plan.tuned:
        return {}
    keys = manifest.cell_keys()
    seeds = plan.choosing_seeds
    slacks: dict[str, float] = {}
    for arm, tried in plan.tuned.items():
        validated = {
            point: [_validated(keys, predictions, point, seed) for seed in seeds] for point in tried
        }
        complete = {point: [j for j in row if j] for point, row in validated.items() if all(row)}
        chosen = next((point for point in tried if point in (plan.chosen or ())), "")
        slacks[arm] = _slack(complete, chosen) if len(seeds) >= _FEWEST_SEEDS else math.inf
    return slacks


def _validated(
    keys: Mapping[tuple[str, int], str], predictions: Mapping[str, Predictions], arm: str, seed: int
) -> SplitPredictions | None:
    predicted = predictions.get(keys.get((arm, seed), ""))
    return predicted.validation if predicted else None


def _slack(judged: Mapping[str, list[SplitPredictions]], chosen: str) -> float:
    if chosen not in judged:
        return math.inf
    first = judged[chosen][0]
    if not all(predicted.shows_the_same(first) for row in judged.values() for predicted in row):
        return math.inf
    if len(judged) == 1:
        return 0.0
    wrong = np.stack([[predicted.errors for predicted in row] for row in judged.values()])
    return float(tuning_slack(wrong, np.asarray([*judged].index(chosen)), first.objects))
