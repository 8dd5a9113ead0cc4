"""The mean error of one arm, and how far it would move with new seeds and new images."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int, Shaped

from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.paired_errors import FEWEST_CLUSTERS, OF_VIEWS, PairedErrors
from sweeps.aggregation.results.predictions import Predictions, SplitPredictions
from sweeps.aggregation.statistics.intervals import Interval, where_fractions_lie
from sweeps.aggregation.statistics.two_way import TwoWay
from sweeps.records.trial_record import (
    METRIC_EXTRA_TEST_ERRORS,
    METRIC_TEST_ERROR,
    METRIC_VALIDATION_ERROR,
    Outcome,
    TrialRecord,
)

Objects = Int[np.ndarray, " images"] | None


@dataclass(frozen=True)
class MeanOfArm:
    """The mean of a metric over the seeds of an arm.

    Attributes:
        interval: In the record's unit, with the standard deviation over seeds. It has ends only
            where these cover new seeds and new images.
        errors: Error of each seed on each image, which the ends rest on; None where there are none.
    """

    interval: Interval
    errors: PairedErrors | None = None


def mean_of(
    arm: ArmResults,
    values: Mapping[int, float],
    metric: str,
    predictions: Mapping[str, Predictions],
) -> MeanOfArm:
    """Return the mean of a metric's values; its interval where it is an error of known images.

    Args:
        arm: With its trials.
        values: The metric by seed, in the record's unit.
        metric: Its name. Errors of the validation, test and extra test images can have an interval.
        predictions: Predictions by trial key.
    """
    images = _images_of(metric)
    trials = _trials(arm, values)
    if images is None or not all(trial.trial_key in predictions for trial in trials):
        return mean_by_image(arm, values, None)
    seen = [images(predictions[trial.trial_key]) for trial in trials]
    shown = [predicted for predicted in seen if predicted is not None]
    fingerprints = {predictions[trial.trial_key].data_fingerprint for trial in trials}
    is_same = len(fingerprints) == 1 and all(
        predicted.shows_the_same(shown[0]) for predicted in shown
    )
    if len(shown) < len(seen) or not is_same or (metric == METRIC_VALIDATION_ERROR and arm.splits):
        return mean_by_image(arm, values, None)
    return mean_by_image(arm, values, [predicted.errors for predicted in shown], shown[0].objects)


def mean_by_image(
    arm: ArmResults,
    values: Mapping[int, float],
    wrong: Sequence[Shaped[np.ndarray, " images"]] | None,
    objects: Objects = None,
) -> MeanOfArm:
    """Return the mean of shares of images, with its interval where the images are known.

    Args:
        arm: With its trials.
        values: Share of each seed.
        wrong: 1 for each image that a seed counts, else 0, in the order of `values`; None where
            that is not known.
        objects: Which object each image shows; None where each is its own.
    """
    plain = replace(arm.interval(values), low=None, high=None)
    if len(values) > 1:
        plain = replace(plain, deviation=statistics.stdev(values.values()))
    if wrong is None or len(wrong) < 2 or plain.mean is None:
        return MeanOfArm(plain)
    splits = tuple(arm.splits[seed] for seed in values if arm.splits)
    rows = np.stack(wrong).astype(float)
    errors = PairedErrors(tuple(values), rows, objects, splits, arm.held_out)
    data = arm.arm.config.get("data")
    is_of_views = isinstance(data, dict) and data.get("kind") in OF_VIEWS
    num_clusters = rows.shape[1] if objects is None else len(np.unique(objects))
    if errors.why_few or num_clusters < FEWEST_CLUSTERS or (is_of_views and objects is None):
        return MeanOfArm(plain)
    half = float(half_of_mean(errors.two_way(), objects))
    ends = replace(plain, low=plain.mean - half, high=plain.mean + half)
    return MeanOfArm(where_fractions_lie(ends), errors)


def half_of_mean(way: TwoWay, objects: Objects) -> Float[np.ndarray, "..."]:
    """Return half the interval of mean errors, had two more images been wrong with every seed.

    Without any error it ends at about 3 / N, as the exact one of none among N images does. Of
    objects the two are as wrong as any; only where none is ever wrong, wholly.

    Source: Bonett and Price 2012, as `TwoWay.with_rare_images` has it.

    Args:
        way: Of the errors themselves, of one or many arms.
        objects: Which object each image shows; None where each is its own.
    """
    if objects is None:
        largest = np.full_like(way.largest, 1 / way.num_clusters**2)
    else:
        share = np.unique(objects, return_counts=True)[1].max() / len(objects)
        largest = np.where(way.largest > 0, way.largest, share**2)
    return replace(way, largest=largest).with_rare_images.half_width()


def trials_of_error(arms: Iterable[ArmResults], metric: str) -> list[TrialRecord]:
    """Return the trials whose predictions the means of a metric need; none where it needs none."""
    if _images_of(metric) is None:
        return []
    trials = [trial for arm in arms for trial in arm.trials.values()]
    return [trial for trial in trials if trial and trial.outcome is Outcome.FINISHED]


def _images_of(metric: str) -> Callable[[Predictions], SplitPredictions | None] | None:
    """Return what gives the images that a metric is an error of; None where it is of none."""
    if metric == METRIC_TEST_ERROR:
        return lambda predicted: predicted.test
    if metric == METRIC_VALIDATION_ERROR:
        return lambda predicted: predicted.validation
    if metric.startswith(METRIC_EXTRA_TEST_ERRORS):
        name = metric.removeprefix(METRIC_EXTRA_TEST_ERRORS)
        return lambda predicted: predicted.extra_tests.get(name)
    return None


def _trials(arm: ArmResults, seeds: Iterable[int]) -> list[TrialRecord]:
    return [trial for seed in seeds if (trial := arm.trials[seed]) is not None]
