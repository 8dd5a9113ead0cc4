"""Arms are compared by evaluations as they are by their test errors."""

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
import pytest

from capsmodel.metrics import Metric
from sweeps.aggregation.report.input_recorder import InputRecorder
from sweeps.aggregation.results.ablation_comparisons import ablation_comparisons
from sweeps.aggregation.results.arms import arm_results
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.results.evaluation_comparisons import (
    ComparedEvaluation,
    difference_from_clean,
    evaluation_comparisons,
)
from sweeps.aggregation.results.sweep_results import Results
from sweeps.records.manifest import Manifest
from sweeps.records.manifest_evaluation import ManifestEvaluation
from sweeps.records.trial_record import Outcome, TrialRecord
from tests.sweeps.aggregation.evaluated import ERROR, Values, curve_evaluation, evaluated
from tests.sweeps.aggregation.known_sweep import (
    IMAGES,
    by_key,
    manifest_of,
    trial_key,
    unfinished,
)
from tests.sweeps.aggregation.predicted import Wrong, predictions_of, trials_of

WRONG: Wrong = {
    "base": [range(20), range(24), range(21)],
    "clear": [range(70), range(79), range(71)],
    "near": [range(1, 21), range(2, 26), range(23)],
}


def single(name: str = "error", kind: str = "single", digits: str = "cd") -> ManifestEvaluation:
    metric = ERROR.model_copy(update={"name": name})
    return ManifestEvaluation(
        evaluation_key=digits * 10, kind=kind, looks_at="test", metrics=(metric,), primary=name
    )


def is_wrong(wrong: Wrong = WRONG, num_metrics: int = 1) -> Values:
    """Return values by image that are those of the test errors, for each metric."""

    def row(places: Sequence[int]) -> np.ndarray:
        return np.isin(np.arange(IMAGES), [*places])

    return {
        arm: [[row([*places])] * num_metrics for places in seeds] for arm, seeds in wrong.items()
    }


def compared(
    *evaluations: ManifestEvaluation,
    values: dict[str, Values] | None = None,
    wrong: Wrong = WRONG,
    lost: Sequence[TrialRecord] = (),
    objects: Sequence[int] | None = None,
    **more: object,
) -> tuple[list[ComparedEvaluation], list[Comparison], Manifest]:
    """Return the comparisons by evaluations, and those by the test errors."""
    manifest = manifest_of(
        [*wrong], evaluations=[evaluation.model_dump() for evaluation in evaluations], **more
    )
    made = {
        evaluation.kind: is_wrong(wrong, len(evaluation.metrics)) for evaluation in evaluations
    } | (values or {})
    trials, by_image = evaluated(by_key(*trials_of(wrong)), made, *evaluations)
    trials |= by_key(*lost)
    arms, predictions = arm_results(manifest, trials), predictions_of(wrong, "", objects)
    return (
        evaluation_comparisons(manifest, arms, by_image, predictions),
        ablation_comparisons(manifest, arms, predictions),
        manifest,
    )


def assert_alike(ours: Sequence[Comparison], theirs: Sequence[Comparison]) -> None:
    for comparison, other in zip(ours, theirs, strict=True):
        for field in fields(Comparison):
            mine, its = getattr(comparison, field.name), getattr(other, field.name)
            if field.name in ("way", "harsh"):
                mine, its = mine and mine.half_width(), its and its.half_width()
                assert (mine is None) == (its is None)
                assert mine is None or mine == pytest.approx(its)
            elif isinstance(mine, float):
                assert mine == pytest.approx(its), field.name
            else:
                assert str(mine) == str(its), field.name


@pytest.mark.parametrize("objects", [None, [n % 25 for n in range(IMAGES)]], ids=["no", "objects"])
@pytest.mark.parametrize("margin", [None, 5.0])
def test_an_evaluation_with_the_test_errors_is_compared_as_these(
    objects: Sequence[int] | None, margin: float | None
) -> None:
    (result,), by_errors, _ = compared(single(), objects=objects, margin_points=margin)
    assert_alike(result.primary.compared, by_errors)


def test_values_of_the_first_images_are_counted_by_the_objects_that_these_show() -> None:
    objects = [n % 25 for n in range(IMAGES)]
    values = {"single": {arm: [[row[0][:50]] for row in rows] for arm, rows in is_wrong().items()}}
    (result,), _, _ = compared(single(), values=values, objects=objects)
    ways = [comparison.way for comparison in result.primary.compared]
    assert [way and way.num_clusters for way in ways] == [25, 25]


def test_the_mean_under_a_curve_of_equal_points_is_compared_as_one_of_them() -> None:
    (result,), by_errors, _ = compared(curve_evaluation())
    assert sum(result.primary.figure.weights.values()) == pytest.approx(1)
    for ours, theirs in zip(result.primary.compared, by_errors, strict=True):
        assert ours.p_value == pytest.approx(theirs.p_value)
        assert ours.verdict == theirs.verdict
    assert [point.figure.metric.name for point in result.points] == [
        "error.shift_0",
        "error.shift_1",
        "error.shift_3",
    ]


def test_diverged_trainings_count_as_guesses_as_they_do_for_test_errors() -> None:
    lost = [unfinished("clear", 2, Outcome.DIVERGED, "the loss was nan")]
    wrong = {arm: [*seeds, range(22)] for arm, seeds in WRONG.items()}
    (result,), by_errors, _ = compared(single(), wrong=wrong, lost=lost, seeds=range(4))
    assert by_errors[0].harsh is not None
    assert_alike(result.primary.compared, by_errors)


def test_divergence_alone_is_no_verdict_on_an_evaluation() -> None:
    lost = [unfinished("clear", seed, Outcome.DIVERGED, "nan") for seed in range(8)]
    wrong = {arm: [range(20 + n) for n in range(8)] for arm in ("base", "clear")}
    (result,), by_errors, _ = compared(single(), wrong=wrong, lost=lost, seeds=range(8))
    assert by_errors[0].verdict == "different"
    assert result.primary.compared[0].verdict == "undecided"


def test_verdicts_hold_for_the_arms_of_all_evaluations_together() -> None:
    (alone,), _, _ = compared(single())
    (first, second), _, _ = compared(single(), single(kind="other", digits="ef"))
    assert {comparison.num_together for comparison in alone.primary.compared} == {2}
    assert {comparison.num_together for comparison in first.primary.compared} == {4}
    ours, theirs = first.primary.compared[0], alone.primary.compared[0]
    assert ours.p_value == theirs.p_value
    assert ours.p_value is not None
    assert ours.adjusted_p == pytest.approx(4 * ours.p_value)  # of two equal ones
    assert theirs.adjusted_p == pytest.approx(2 * ours.p_value)
    assert [comparison.verdict for comparison in second.primary.compared] == [
        "different",
        "undecided",
    ]


def test_a_point_is_marked_only_where_the_arms_primary_figure_is_decided() -> None:
    chance = np.random.default_rng(0)
    base = is_wrong(num_metrics=3)
    spread = [
        [rows[0], rows[0], np.where(chance.random(IMAGES) < place, 1.0, rows[2])]
        for place, rows in zip((0.3, 0.31, 0.32), base["base"], strict=True)
    ]
    mixed = [[1.0 - rows[0], rows[1], np.clip(rows[2] * 0, 0, 1)] for rows in base["base"]]
    values: Values = {"base": base["base"], "clear": spread, "near": mixed}
    (result,), _, _ = compared(curve_evaluation((0, 1, 20)), values={"moved": values})
    by_arm = result.primary.by_arm
    assert by_arm["clear"].is_different
    marked = [result.is_marked("clear", point) for point in result.points]
    assert marked == [False, False, True]
    is_open = replace(by_arm["near"], verdict="undecided")
    shut = replace(result, primary=replace(result.primary, compared=(by_arm["clear"], is_open)))
    assert result.points[0].by_arm["near"].is_different
    assert not any(shut.is_marked("near", point) for point in result.points)


def test_a_share_that_should_be_large_is_compared_by_what_it_lacks() -> None:
    right = Metric(name="right", unit="fraction", direction="larger", split="test", moment="end")
    evaluation = single("right").model_copy(update={"metrics": (right,)})
    turned: Values = {arm: [[1.0 - rows[0]] for rows in seeds] for arm, seeds in is_wrong().items()}
    (result,), by_errors, _ = compared(evaluation, values={"single": turned})
    for ours, theirs in zip(result.primary.compared, by_errors, strict=True):
        assert ours.p_value == pytest.approx(theirs.p_value)
        assert ours.difference.mean == pytest.approx(-(theirs.difference.mean or 0))
        assert ours.difference.low == pytest.approx(-(theirs.difference.high or 0))


def test_arms_with_equal_test_errors_are_one_only_if_the_evaluation_gives_the_same() -> None:
    wrong = WRONG | {"same": WRONG["near"], "other": WRONG["near"]}
    values = {"single": is_wrong(wrong | {"other": WRONG["clear"]})}
    (result,), by_errors, _ = compared(single(), wrong=wrong, values=values)

    def names(comparisons: Sequence[Comparison]) -> list[list[str]]:
        return [[arm.arm.name for arm in comparison.arms] for comparison in comparisons]

    assert names(by_errors) == [["clear"], ["near", "same", "other"]]
    assert names(result.primary.compared) == [["clear"], ["near", "same"], ["other"]]


def test_an_evaluation_without_values_by_image_is_not_compared() -> None:
    manifest = manifest_of([*WRONG], evaluations=[single().model_dump()])
    trials, _ = evaluated(by_key(*trials_of(WRONG)), {"single": is_wrong()}, single())
    (result,) = evaluation_comparisons(manifest, arm_results(manifest, trials), {}, {})
    assert not result.primary.is_by_image
    assert result.primary.compared == ()


def test_what_an_arm_loses_is_counted_against_its_own_error() -> None:
    twice = {arm: [range(2 * len([*places])) for places in seeds] for arm, seeds in WRONG.items()}
    (result,), _, _ = compared(single(), values={"single": is_wrong(twice)})
    predictions = predictions_of(WRONG, "")
    lost = difference_from_clean(result.primary.arms[0], result.primary.figure, predictions)
    assert lost is not None
    assert lost.mean == pytest.approx((20 + 24 + 21) / 3 / IMAGES)
    assert lost.half_width is not None
    belief = replace(result.primary.figure, metric=ERROR.model_copy(update={"name": "belief"}))
    assert difference_from_clean(result.primary.arms[0], belief, predictions) is None


def test_the_digest_of_a_report_knows_values_between_0_and_1() -> None:
    (result,), _, manifest = compared(single())

    def digest(value: float) -> str:
        record = by_key(*trials_of(WRONG))[trial_key("base", 0)]
        wrong_images = {
            record.trial_key: {result.evaluation.evaluation_key: {"error": np.full(4, value)}}
        }
        results = Results(
            manifest,
            {record.trial_key: record},
            lambda records, metric: {},
            find_wrong_images=lambda records: wrong_images,
        )
        recorder = InputRecorder(results)
        recorder.wrong_images([record])
        return recorder.digest()

    assert digest(0.25) != digest(0.5)
