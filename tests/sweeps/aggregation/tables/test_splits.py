"""Tables over splits: what is bold, what the interval speaks of, and what programs read."""

from dataclasses import replace
from typing import Any

import pytest

from sweeps.aggregation.comparison.arm_matching import ArmMatch
from sweeps.aggregation.rendering.table import Table
from sweeps.aggregation.results.ablation_comparisons import ablation_comparisons
from sweeps.aggregation.results.arms import arm_results
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.results.design_sentences import design_sentences
from sweeps.aggregation.results.rank_confidence import may_be_best
from sweeps.aggregation.results.ranking import ranking
from sweeps.aggregation.statistics.two_way import over_splits
from sweeps.aggregation.tables.ablation_table import ablation_table
from sweeps.aggregation.tables.trials_table import trials_table
from sweeps.records.manifest import Manifest
from tests.sweeps.aggregation.known_sweep import by_key, manifest_of
from tests.sweeps.aggregation.predicted import Wrong, predictions_of, trials_of

BASE = [range(5), range(6), range(4), range(7), range(5)] * 2
OF_SPLIT = (8, 34, 10, 36, 14)  # images that the arm gets wrong on each of five splits
CLEAR = (30, 34, 31, 36, 33)


def over(
    of_splits: tuple[int, ...], num_splits: int = 5, num_seeds: int = 10
) -> tuple[Manifest, Wrong]:
    arm = [range(2, of_splits[seed % num_splits] + seed // num_splits) for seed in range(num_seeds)]
    config: dict[str, Any] = {"data": {"kind": "digits", "validation_fraction": 0.125}}
    manifest = manifest_of(
        ["base", "arm"], range(num_seeds), splits={n: n % num_splits for n in range(num_seeds)}
    )
    arms = tuple(arm.model_copy(update={"config": config}) for arm in manifest.arms)
    return manifest.model_copy(update={"arms": arms}), {"base": BASE[:num_seeds], "arm": arm}


def compared(manifest: Manifest, wrong: Wrong) -> Comparison:
    arms = arm_results(manifest, by_key(*trials_of(wrong)))
    (comparison,) = ablation_comparisons(manifest, arms, predictions_of(wrong))
    return comparison


def table_of(manifest: Manifest, wrong: Wrong) -> Table:
    return ablation_table(manifest, by_key(*trials_of(wrong)), predictions=predictions_of(wrong))


def test_a_difference_that_hangs_on_the_split_is_not_bold_however_many_seeds_agree() -> None:
    manifest, wrong = over(OF_SPLIT)
    by_seeds = compared(manifest.model_copy(update={"splits": {}}), wrong)
    by_splits = compared(manifest, wrong)
    assert by_seeds.verdict == "different"
    assert by_splits.verdict == "undecided"
    assert by_splits.difference.mean == pytest.approx(by_seeds.difference.mean)
    assert by_splits.seeds_alone.half_width > 2 * by_seeds.seeds_alone.half_width  # type: ignore[operator]


def test_a_difference_on_every_split_is_bold() -> None:
    manifest, wrong = over(CLEAR)
    comparison = compared(manifest, wrong)
    assert (comparison.verdict, comparison.num_splits) == ("different", 5)
    assert comparison.way is not None
    assert float(comparison.way.degrees) >= 4
    table = table_of(manifest, wrong)
    assert table.lead.startswith(
        "Different from the baseline: arm (+7.19 points). A next table like this one (360 test "
        "images and 10 seeds on 5 splits) would show an arm in bold "
    )
    assert "sd: the standard deviation over 10 seeds on 5 splits, a description." in table.notes
    assert any("for new seeds, new splits of these training images and" in n for n in table.notes)
    assert any("Each seed is on one of 5 splits" in note for note in table.notes)


def test_fewer_than_five_splits_speak_of_these_alone() -> None:
    manifest, wrong = over(OF_SPLIT, num_splits=3)
    comparison = compared(manifest, wrong)
    assert comparison.way is not None
    assert comparison.way.num_seeds == 10 - 3 + 1
    notes = " ".join(table_of(manifest, wrong).notes)
    assert "for new seeds and new test images" in notes
    assert ", on these 3 splits alone; not for" in notes
    assert "It takes 5 splits to speak of others." in notes


def test_few_splits_with_a_seed_each_have_no_interval() -> None:
    comparison = compared(*over(CLEAR, num_splits=4, num_seeds=4))
    assert (comparison.verdict, comparison.difference.half_width) == ("undecided", None)
    assert (
        comparison.why_seeds_alone == "there are fewer than five splits, with too few seeds in each"
    )


def test_what_few_splits_cannot_show_is_said_before_anything_is_trained() -> None:
    def said(num_splits: int, num_seeds: int) -> str:
        return " ".join(design_sentences(over(CLEAR, num_splits, num_seeds)[0]))

    assert said(5, 5) == ""
    assert said(3, 5) == (
        "Differences over 3 splits speak of these alone: it takes 5 to speak of others."
    )
    assert said(4, 5).endswith(", and 6 seeds on 4 splits for an interval, or for bold.")
    assert not compared(*over(CLEAR, num_splits=4, num_seeds=5)).difference.half_width
    assert compared(*over(CLEAR, num_splits=4, num_seeds=6)).difference.half_width


def test_where_a_split_is_lost_the_others_are_counted_alone() -> None:
    manifest, wrong = over(CLEAR)
    remaining = {
        key: record
        for key, record in by_key(*trials_of(wrong)).items()
        if record.seed not in {4, 9}
    }
    arms = arm_results(manifest, remaining)
    (comparison,) = ablation_comparisons(manifest, arms, predictions_of(wrong))
    assert comparison.num_splits == 4
    notes = " ".join(ablation_table(manifest, remaining, predictions=predictions_of(wrong)).notes)
    assert "on these 4 splits alone" in notes


def test_a_sweep_without_splits_says_so() -> None:
    manifest, wrong = over(CLEAR)
    table = table_of(manifest.model_copy(update={"splits": {}}), wrong)
    assert any(
        "for new seeds and new test images" in note and ", on one split;" in note
        for note in table.notes
    )


def test_means_are_over_splits_too() -> None:
    manifest, wrong = over(OF_SPLIT)
    plain = manifest.model_copy(update={"splits": {}})
    by_splits, by_seeds = (
        ranking(sweep, by_key(*trials_of(wrong)))[-1].mean for sweep in (manifest, plain)
    )
    assert by_splits == pytest.approx(by_seeds)


def test_programs_read_the_split_of_each_trial() -> None:
    manifest, wrong = over(CLEAR)
    records = by_key(*trials_of(wrong))
    table = trials_table(manifest, records)
    names = [name for column in table.columns for name in column.fields]
    place = names.index("split_seed")
    assert [[*row][place].values for row in table.rows][:6] == [(n % 5,) for n in range(6)]
    plain = trials_table(manifest.model_copy(update={"splits": {}}), records)
    assert "split_seed" not in [name for column in plain.columns for name in column.fields]


def test_over_splits_no_arm_is_held_against_the_first_on_validation_images() -> None:
    manifest, wrong = over(CLEAR)
    predictions = {
        key: replace(predicted, validation=predicted.test)
        for key, predicted in predictions_of(wrong).items()
    }
    plain = manifest.model_copy(update={"splits": {}})
    by_splits, by_seeds = (ranking(sweep, by_key(*trials_of(wrong))) for sweep in (manifest, plain))
    assert may_be_best(by_seeds, predictions)
    assert may_be_best(by_splits, predictions) == {}


def test_beside_a_sweep_on_one_split_the_splits_are_what_differs() -> None:
    manifest, wrong = over(CLEAR)
    plain = manifest.model_copy(update={"splits": {}})
    first, second = (
        arm_results(sweep, by_key(*trials_of(wrong)))[0] for sweep in (plain, manifest)
    )
    unlike = ArmMatch(first, second, "config").differences()
    assert [*unlike] == ["settings"]
    assert "data.split_seed not there | 0 of seed 0, 1 of seed 1" in unlike["settings"]
    assert ArmMatch(second, second, "config").differences() == {}


def test_a_share_that_no_record_tells_is_the_worst() -> None:
    manifest, wrong = over(CLEAR)
    arms = [arm.model_copy(update={"config": {}}) for arm in manifest.arms]
    unknown = compared(manifest.model_copy(update={"arms": tuple(arms)}), wrong)
    known = compared(manifest, wrong)
    assert known.way is not None
    assert unknown.way is not None
    ratio = float(unknown.way.over_seeds / known.way.over_seeds)
    assert ratio == pytest.approx((1 + 5) / (1 + 5 / 7))


def test_the_way_is_that_of_the_paired_rows() -> None:
    import numpy as np

    manifest, wrong = over(CLEAR)
    rows = np.zeros((10, 360))
    for seed, (arm, base) in enumerate(zip(wrong["arm"], wrong["base"], strict=True)):
        rows[seed, list(arm)] += 1
        rows[seed, list(base)] -= 1
    comparison = compared(manifest, wrong)
    expected = over_splits(rows, [n % 5 for n in range(10)], 1 / 7)
    assert comparison.p_value == pytest.approx(float(expected.p_value), rel=1e-9)
