"""Arms compared by what evaluations found of them, by the rule that compares their test errors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from capsmodel.metrics import Metric, trapezoid_weights
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import Comparison, comparisons_together
from sweeps.aggregation.results.data_set_results import (
    DataSetColumn,
    DataSetResults,
    OverallComparison,
)
from sweeps.aggregation.results.mean_errors import MeanOfArm, mean_by_image
from sweeps.aggregation.results.measured_arms import ImageErrors, MeasuredArm
from sweeps.aggregation.results.paired_errors import PairedErrors, why_not_by_image
from sweeps.aggregation.results.planned_looks import (
    comparisons_at_looks,
    comparisons_beside_looks,
    margin_of,
)
from sweeps.aggregation.results.predictions import Predictions, SplitPredictions, WrongImages
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.records.manifest import Manifest
from sweeps.records.manifest_evaluation import ManifestEvaluation
from sweeps.records.trial_record import TrialRecord

FindImages = Callable[[TrialRecord], ImageErrors | None]
NO_VALUES = "values by image, or predictions, are missing"
SPLITS_DIFFER = "each split has validation images of its own"


@dataclass(frozen=True)
class EvaluatedFigure:
    """A number that an evaluation gives of each network: one metric, or the mean under a curve.

    Attributes:
        metric: What the number is. The metric of a curve stands at no point of the curve.
        weights: Name of a metric -> its weight in the number. The weights add up to 1.
    """

    evaluation: ManifestEvaluation
    metric: Metric
    weights: Mapping[str, float]

    @property
    def is_error(self) -> bool:
        """Whether it is a share of images that are classified wrongly, as its name says."""
        return "error" in self.metric.name.split(".")[0].split("_") and self.metric.is_fraction

    @property
    def is_better_larger(self) -> bool:
        """Whether a larger one is better."""
        return self.metric.direction == "larger"


@dataclass(frozen=True)
class ComparedFigure:
    """A figure of all arms, and how each differs from the baseline.

    Attributes:
        arms: In the sweep's order, each with the figure of its trials.
        compared: By groups of identical arms; empty where there is no baseline.
    """

    figure: EvaluatedFigure
    arms: tuple[MeasuredArm, ...]
    compared: tuple[Comparison, ...] = ()

    @property
    def is_by_image(self) -> bool:
        """Whether the values of images are known of any arm."""
        return any(arm.by_image for arm in self.arms)

    @property
    def by_arm(self) -> Mapping[str, Comparison]:
        """Name of an arm -> its comparison."""
        return {arm.arm.name: comparison for comparison in self.compared for arm in comparison.arms}


@dataclass(frozen=True)
class ComparedEvaluation:
    """An evaluation by which arms are compared.

    Attributes:
        primary: The figure that verdicts are on; they hold for the figures of all evaluations.
        points: Each point of its curve; their verdicts hold for all points of this evaluation.
    """

    primary: ComparedFigure
    points: tuple[ComparedFigure, ...] = ()

    @property
    def evaluation(self) -> ManifestEvaluation:
        """The evaluation."""
        return self.primary.figure.evaluation

    def is_marked(self, arm: str, point: ComparedFigure) -> bool:
        """Return whether a point of an arm stands in bold: only where its primary figure does."""
        decided, at_point = self.primary.by_arm.get(arm), point.by_arm.get(arm)
        return bool(decided and decided.is_different and at_point and at_point.is_different)


def evaluation_comparisons(
    manifest: Manifest,
    arms: Sequence[ArmResults],
    wrong: WrongImages,
    predictions: Mapping[str, Predictions],
) -> list[ComparedEvaluation]:
    """Return the evaluations that name a primary figure, in their order.

    Arms are compared by those of which the values of images are known.

    Args:
        manifest: The sweep's evaluations, margin and planned seeds.
        arms: With their trials.
        wrong: Values by image of the evaluations' metrics.
        predictions: Predictions by trial key, which say what each image shows.
    """
    stopped = {(cell.arm, cell.seed) for cell in manifest.cells if cell.stopped}

    def by_image(figure: EvaluatedFigure) -> FindImages:
        return partial(_by_image, figure, wrong, predictions)

    def compared(
        figures: Sequence[EvaluatedFigure], *, finds_reach: bool = True
    ) -> list[ComparedFigure]:
        each = [
            ComparedFigure(
                figure, tuple(_measured(figure, arm, stopped, by_image(figure)) for arm in arms)
            )
            for figure in figures
        ]
        return _compared(manifest, each, finds_reach=finds_reach)

    primaries = [primary_figure(evaluation) for evaluation in manifest.evaluations]
    return [
        ComparedEvaluation(primary, tuple(compared(points_of(primary.figure), finds_reach=False)))
        for primary in compared([figure for figure in primaries if figure])
    ]


def primary_figure(evaluation: ManifestEvaluation) -> EvaluatedFigure | None:
    """Return the figure that arms are compared by; None where the evaluation names none."""
    for metric in evaluation.metrics:
        if metric.name == evaluation.primary:
            return EvaluatedFigure(evaluation, metric, {metric.name: 1.0})
    points = [
        metric for metric in evaluation.metrics if metric.at and metric.curve == evaluation.primary
    ]
    if len(points) < 2:
        return None
    weights = trapezoid_weights(point.at.value for point in points if point.at)
    return EvaluatedFigure(
        evaluation,
        curve_metric(points[0]),
        {metric.name: weight for metric, weight in zip(points, weights, strict=True)},
    )


def curve_metric(point: Metric) -> Metric:
    """Return the metric that a curve has points of, without a place on its axis."""
    text = point.words.removesuffix(f", {point.at.text}") if point.at else point.words
    return point.model_copy(update={"name": point.curve, "words": text, "curve": "", "at": None})


def points_of(primary: EvaluatedFigure) -> list[EvaluatedFigure]:
    """Return the points of the curve under which a figure is the mean.

    Of a figure that is a metric itself, those of its evaluation's first curve, if there is one.
    """
    metrics = primary.evaluation.metrics
    curves = [metric.curve for metric in metrics if metric.at]
    curve = primary.metric.name if primary.metric.name in curves else next(iter(curves), "")
    return [
        EvaluatedFigure(primary.evaluation, metric, {metric.name: 1.0})
        for metric in metrics
        if metric.at and metric.curve == curve
    ]


def mean_of_measured(arm: MeasuredArm) -> MeanOfArm:
    """Return the mean of an arm's figure, with its interval where all its images are known."""
    known = [arm.by_image[seed] for seed in arm.errors if seed in arm.by_image]
    is_known = len(known) == len(arm.errors) and all(k.shows_the_same(known[0]) for k in known)
    is_one = len({k.data_fingerprint for k in known}) == 1
    if not is_known or not is_one or arm.why_alone:
        return mean_by_image(arm.arm, arm.errors, None)
    return mean_by_image(arm.arm, arm.errors, [k.values for k in known], known[0].objects)


def difference_from_clean(
    arm: MeasuredArm, figure: EvaluatedFigure, predictions: Mapping[str, Predictions]
) -> Interval | None:
    """Return by how much an arm's figure is above its own test error on the same images.

    Its ends cover new seeds and new images, where there are enough of both. None where the figure
    is no error, or some of its images are not those that the trial was tested on.

    Args:
        arm: With its values.
        figure: What its errors are.
        predictions: Predictions by trial key.
    """
    seeds = tuple(arm.errors)
    known = [arm.by_image.get(seed) for seed in seeds]
    clean = [
        values and _shown(figure, predictions.get(trial.trial_key), len(values.values))
        for trial, values in zip((arm.arm.counted[seed] for seed in seeds), known, strict=True)
    ]
    if not figure.is_error or not seeds or None in clean or why_not_by_image(arm.arm, known):
        return None
    rows = [
        values.values - shown.errors
        for values, shown in zip(known, clean, strict=True)
        if values and shown
    ]
    splits = tuple(arm.arm.splits[seed] for seed in seeds if arm.arm.splits)
    first = known[0]
    assert first is not None
    pairs = PairedErrors(seeds, np.stack(rows), first.objects, splits, arm.arm.held_out)
    if pairs.why_few or arm.why_alone:
        return Interval(len(seeds), float(pairs.differences.mean()), None, None)
    return pairs.two_way().interval(len(seeds))


def _measured(
    figure: EvaluatedFigure, arm: ArmResults, stopped: set[tuple[str, int]], find: FindImages
) -> MeasuredArm:
    """Return an arm with a figure of its trials that ran to their end in this sweep."""
    looks_at = figure.evaluation.looks_at
    counted = {s: t for s, t in arm.counted.items() if (arm.arm.name, s) not in stopped}
    values = {seed: _value(figure, trial) for seed, trial in counted.items()}
    errors = {seed: value for seed, value in values.items() if value is not None}
    images = {seed: find(counted[seed]) for seed in errors}
    return MeasuredArm(
        arm,
        errors,
        {seed: known for seed, known in images.items() if known},
        split=looks_at,
        missing=NO_VALUES,
        why_alone=SPLITS_DIFFER if looks_at == "validation" and arm.splits else "",
    )


def _value(figure: EvaluatedFigure, trial: TrialRecord) -> float | None:
    values = trial.evaluations.get(figure.evaluation.evaluation_key, {})
    if not all(name in values for name in figure.weights):
        return None
    return sum(weight * values[name] for name, weight in figure.weights.items())


def _by_image(
    figure: EvaluatedFigure,
    wrong: WrongImages,
    predictions: Mapping[str, Predictions],
    trial: TrialRecord,
) -> ImageErrors | None:
    """Return a trial's figure on each image; None where some of it is not recorded."""
    by_name = wrong.get(trial.trial_key, {}).get(figure.evaluation.evaluation_key, {})
    predicted = predictions.get(trial.trial_key)
    rows = [by_name[name] for name in figure.weights if name in by_name]
    if predicted is None or len(rows) < len(figure.weights) or len({*map(len, rows)}) > 1:
        return None
    values = np.tensordot([*figure.weights.values()], np.stack(rows).astype(float), axes=1)
    guess, shown = predicted.test.chance, _shown(figure, predicted, len(values))
    return ImageErrors(
        values=values,
        guess=1 - guess if figure.is_better_larger else guess,
        data_fingerprint=trial.data_fingerprint,
        labels=shown.labels if shown else None,
        objects=shown.objects if shown else None,
    )


def _shown(
    figure: EvaluatedFigure, predicted: Predictions | None, num_images: int
) -> SplitPredictions | None:
    """Return the images that were evaluated; None where the trial has not recorded them."""
    if predicted is None:
        return None
    shown = predicted.test if figure.evaluation.looks_at == "test" else predicted.validation
    return shown.first(num_images) if shown else None


def primary_table(
    manifest: Manifest,
    arms: Sequence[ArmResults],
    wrong: WrongImages,
    predictions: Mapping[str, Predictions],
    *,
    evaluation_key: str,
) -> list[MeasuredArm]:
    """Return arms with the primary figure of an evaluation, as a cost; none if it has no such one.

    Args:
        manifest: It declares the evaluation.
        arms: With their trials.
        wrong: Values by image of the evaluations' metrics.
        predictions: Predictions by trial key, which say what each image shows.
        evaluation_key: Key of the evaluation.
    """
    figures = [
        primary_figure(evaluation)
        for evaluation in manifest.evaluations
        if evaluation.evaluation_key == evaluation_key
    ]
    return [
        as_cost(
            figure,
            _measured(figure, arm, set(), partial(_by_image, figure, wrong, predictions)),
        )
        for figure in figures
        if figure
        for arm in arms
    ]


def _compared(
    manifest: Manifest, figures: Sequence[ComparedFigure], *, finds_reach: bool
) -> list[ComparedFigure]:
    """Return figures with their comparisons, whose verdicts hold for all of them together.

    The primary figure that looks have judged is a family of its own.
    """
    places = [
        place
        for place, figure in enumerate(figures)
        if figure.is_by_image and any(arm.arm.is_baseline for arm in figure.arms)
    ]
    costs = {n: [as_cost(figures[n].figure, arm) for arm in figures[n].arms] for n in places}
    by_place = dict[int, list[Comparison]]()
    for n in [n for n in places if _is_judged(manifest, figures[n].figure)]:
        by_place[n] = comparisons_at_looks(manifest, costs.pop(n), judges_divergence=False)
    if manifest.plan and manifest.plan.seeds_at_looks:
        tables = comparisons_beside_looks(
            manifest, [*costs.values()], judges_divergence=False, finds_reach=finds_reach
        )
    else:
        tables = comparisons_together(
            [*costs.values()],
            margin=margin_of(manifest),
            planned_seeds=[manifest.planned_seeds] * len(costs),
            judges_divergence=False,
            finds_reach=finds_reach,
        )
    by_place |= dict(zip(costs, tables, strict=True))
    shown = list(figures)
    for place, table in by_place.items():
        figure = figures[place]
        turned = (as_measured(figure.figure, comparison) for comparison in table)
        shown[place] = replace(figure, compared=tuple(turned))
    return shown


def _is_judged(manifest: Manifest, figure: EvaluatedFigure) -> bool:
    """Return whether looks have judged a figure: the primary one of their evaluation."""
    key = figure.evaluation.evaluation_key
    is_of_looks = manifest.plan is not None and manifest.plan.judged_by == key
    primary = primary_figure(figure.evaluation)
    return is_of_looks and primary is not None and primary.weights == figure.weights


def as_cost(figure: EvaluatedFigure, arm: MeasuredArm) -> MeasuredArm:
    """Return an arm with what a figure lacks to 1 where a larger one is better."""
    if not figure.is_better_larger:
        return arm
    return replace(
        arm,
        errors={seed: 1 - value for seed, value in arm.errors.items()},
        by_image={
            seed: replace(known, values=1 - known.values, guess=1 - known.guess)
            for seed, known in arm.by_image.items()
        },
    )


def as_measured(figure: EvaluatedFigure, comparison: Comparison) -> Comparison:
    """Return a comparison of costs as one of the figure itself."""
    if not figure.is_better_larger:
        return comparison
    return replace(
        comparison,
        difference=_turned(comparison.difference),
        seeds_alone=_turned(comparison.seeds_alone),
        simultaneous=None if comparison.simultaneous is None else _turned(comparison.simultaneous),
        errors={seed: 1 - value for seed, value in comparison.errors.items()},
    )


def data_sets_as_measured(figure: EvaluatedFigure, results: DataSetResults) -> DataSetResults:
    """Return a table of costs by data sets as one of the figure itself.

    Changes in percent stay those of the cost, which is what the figure lacks to 1.
    """
    if not figure.is_better_larger:
        return results

    def column(of_costs: DataSetColumn) -> DataSetColumn:
        arms = {name: as_cost(figure, arm) for name, arm in of_costs.arms.items()}
        cells = {name: as_measured(figure, cell) for name, cell in of_costs.cells.items()}
        return replace(of_costs, arms=arms, cells=cells)

    def overall(of_costs: OverallComparison) -> OverallComparison:
        together = of_costs.simultaneous
        if together is not None and of_costs.scale == "points":
            together = _turned(together)
        points = of_costs.points and _turned(of_costs.points)
        return replace(of_costs, points=points, simultaneous=together)

    return replace(
        results,
        columns=tuple(map(column, results.columns)),
        overall=tuple(map(overall, results.overall)),
    )


def _turned(interval: Interval) -> Interval:
    low, mean, high = (
        None if end is None else -end for end in (interval.high, interval.mean, interval.low)
    )
    return replace(interval, low=low, mean=mean, high=high)
