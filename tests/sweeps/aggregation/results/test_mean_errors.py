"""The mean error of an arm covers new seeds and new images, or stands with its spread alone."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sweeps.aggregation.results.arms import ArmResults, arm_results
from sweeps.aggregation.results.mean_errors import MeanOfArm, mean_of
from sweeps.aggregation.results.predictions import Predictions
from sweeps.aggregation.tables.notes import mean_notes
from tests.sweeps.aggregation.known_sweep import IMAGES, by_key, manifest_of
from tests.sweeps.aggregation.predicted import judged, predictions_of, trials_of

WRONG = [range(8), range(2, 12), [*range(4, 12), 20, 30]]
TWO_MORE = 2  # images that every seed gets wrong


def arm_of(wrong: Sequence[Any], **more: Any) -> ArmResults:
    manifest = manifest_of(["a"], range(len(wrong)), **more)
    return arm_results(manifest, by_key(*trials_of({"a": wrong})))[0]


def mean(wrong: Sequence[Any], predictions: Any = None, **more: Any) -> MeanOfArm:
    arm = arm_of(wrong, **more)
    known = predictions_of({"a": wrong}) if predictions is None else predictions
    return mean_of(arm, arm.test_errors, "test_error", known)


def is_wrong(wrong: Sequence[Any]) -> np.ndarray:
    return np.array([[float(image in places) for image in range(IMAGES)] for places in wrong])


def test_the_interval_is_that_of_the_errors_crossed_over_seeds_and_images() -> None:
    rows = is_wrong(WRONG)
    num_seeds = len(rows)
    by_seed, by_image = rows.mean(axis=1), rows.mean(axis=0) - rows.mean()
    rest = rows - by_seed[:, None] - by_image
    seeds = by_seed.var(ddof=1) / num_seeds
    images = (by_image @ by_image + TWO_MORE) / IMAGES**2
    images += (by_image @ by_image) / IMAGES**2 / (IMAGES - 1)  # G / (G - 1)
    both = (rest**2).sum() / ((num_seeds - 1) * (IMAGES - 1)) / (num_seeds * IMAGES)
    degrees = (seeds + images) ** 2 / (seeds**2 / (num_seeds - 1) + images**2 / (IMAGES - 1))
    variances = (max(seeds + images - both, seeds, images), seeds, images)
    widths = [
        stats.t.ppf(0.975, each) * variance**0.5
        for variance, each in zip(variances, (degrees, num_seeds - 1, IMAGES - 1), strict=True)
    ]
    interval = mean(WRONG).interval
    assert interval.half_width == pytest.approx(max(widths), rel=1e-9)
    assert interval.mean == pytest.approx(rows.mean())
    assert interval.deviation == pytest.approx(statistics.stdev(by_seed))


def test_more_seeds_do_not_shrink_it_around_the_same_images() -> None:
    many = mean(WRONG * 20).interval
    assert many.half_width == pytest.approx(
        stats.norm.ppf(0.975) * np.sqrt(9 / IMAGES / IMAGES), rel=0.3
    )


def test_it_ends_at_three_in_n_where_no_image_is_ever_wrong() -> None:
    interval = mean([(), (), ()]).interval
    assert (interval.low, interval.mean) == (0, 0)
    assert interval.high == pytest.approx(3 / IMAGES, rel=0.1)


def test_no_error_ends_below_nothing() -> None:
    interval = mean([[0], [1], [2]]).interval
    assert interval.low == 0
    assert interval.half_width is not None
    assert interval.mean is not None
    assert interval.half_width > interval.mean


def two_data_sets() -> dict[str, Predictions]:
    first, *others = predictions_of({"a": WRONG}).items()
    return {first[0]: Predictions("others", first[1].test), **dict(others)}


@pytest.mark.parametrize(
    "known",
    [
        {},
        dict([*predictions_of({"a": WRONG}).items()][1:]),
        two_data_sets(),
        {
            key: Predictions("data", judged(places, [0] * IMAGES))
            for key, places in zip(predictions_of({"a": WRONG}), WRONG, strict=True)
        },
    ],
    ids=["no predictions", "one is missing", "other data", "views of one object"],
)
def test_without_the_same_known_images_there_is_the_spread_alone(
    known: Mapping[str, Predictions],
) -> None:
    known_mean = mean(WRONG, known)
    interval = known_mean.interval
    assert (known_mean.errors, interval.low, interval.high) == (None, None, None)
    assert interval.deviation == pytest.approx(statistics.stdev([8, 10, 10]) / IMAGES)
    (note,) = mean_notes([known_mean])
    assert note.startswith("In brackets: the standard deviation over seeds (sd), not an interval.")


def test_views_have_no_interval_where_it_is_not_recorded_which_object_they_show() -> None:
    arm = arm_of(WRONG)
    views = replace(
        arm, arm=arm.arm.model_copy(update={"config": {"data": {"kind": "viewpoints"}}})
    )
    assert (
        mean_of(views, arm.test_errors, "test_error", predictions_of({"a": WRONG})).errors is None
    )
    known = predictions_of({"a": WRONG}, objects=[image // 30 for image in range(IMAGES)])
    shown = mean_of(views, arm.test_errors, "test_error", known)
    plain = mean(WRONG).interval
    assert shown.interval.half_width is not None
    assert plain.half_width is not None
    assert shown.interval.half_width > 1.5 * plain.half_width, "errors lie on few objects"
    assert "new test objects" in next(mean_notes([shown]))


def test_two_seeds_have_the_spread_alone() -> None:
    assert mean(WRONG[:2]).interval.half_width is None
    assert mean(WRONG[:2]).interval.deviation is not None
    assert mean(WRONG[:1]).interval.deviation is None


def test_what_is_no_error_of_known_images_has_the_spread_alone() -> None:
    arm = arm_of(WRONG)
    losses = {seed: trial.metrics["validation_loss"] for seed, trial in arm.counted.items()}
    shown = mean_of(arm, losses, "validation_loss", predictions_of({"a": WRONG}))
    assert shown.errors is None
    assert shown.interval.deviation == pytest.approx(statistics.stdev(losses.values()))


def test_over_splits_it_covers_new_ones_and_the_note_says_so() -> None:
    wrong = [range(2, 8 + 6 * (seed % 5)) for seed in range(10)]
    plain, over = mean(wrong), mean(wrong, splits={seed: seed % 5 for seed in range(10)})
    assert plain.interval.half_width is not None
    assert over.interval.half_width is not None
    assert over.interval.half_width > 1.2 * plain.interval.half_width
    assert [*mean_notes([plain])] == [
        "± of a mean: half of the 95 % interval, for new seeds and new test images, on one split; "
        "not for new training images or other data."
    ]
    assert "new splits of these training images and new test images; not for training images " in (
        next(mean_notes([over]))
    )
    arm = arm_of(wrong, splits={seed: seed % 5 for seed in range(10)})
    known = {
        key: Predictions(predicted.data_fingerprint, predicted.test, predicted.test)
        for key, predicted in predictions_of({"a": wrong}).items()
    }
    shown = mean_of(arm, arm.test_errors, "validation_error", known)
    assert shown.errors is None, "each split has validation images of its own"
