"""What stands in bold, what is equivalent, and what nothing can be said of."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from capsmodel.metrics import percent
from sweeps.aggregation.rendering.csv_text import to_csv
from sweeps.aggregation.rendering.latex import escape_latex, to_latex
from sweeps.aggregation.rendering.measured import detectable_text
from sweeps.aggregation.rendering.table import ALONE_MARK, Table, number_text
from sweeps.aggregation.results.ablation_comparisons import ablation_comparisons
from sweeps.aggregation.results.arms import arm_results
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.statistics.two_way import two_way
from sweeps.aggregation.tables.ablation_table import ablation_table
from sweeps.aggregation.tables.notes import OBJECTS_NOTE, failed_notes, near_limit_notes
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Json, Outcome
from tests.sweeps.aggregation.known_sweep import by_key, finished, manifest_of, unfinished
from tests.sweeps.aggregation.predicted import Wrong, predictions_of, trials_of

CLEAR: Wrong = {
    "base": [range(5), range(6), range(7)],
    "clear": [range(40), range(44), range(41)],
    "near": [range(1, 6), range(2, 6), range(8)],
}


def compared(
    wrong: Wrong, manifest: Manifest | None = None, num_seeds: int = 3
) -> dict[str, Comparison]:
    chosen = manifest or manifest_of([*wrong], range(num_seeds))
    arms = arm_results(chosen, by_key(*trials_of(wrong)))
    comparisons = ablation_comparisons(chosen, arms, predictions_of(wrong))
    return {comparison.arm.arm.name: comparison for comparison in comparisons}


def table_of(wrong: Wrong, manifest: Manifest | None = None) -> Table:
    chosen = manifest or manifest_of([*wrong])
    return ablation_table(chosen, by_key(*trials_of(wrong)), predictions=predictions_of(wrong))


def test_a_clear_difference_is_bold_and_named_above_the_table() -> None:
    table = table_of(CLEAR)
    bold = [[cell.text for cell in row if cell.is_bold] for row in table.rows]
    assert [len(cells) for cells in bold] == [0, 2, 0]
    assert bold[1][1] == "different"
    assert table.lead.startswith("Different from the baseline: clear (+9.91 points).")
    assert "Undecided (1 arm): its difference lies between " in table.lead


BASE = range(300, 306)
ALIKE: Wrong = {
    "base": [BASE] * 5,
    "near": [[*BASE, *range(seed % 2)] for seed in range(5)],
    "close": [[*BASE, *range(3 * (seed % 2))] for seed in range(5)],
    "wild": [[*BASE, *range(num)] for num in (0, 26, 0, 12, 30)],
}


def test_an_arm_whose_seeds_vary_more_has_its_own_figure_above_the_table() -> None:
    table = table_of(ALIKE, manifest_of([*ALIKE], range(5)))
    reach = {
        name: comparison.reach.more.middle if comparison.reach else 0.0
        for name, comparison in compared(ALIKE, num_seeds=5).items()
    }
    assert reach["near"] == reach["close"]
    without = {name: ALIKE[name] for name in ("base", "near", "close")}
    (alone, _) = compared(without, num_seeds=5).values()
    assert alone.reach
    assert alone.reach.more.middle < reach["near"] < reach["wild"] / 5
    assert "Of arms held to their own seeds (wild) it would show one in bold" in table.lead
    apart = "Held to their own seeds as well, as a precaution: wild."
    assert any(note.endswith(apart) for note in table.notes)
    caption = escape_latex(table.lead.removesuffix("."))
    assert caption in to_latex(table)
    assert table.for_programs is not None
    rows = csv.DictReader(io.StringIO(to_csv(table.for_programs)))
    wild = next(row for row in rows if row["arm"] == "wild")
    assert float(wild["detectable_points"]) == pytest.approx(percent(reach["wild"]))
    low, middle, high = (
        float(wild[f"half_detectable_points{end}"]) for end in ("_low", "", "_high")
    )
    assert low < middle < high
    assert middle < float(wild["detectable_points"])


def test_what_is_undecided_lies_between_the_ends_of_all_intervals_at_once() -> None:
    comparisons = [*compared(ALIKE, num_seeds=5).values()]
    together = [comparison.simultaneous for comparison in comparisons]
    assert {comparison.verdict for comparison in comparisons} == {"undecided"}
    low = min(percent(interval.low or 0) for interval in together if interval)
    high = max(percent(interval.high or 0) for interval in together if interval)
    assert table_of(ALIKE, manifest_of([*ALIKE], range(5))).lead.startswith(
        f"Undecided: their differences lie between {number_text(low)} and +{high:.2f} points "
        f"(95 %, all at once). A next table like this one (360 test images and 5 seeds) would show "
    )
    alone: Wrong = {name: ALIKE[name] for name in ("base", "close")}
    lead = table_of(alone, manifest_of([*alone], range(5))).lead
    assert " points (95 %). A next" in lead


@pytest.mark.parametrize(("share", "is_near"), [(0.99, True), (1.01, False)])
@pytest.mark.parametrize("sign", [-1, 1])
def test_bold_below_what_is_found_in_8_of_10_is_said_to_be_exaggerated(
    share: float, is_near: bool, sign: int
) -> None:
    clear = compared(CLEAR)["clear"]
    assert clear.reach
    size = (clear.reach.more if sign > 0 else clear.reach.less).middle
    shown = replace(clear, difference=replace(clear.difference, mean=sign * share * size))
    notes = [*near_limit_notes([shown, compared(CLEAR)["near"]])]
    assert [note.endswith("mostly too large: clear.") for note in notes] == [True] * is_near


def test_images_of_handwriting_are_taken_as_independent_and_that_is_said() -> None:
    manifest = manifest_of([*CLEAR])
    of_digits = {"config": {"data": {"kind": "digits"}}}
    arms = tuple(arm.model_copy(update=of_digits) for arm in manifest.arms)
    said = "new test images, taken as independent (who wrote them is not known), on one split"
    assert said in " ".join(table_of(CLEAR, manifest.model_copy(update={"arms": arms})).notes)
    assert "new test images, on one split" in " ".join(table_of(CLEAR).notes)


def test_the_notes_begin_with_the_six_that_matter() -> None:
    starts = ("sd: ", "±: ", "Bold: p < .05 ", "Near the limit", "No arm is tuned", "Test errors ")
    for note, start in zip(table_of(CLEAR).notes, starts, strict=False):
        assert note.startswith(start)
    planned = manifest_of([*CLEAR], planned_seeds=(0,))
    assert any(note.startswith("Bold: p < .025 ") for note in table_of(CLEAR, planned).notes)


def test_where_the_baseline_hardly_errs_no_difference_stands_above_the_table() -> None:
    seldom = {"base": [[0], [1], [2, 3]], "arm": [[0], [1, 2], [4, 5, 6]]}
    assert table_of(seldom).lead.endswith(
        "(95 %). It is not known what a next table like this one (360 test images and 3 seeds) "
        "would find, as the baseline errs too seldom."
    )


@pytest.mark.parametrize(
    ("points", "text"), [(1.4, "1.4"), (1.401, "1.5"), (50, "50.0"), (50.01, "over 50")]
)
def test_a_difference_that_is_shown_is_rounded_up(points: float, text: str) -> None:
    assert detectable_text(points) == text


def test_the_interval_is_over_seeds_and_images() -> None:
    clear = compared({arm: CLEAR[arm] for arm in ("base", "clear")})["clear"]
    rows = np.zeros((3, 360))
    for seed, (arm, base) in enumerate(zip(CLEAR["clear"], CLEAR["base"], strict=True)):
        rows[seed, list(arm)] += 1
        rows[seed, list(base)] -= 1
    way = two_way(rows)
    assert clear.difference.mean == float(way.mean)
    assert clear.difference.half_width == pytest.approx(float(way.half_width()), abs=1e-15)
    assert clear.seeds_alone.half_width is not None
    assert clear.difference.half_width is not None
    assert clear.difference.half_width > clear.seeds_alone.half_width


@pytest.mark.parametrize("num_seeds", [1, 2])
def test_fewer_than_three_seeds_decide_nothing(num_seeds: int) -> None:
    few = {arm: seeds[:num_seeds] for arm, seeds in CLEAR.items()}
    clear = compared(few, num_seeds=num_seeds)["clear"]
    assert clear.verdict == "undecided"
    assert clear.difference.half_width is None
    assert clear.why_seeds_alone == "there are fewer than three seeds"


def test_equal_differences_of_all_seeds_are_never_bold() -> None:
    wrong = {"base": [range(5)] * 3, "arm": [range(14)] * 3}
    arm = compared(wrong)["arm"]
    assert arm.adjusted_p == 1
    assert arm.verdict == "undecided"
    table = table_of(wrong)
    assert table.lead.endswith("as the differences of all seeds are equal.")
    assert (
        "arm: the differences of all seeds are equal: it cannot be called different." in table.notes
    )


def test_what_holds_alone_need_not_hold_for_all_together() -> None:
    images = [range(10, 16), range(10, 17), range(10, 16)]
    alone: Wrong = {"base": [[0], [1], [2]], "arm": images}
    assert compared(alone)["arm"].verdict == "different"
    others = {f"other {n}": [[n, n + 30], [n + 60], [n + 90]] for n in range(40, 55)}
    together = compared({**alone, **others})["arm"]
    assert together.p_value is not None
    assert together.p_value < 0.05
    assert together.verdict == "undecided"
    table = table_of({**alone, **others})
    marked = [row[0].text for row in table.rows if row[3].text.endswith(ALONE_MARK)]
    assert marked == ["arm"]
    assert (
        "‡ The interval of this arm alone leaves out 0, but not the simultaneous one for all 2 "
        "comparisons: by itself it is no finding."
    ) in table.notes
    assert ALONE_MARK not in str(table_of(alone))


def test_a_table_says_where_the_figures_for_these_very_images_are() -> None:
    table = table_of(CLEAR)
    assert any(
        "these very test images, see seeds_alone_points in ablation.csv" in note
        for note in table.notes
    )
    assert table.for_programs is not None
    assert "seeds_alone_points" in {
        name for column in table.for_programs.columns for name in column.fields
    }


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"model.routing": "uniform"}, "such as the learning rate"),
        ({"optimiser": {"learning_rate": 0.1}}, "that it does not change"),
    ],
)
def test_a_table_of_untuned_arms_says_what_they_inherit(changes: Json, text: str) -> None:
    manifest = manifest_of([*CLEAR])
    arms = (manifest.arms[0], manifest.arms[1].model_copy(update={"changes": changes}))
    table = table_of(CLEAR, manifest.model_copy(update={"arms": (*arms, manifest.arms[2])}))
    assert f"No arm is tuned: settings {text} are inherited from the baseline." in table.notes


@pytest.mark.parametrize("difference", ["data", "images", "gone"])
def test_other_images_leave_seeds_alone(difference: str) -> None:
    manifest = manifest_of([*CLEAR])
    predictions = predictions_of(CLEAR)
    key = manifest.cell_keys()["clear", 1]
    match difference:
        case "data":
            predictions[key] = predictions_of(CLEAR, fingerprint="other")[key]
        case "images":
            predictions[key] = predictions_of(CLEAR, objects=[0] * 360)[key]
        case _:
            del predictions[key]
    arms = arm_results(manifest, by_key(*trials_of(CLEAR)))
    by_name = {o.arm.arm.name: o for o in ablation_comparisons(manifest, arms, predictions)}
    assert by_name["clear"].way is None
    assert by_name["clear"].verdict == "undecided"
    assert by_name["clear"].difference == by_name["clear"].seeds_alone
    assert by_name["near"].way is not None


def test_another_split_is_not_taken_for_the_same_images() -> None:
    manifest = manifest_of([*CLEAR])
    split = manifest.arms[1].model_copy(update={"config": {"data": {"split_seed": 1}}})
    arms = (manifest.arms[0], split, manifest.arms[2])
    by_name = compared(CLEAR, manifest.model_copy(update={"arms": arms}))
    assert by_name["clear"].why_seeds_alone == "the data differ"
    assert by_name["near"].way is not None


def test_fewer_training_images_are_compared_on_the_same_test_images() -> None:
    manifest = manifest_of([*CLEAR])
    few = manifest.arms[1].model_copy(update={"config": {"data": {"train_fraction": 0.1}}})
    by_name = compared(
        CLEAR, manifest.model_copy(update={"arms": (manifest.arms[0], few, manifest.arms[2])})
    )
    assert by_name["clear"].way is not None
    assert by_name["clear"].why_seeds_alone == ""


def test_views_of_a_single_object_decide_nothing() -> None:
    manifest = manifest_of([*CLEAR])
    arms = arm_results(manifest, by_key(*trials_of(CLEAR)))
    comparisons = ablation_comparisons(manifest, arms, predictions_of(CLEAR, objects=[7] * 360))
    assert comparisons[0].why_seeds_alone == "there is one test image or object"


def test_images_of_one_object_count_as_one() -> None:
    manifest = manifest_of([*CLEAR])
    arms = arm_results(manifest, by_key(*trials_of(CLEAR)))
    objects = [place // 60 for place in range(360)]
    comparisons = ablation_comparisons(manifest, arms, predictions_of(CLEAR, objects=objects))
    assert comparisons[0].way is not None
    assert comparisons[0].way.num_clusters == 6
    table = ablation_table(
        manifest, by_key(*trials_of(CLEAR)), predictions=predictions_of(CLEAR, objects=objects)
    )
    assert OBJECTS_NOTE in table.notes
    assert OBJECTS_NOTE not in table_of(CLEAR).notes
    assert comparisons[0].verdict == "undecided"


@pytest.mark.parametrize(("margin", "verdict"), [(0.2, "undecided"), (3.0, "equivalent")])
def test_an_arm_is_equivalent_within_a_declared_margin_alone(margin: float, verdict: str) -> None:
    manifest = manifest_of([*CLEAR], margin_points=margin)
    by_name = compared(CLEAR, manifest)
    assert by_name["near"].verdict == verdict
    assert by_name["clear"].verdict == "different"


def test_an_arm_that_diverges_is_not_better_for_what_is_left() -> None:
    wrong: Wrong = {
        "base": [range(30), range(33), range(31), range(34), range(30)],
        "wild": [range(3), range(4), range(2)],
    }
    manifest = manifest_of([*wrong], range(5))
    lost = [unfinished("wild", seed, Outcome.DIVERGED, "nan") for seed in (3, 4)]
    records = by_key(*trials_of(wrong), *lost)
    predictions = predictions_of(wrong)
    arms = arm_results(manifest, records)
    assert ablation_comparisons(manifest, arms, predictions)[0].verdict == "undecided"
    table = ablation_table(manifest, records, predictions=predictions)
    assert table.rows[1][5].text == "2 of 5 (5 % to 85 %)"
    without = manifest_of([*wrong])
    only_three = arm_results(without, by_key(*trials_of(wrong)))
    assert ablation_comparisons(without, only_three, predictions)[0].verdict == "different"


def test_seeds_added_after_looking_need_more_evidence() -> None:
    planned = manifest_of([*CLEAR], planned_seeds=(0,))
    assert compared(CLEAR)["clear"].log_e is None
    clear = compared(CLEAR, planned)["clear"]
    assert clear.log_e is not None
    assert clear.verdict == "undecided"
    assert any("were added after looking" in note for note in table_of(CLEAR, planned).notes)


def test_old_records_of_views_do_not_say_which_object_an_image_shows() -> None:
    manifest = manifest_of([*CLEAR])
    of_views = {"config": {"data": {"kind": "smallnorb"}}}
    arms = tuple(arm.model_copy(update=of_views) for arm in manifest.arms)
    manifest = manifest.model_copy(update={"arms": arms})
    why = compared(CLEAR, manifest)["clear"].why_seeds_alone
    assert why == "it is not recorded which object an image shows"


def test_one_arm_has_nothing_to_be_compared_with() -> None:
    table = table_of({"base": CLEAR["base"]})
    assert table.lead == "There is one arm: nothing to compare it with."
    assert [cell.text for cell in table.rows[0]][:3] == ["base (baseline)", "", "1.67 (0.28)"]


def test_where_nothing_finished_the_table_says_so() -> None:
    assert ablation_table(manifest_of(["a", "b"]), {}).lead.startswith("No trial has finished")


def test_seeds_added_after_looking_leave_half_the_level() -> None:
    images = [[*range(10, 14), *([20] if seed % 2 else [])] for seed in range(10)]
    wrong: Wrong = {"base": [[0]] * 10, "arm": [[0, *places] for places in images]}
    once = compared(wrong, num_seeds=10)["arm"]
    assert once.adjusted_p is not None
    assert 0.025 < once.adjusted_p < 0.05
    assert once.verdict == "different"
    added = compared(wrong, manifest_of([*wrong], range(10), planned_seeds=(0, 1, 2)))["arm"]
    assert added.log_e is not None
    assert added.log_e > 3
    assert added.verdict == "undecided"


def test_to_diverge_is_never_better_even_than_a_baseline_worse_than_a_guess() -> None:
    """Guesses err on 90 %: as they stand they would be better where the baseline errs on more."""
    wrong: Wrong = {
        "base": [range(340), range(341), range(342), range(356), range(356)],
        "wild": [range(2), range(3), range(4)],
    }
    manifest = manifest_of([*wrong], range(5))
    lost = [unfinished("wild", seed, Outcome.DIVERGED, "nan") for seed in (3, 4)]
    arms = arm_results(manifest, by_key(*trials_of(wrong), *lost))
    comparison = ablation_comparisons(manifest, arms, predictions_of(wrong))[0]
    assert comparison.p_value is not None
    # two of five that are 0 leave t at most 2.45 at 4 degrees of freedom
    assert comparison.p_value > 0.07
    assert comparison.verdict == "undecided"


@pytest.mark.parametrize("wild", ["base", "arm"])
def test_nothing_is_equivalent_where_trials_diverged(wild: str) -> None:
    wrong: Wrong = {
        "base": [range(3 + seed % 2) for seed in range(6)],
        "arm": [range(1, 4 + seed % 3) for seed in range(6)],
    }
    without_loss = manifest_of([*wrong], range(6), margin_points=5.0)
    assert compared(wrong, without_loss)["arm"].verdict == "equivalent"
    lost = [unfinished(wild, seed, Outcome.DIVERGED, "nan") for seed in (6, 7, 8)]
    manifest = manifest_of([*wrong], range(9), margin_points=5.0)
    other = "arm" if wild == "base" else "base"
    others = [finished(other, seed, 4) for seed in (6, 7, 8)]
    arms = arm_results(manifest, by_key(*trials_of(wrong), *lost, *others))
    predictions = predictions_of({**wrong, other: [*wrong[other], *[range(4)] * 3]})
    assert ablation_comparisons(manifest, arms, predictions)[0].verdict == "undecided"


@pytest.mark.parametrize(("num_diverged", "verdict"), [(5, "different"), (3, "undecided")])
def test_where_too_few_seeds_are_left_the_verdict_is_on_how_often_arms_diverge(
    num_diverged: int, verdict: str
) -> None:
    wrong: Wrong = {"base": [range(4)] * 5, "wild": [range(4)] * (5 - num_diverged)}
    lost = [
        unfinished("wild", seed, Outcome.DIVERGED, "nan") for seed in range(5 - num_diverged, 5)
    ]
    manifest = manifest_of([*wrong], range(5))
    records = by_key(*trials_of(wrong), *lost)
    (comparison,) = ablation_comparisons(
        manifest, arm_results(manifest, records), predictions_of(wrong)
    )
    assert comparison.verdict == verdict
    table = ablation_table(manifest, records, predictions=predictions_of(wrong))
    is_named = "Different from the baseline: wild (5 diverged)." in table.lead
    assert is_named == (verdict == "different")


def test_an_arm_whose_bad_trainings_failed_is_not_better() -> None:
    """The same trainings as the baseline's, but for the three worst, which failed."""
    chance = np.random.default_rng(0)
    errors = sorted(int(number) for number in chance.integers(20, 60, 8))
    wrong: Wrong = {
        "base": [range(50, 50 + 45 + seed % 2) for seed in range(8)],
        "arm": [range(50, 50 + number) for number in errors[:5]],
    }
    failed = [unfinished("arm", seed, Outcome.FAILED, "out of memory") for seed in (5, 6, 7)]
    manifest = manifest_of([*wrong], range(8))
    records = by_key(*trials_of(wrong), *failed)
    (comparison,) = ablation_comparisons(
        manifest, arm_results(manifest, records), predictions_of(wrong)
    )
    assert comparison.way is not None
    assert comparison.harsh is not None
    assert float(comparison.way.mean) < 0
    assert comparison.p_value == 1.0
    notes = ablation_table(manifest, records, predictions=predictions_of(wrong)).notes
    said = "More trials failed in arm (3) than in the baseline (0). If bad trainings fail,"
    assert [note for note in notes if note.startswith(said)]


def test_a_note_says_whether_more_or_fewer_trials_failed() -> None:
    manifest = manifest_of(["base", "more", "fewer", "same"], range(4))
    counts = {"base": 1, "more": 3, "fewer": 0, "same": 1}
    failed = [
        unfinished(arm, seed, Outcome.FAILED, "out of memory")
        for arm, number in counts.items()
        for seed in range(number)
    ]
    (note,) = failed_notes(arm_results(manifest, by_key(*failed)))
    assert note.startswith(
        "More trials failed in more (3) than in the baseline (1). Fewer trials failed in fewer (0) "
        "than in the baseline (1). If"
    )


def test_equivalence_holds_for_the_table_and_not_for_each_arm_by_itself() -> None:
    """Five arms, each within the margin by its own p, but not by Holm's."""
    parts = ((0, 1), (0, 2), (1, 3), (2, 4), (3, 5))  # of equal results one would stand for all
    rows: Wrong = {
        f"arm {n}": [
            [*range(3), 50 + n, *([90 + n] if seed in parts[n] else [])] for seed in range(6)
        ]
        for n in range(5)
    }
    wrong: Wrong = {"base": [range(3 + seed % 2) for seed in range(6)], **rows}
    for tenths in range(5, 60):
        manifest = manifest_of([*wrong], range(6), margin_points=tenths / 10)
        comparisons = [*compared(wrong, manifest).values()]
        alone = [comparison.equivalent_p or 1.0 for comparison in comparisons]
        if max(alone) < 0.025 and min(alone) > 0.01:
            assert {comparison.verdict for comparison in comparisons} == {"undecided"}
            return
    raise AssertionError("no margin lies between both")
