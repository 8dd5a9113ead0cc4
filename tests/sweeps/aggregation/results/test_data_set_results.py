"""Arms on several data sets, recomputed from the images that their networks get wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from jaxtyping import Float
from scipy import stats

from capsmodel.metrics import Metric
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import comparisons_together
from sweeps.aggregation.results.data_set_results import (
    Counts,
    DataSetResults,
    MeasuredDataSet,
    data_set_results,
)
from sweeps.aggregation.results.evaluation_comparisons import (
    EvaluatedFigure,
    as_cost,
    data_sets_as_measured,
)
from sweeps.aggregation.results.measured_arms import ImageErrors, MeasuredArm
from sweeps.aggregation.results.planned_looks import NOT_YET
from sweeps.aggregation.statistics.families import holm
from sweeps.aggregation.statistics.looks import LookLevel
from sweeps.aggregation.statistics.two_way import two_way
from sweeps.records.manifest import ManifestArm
from sweeps.records.trial_record import Outcome
from tests.sweeps.aggregation.evaluated import curve_evaluation
from tests.sweeps.aggregation.known_sweep import finished, unfinished
from tools.acceptance.data_sets import COLUMNS, Case, Drawn, Together, is_excluded
from tools.acceptance.data_sets import drawn as many_drawn
from tools.acceptance.figures import Figure
from tools.acceptance.judged_tables import minus_first

EXACT = 1e-12
GUESS = 0.9
Wrong = Float[np.ndarray, "arms seeds images"]


def measured(
    name: str, wrong: Float[np.ndarray, "seeds images"], seeds: Sequence[int], data: str = "data"
) -> MeasuredArm:
    """Return an arm whose networks err on given images; rows of NaN have diverged."""
    is_lost = np.isnan(wrong).any(axis=1)
    trials = {
        seed: unfinished(name, seed, Outcome.DIVERGED, "nan")
        if lost
        else finished(name, seed, int(row.sum()))
        for seed, row, lost in zip(seeds, wrong, is_lost, strict=True)
    }
    kept = [(s, row) for s, row, lost in zip(seeds, wrong, is_lost, strict=True) if not lost]
    arm = ManifestArm(name=name, config={}, num_parameters=0)
    return MeasuredArm(
        ArmResults(arm, name == "base", {**trials}),
        {seed: float(row.mean()) for seed, row in kept},
        {seed: ImageErrors(row, GUESS, data) for seed, row in kept},
    )


def data_set(name: str, wrong: Wrong, first_seed: int = 0) -> MeasuredDataSet:
    """Return a data set whose first arm is the baseline."""
    seeds = range(first_seed, first_seed + wrong.shape[1])
    names = ["base", *(f"arm {arm}" for arm in range(1, len(wrong)))]
    arms = (measured(arm, rows, seeds, name) for arm, rows in zip(names, wrong, strict=True))
    return MeasuredDataSet(name, tuple(arms))


def drawn(place: int, errors: Sequence[float], images: int, seeds: int = 3) -> Wrong:
    """Return what networks err on; seeds and images differ in how hard they are."""
    chance = np.random.default_rng([61, place])
    hard = chance.normal(0, 1, (1, 1, images)) + chance.normal(0, 0.1, (len(errors), seeds, 1))
    places = stats.norm.ppf(errors)[:, None, None] * 2**0.5
    return (hard + chance.normal(0, 1, (len(errors), seeds, images)) < places).astype(float)


LEVELS = [(0.3, 0.1, 0.28, 0.3), (0.2, 0.06, 0.22, 0.2), (0.25, 0.09, 0.2, 0.26)]
UNLIKE = [(0.05, 0.01, 0.05, 0.05), (0.3, 0.08, 0.32, 0.3), (0.1, 0.02, 0.1, 0.1)]


def tables(levels: Sequence[Sequence[float]] = LEVELS) -> list[Wrong]:
    return [drawn(place, errors, 200 + 100 * place) for place, errors in enumerate(levels)]


def apart(wrong: Sequence[Wrong]) -> list[MeasuredDataSet]:
    """Return data sets with seeds of their own."""
    return [data_set(f"data {n}", each, 100 * n) for n, each in enumerate(wrong)]


def judged(data_sets: Sequence[MeasuredDataSet], **more: bool | float) -> DataSetResults:
    return data_set_results(data_sets, finds_reach=False, **more)  # pyright: ignore[reportArgumentType]


def log_ratio(
    arm: Float[np.ndarray, "seeds images"], baseline: Float[np.ndarray, "seeds images"]
) -> float:
    """Return the logarithm of expected errors, half an image added to each."""
    logs = list[float]()
    for rows in (arm, baseline):
        error = rows.mean() + 1 / (2 * rows.shape[1])
        logs.append(np.log(error) + (stats.sem(rows.mean(axis=1)) / error) ** 2 / 2)
    return logs[0] - logs[1]


def as_drawn(wrong: Wrong) -> Drawn:
    none = np.zeros((1, len(wrong) - 1))
    way = two_way(minus_first(wrong[None]))
    return Drawn(way, wrong[None].mean(axis=-1), wrong.shape[-1], none, none)


def test_cells_hold_for_all_data_sets_together() -> None:
    data_sets = apart(tables())
    results = judged(data_sets)
    expected = comparisons_together([each.arms for each in data_sets], finds_reach=False)
    for column, compared in zip(results.columns, expected, strict=True):
        assert list(column.cells.values()) == compared
    p_values = [cell.p_value for column in results.columns for cell in column.cells.values()]
    adjusted = [cell.adjusted_p for column in results.columns for cell in column.cells.values()]
    assert len(p_values) == 9
    assert adjusted == pytest.approx(holm([p for p in p_values if p is not None]), abs=EXACT)


@pytest.mark.parametrize("levels", [LEVELS, UNLIKE], ids=["points", "percent"])
@pytest.mark.parametrize("shares_seeds", [False, True], ids=["seeds apart", "equal seeds"])
def test_single_tables_are_judged_as_those_that_are_simulated(
    levels: Sequence[Sequence[float]], *, shares_seeds: bool
) -> None:
    wrong = tables(levels)
    data_sets = [data_set(str(n), each) for n, each in enumerate(wrong)]
    results = judged(data_sets if shares_seeds else apart(wrong), margin=0.2)
    assert results.shares_seeds == shares_seeds
    assert results.scale == ("points" if levels is LEVELS else "percent")
    simulated = Together.of([*map(as_drawn, wrong)], shares_seeds=shares_seeds)
    differences = simulated.points if results.scale == "points" else simulated.percent
    p_values = differences.p_value[0].tolist()
    halves, logs = simulated.points.half_width()[0], simulated.percent.half_width()[0]
    assert [one.p_value for one in results.overall] == pytest.approx(p_values, abs=EXACT)
    assert [one.adjusted_p for one in results.overall] == pytest.approx(holm(p_values), abs=EXACT)
    for arm, one in enumerate(results.overall):
        assert one.points
        assert one.change
        assert one.change.high is not None
        mean = np.mean([each[arm + 1].mean() - each[0].mean() for each in wrong])
        assert one.points.mean == pytest.approx(mean, abs=EXACT)
        assert one.points.half_width == pytest.approx(halves[arm], abs=EXACT)
        log = np.mean([log_ratio(each[arm + 1], each[0]) for each in wrong])
        assert one.change.mean == pytest.approx(np.exp(log) - 1, abs=EXACT)
        assert one.change.high == pytest.approx(np.exp(log + logs[arm]) - 1, abs=EXACT)
    first, *others = results.overall
    assert first.is_different
    assert first.difference
    assert [one.is_different for one in others] == [p < 0.05 for p in holm(p_values)[1:]]
    if results.scale == "points" and not shares_seeds:
        equivalent = [one.verdict == "equivalent" for one in results.overall]
        assert equivalent == simulated.is_equivalent(0.2)[0].tolist()
        assert any(equivalent)


def test_an_arm_that_varies_more_on_most_data_sets_is_held_to_its_own_seeds_on_each() -> None:
    wrong = tables()
    for each in wrong[1:]:
        each[1, 0, :80] = 1
    data_sets = apart(wrong)
    alone = comparisons_together([each.arms for each in data_sets], finds_reach=False)
    assert [cells[0].is_apart for cells in alone] == [False, True, True]
    cells = [column.cells["arm 1"] for column in judged(data_sets).columns]
    assert all(cell.is_apart for cell in cells)
    simulated = Together.of([*map(as_drawn, wrong)], shares_seeds=False)
    for cell, column in zip(cells, simulated.columns, strict=True):
        assert cell.p_value == pytest.approx(column.way.p_value[0, 0], abs=EXACT)
    assert cells[0].way
    assert alone[0][0].way
    assert cells[0].way.errors[1] != alone[0][0].way.errors[1]


def test_one_compared_arm_has_four_fifths_of_the_level() -> None:
    data_sets = apart([each[:2] for each in tables()])
    results = judged(data_sets)
    expected = comparisons_together([each.arms for each in data_sets], finds_reach=False)
    for column, (usual,) in zip(results.columns, expected, strict=True):
        cell = column.cells["arm 1"]
        assert usual.adjusted_p is not None
        assert usual.way
        assert cell.adjusted_p == pytest.approx(min(usual.adjusted_p / 0.8, 1), abs=EXACT)
        assert cell.simultaneous
        half = float(usual.way.half_width(1 - 0.04 / 3))
        assert cell.simultaneous.half_width == pytest.approx(half, abs=EXACT)
        assert cell.difference == usual.difference
    overall = results.by_arm["arm 1"]
    assert overall.p_value is not None
    assert overall.adjusted_p == pytest.approx(overall.p_value / 0.8, abs=EXACT)
    assert overall.simultaneous
    assert overall.simultaneous.confidence == pytest.approx(0.96)


def test_counts_are_those_of_the_cells() -> None:
    results = judged(apart(tables()))
    better = sum(column.cells["arm 1"].is_different for column in results.columns)
    assert better > 0
    assert results.by_arm["arm 1"].counts == Counts(better=better, undecided=3 - better)
    assert results.by_arm["arm 3"].counts == Counts(undecided=3)


def test_an_arm_that_is_missing_on_a_data_set_has_no_overall_difference() -> None:
    data_sets = apart(tables())
    whole = judged(data_sets)
    without = replace(data_sets[1], arms=data_sets[1].arms[:3])
    few = replace(data_sets[2].arms[2], errors={}, by_image={})
    fewer = replace(data_sets[2], arms=(*data_sets[2].arms[:2], few, data_sets[2].arms[3]))
    results = judged([data_sets[0], without, fewer])
    by_arm = results.by_arm
    assert by_arm["arm 3"].missing_on == {"data 1": "it is no arm there"}
    assert by_arm["arm 3"].why_undecided == "it is missing on data 1"
    assert by_arm["arm 2"].missing_on == {"data 2": "no seed has a result of both"}
    assert by_arm["arm 2"].counts == Counts(undecided=2, missing=1)
    assert by_arm["arm 2"].difference is by_arm["arm 3"].p_value is None
    alone = by_arm["arm 1"]
    assert alone.p_value is not None
    assert alone.adjusted_p == pytest.approx(min(alone.p_value / 0.8, 1))  # as it is alone
    before = whole.by_arm["arm 1"].points
    assert alone.points
    assert before
    assert alone.points.mean == pytest.approx(before.mean, abs=EXACT)


def test_a_data_set_without_a_baseline_is_counted_by_no_overall() -> None:
    data_sets = apart(tables())
    lost = replace(data_sets[2].arms[0], errors={}, by_image={})
    nothing = judged([replace(each, arms=(lost, *each.arms[1:])) for each in data_sets])
    assert [*nothing.by_arm] == ["arm 1", "arm 2", "arm 3"]
    for left in (data_sets[2].arms[1:], (lost, *data_sets[2].arms[1:])):
        results = judged([*data_sets[:2], replace(data_sets[2], arms=left)])
        assert results.without_baseline == ("data 2",)
        of_two = judged(data_sets[:2])
        assert [one.p_value for one in results.overall] == [one.p_value for one in of_two.overall]
    alone = judged(data_sets[:1])
    assert alone.overall[0].why_undecided == alone.why_no_overall
    assert alone.why_no_overall


def test_identical_arms_are_one_and_those_like_the_baseline_none() -> None:
    wrong = tables()
    for place, each in enumerate(wrong):
        each[3] = each[2]
        each[1] = each[0] if place < 2 else each[1]
    results = judged(apart(wrong))
    assert [one.arms for one in results.overall] == [("arm 1",), ("arm 2", "arm 3")]
    assert [column.identical for column in results.columns] == [("arm 1",), ("arm 1",), ()]
    first = results.by_arm["arm 1"]
    assert first.counts.identical == 2
    cell = results.columns[2].cells["arm 1"].difference
    assert first.points
    assert first.points.half_width is not None
    assert first.points.mean == pytest.approx((cell.mean or 0) / 3, abs=EXACT)
    assert first.points.half_width == pytest.approx((cell.half_width or 0) / 3, abs=EXACT)
    same = judged(apart([np.stack([each[0], each[0], each[2]]) for each in wrong]))
    assert same.identical == ("arm 1",)
    assert "arm 1" not in same.by_arm


def test_lost_trials_count_as_guesses() -> None:
    wrong = [drawn(n, errors, 200, 5) for n, errors in enumerate(LEVELS)]
    before = judged(apart(wrong)).by_arm["arm 1"]
    wrong[0][1, 4] = np.nan
    after = judged(apart(wrong)).by_arm["arm 1"]
    assert before.p_value is not None
    assert after.p_value is not None
    assert before.p_value < 0.01
    assert after.p_value > 0.05  # one network that guesses hides what the others gain
    equal = judged([data_set(str(n), each) for n, each in enumerate(wrong)]).by_arm["arm 1"]
    assert equal.p_value is not None
    assert equal.p_value > 0.05
    assert equal.points
    four = np.mean([each[1, :4].mean() - each[0, :4].mean() for each in wrong])
    assert equal.points.mean == pytest.approx(four, abs=EXACT)  # by the seeds that all have


def test_what_tuning_left_open_is_averaged_too() -> None:
    data_sets = apart(tables())
    usual = judged(data_sets).by_arm["arm 1"]
    assert usual.points
    assert usual.points.mean is not None
    assert usual.is_different
    slacks: Mapping[str, float] = {"base": -3 * usual.points.mean}
    tuned = [replace(data_sets[0], slacks=slacks), *data_sets[1:]]
    slack = judged(tuned).by_arm["arm 1"]
    assert slack.p_value == pytest.approx(1)
    assert slack.points == usual.points


def test_added_seeds_need_evidence_on_averages_over_data_sets() -> None:
    data_sets = apart([drawn(n, errors, 200, 6) for n, errors in enumerate(LEVELS)])
    usual = judged(data_sets).by_arm["arm 1"]
    planned = [
        replace(each, planned_seeds=tuple(each.arms[0].errors)[: 3 if n else 6])
        for n, each in enumerate(data_sets)
    ]
    added = judged(planned).by_arm["arm 1"]
    rows = [
        [each.arms[1].errors[seed] - each.arms[0].errors[seed] for seed in each.arms[0].errors]
        for each in data_sets
    ]
    means = np.mean(rows, axis=0)
    share = means.sum() ** 2 / (6.25 * (means**2).sum())
    log_e = 0.5 * np.log(0.25 / 6.25) - 3 * np.log1p(-share)
    assert usual.log_e is None
    assert added.log_e == pytest.approx(log_e, abs=EXACT)
    assert added.p_value == usual.p_value
    assert added.is_different == (log_e > np.log(3 / 0.05) and (usual.adjusted_p or 1) < 0.025)


def test_of_other_data_sets_something_is_said_from_six_on() -> None:
    wrong = [drawn(n, (0.3, 0.2, 0.3), 200) for n in range(6)]
    five = judged(apart(wrong[:5]), like_these=True)
    assert five.why_not_like_these == "5 data sets say nothing of others: it takes 6"
    assert five.overall[0].like_these is None
    assert judged(apart(wrong)).overall[0].like_these is None  # not asked for
    found = [one.like_these for one in judged(apart(wrong), like_these=True).overall]
    logs = np.array([[log_ratio(arm, each[0]) for arm in each[1:]] for each in wrong])
    by_scipy = stats.ttest_1samp(logs, 0)
    assert [one and one.p_value for one in found] == pytest.approx(by_scipy.pvalue.tolist())
    assert [one and one.adjusted_p for one in found] == pytest.approx(
        holm(by_scipy.pvalue.tolist())
    )
    assert found[0]
    assert found[0].is_different
    assert found[0].change.mean == pytest.approx(np.exp(logs[:, 0].mean()) - 1)
    equal = judged([data_set(str(n), each) for n, each in enumerate(wrong)], like_these=True)
    assert "in common" in equal.why_not_like_these


def test_ranks_leave_out_arms_that_are_missing() -> None:
    data_sets = apart(tables())
    data_sets[0] = replace(data_sets[0], arms=data_sets[0].arms[:3])
    ranks = judged(data_sets, ranks=True).ranks
    assert ranks
    assert ranks.left_out == ("arm 3",)
    errors = [[np.mean([*arm.errors.values()]) for arm in each.arms[:3]] for each in data_sets]
    expected = stats.rankdata(errors, axis=1).mean(axis=0)
    assert [*ranks.ranks.values()] == pytest.approx(expected.tolist())
    friedman = stats.friedmanchisquare(*np.transpose(errors)).pvalue
    assert ranks.friedman_p == pytest.approx(friedman)
    assert judged(data_sets).ranks is None
    assert ranks.num_data_sets == 3
    equal = judged([data_set(str(n), each) for n, each in enumerate(tables())], ranks=True)
    assert equal.ranks is None
    assert "in common" in equal.why_no_ranks
    two = judged([replace(each, arms=each.arms[:2]) for each in data_sets], ranks=True)
    assert two.ranks is None
    assert "three arms" in two.why_no_ranks


def test_with_looks_an_overall_difference_waits_for_all_of_them() -> None:
    data_sets = apart(tables())
    compared = comparisons_together([each.arms for each in data_sets], finds_reach=False)

    def at(is_last: bool) -> list[MeasuredDataSet]:
        look = LookLevel((3,), 20 - 17 * is_last, is_last=is_last, num_data_sets=3)
        return [
            replace(each, at_looks=tuple(replace(cell, look=look) for cell in cells))
            for each, cells in zip(data_sets, compared, strict=True)
        ]

    waiting = judged(at(is_last=False))
    assert waiting.why_no_overall == "looks are still to come on data 0, data 1, data 2"
    assert not any(one.is_different for one in waiting.overall)
    ended, usual = judged(at(is_last=True)), judged(data_sets)
    assert [one.p_value for one in ended.overall] == [one.p_value for one in usual.overall]
    early = LookLevel((3, 5), 20, is_last=False)
    decided = [
        replace(each, at_looks=tuple(replace(c, look=early, verdict="different") for c in cells))
        for each, cells in zip(data_sets, compared, strict=True)
    ]
    for arm, (at_look, once) in enumerate(zip(judged(decided).overall, usual.overall, strict=True)):
        halves = list[float]()
        ways = [way for cells in compared if (way := cells[arm].way)]
        widths = [float(way.half_width(early.confidence(1)) / way.half_width()) for way in ways]
        for part in range(3):
            squares = [
                float(way.errors[part][0] * width) ** 2
                for way, width in zip(ways, widths, strict=True)
            ]
            below = [v**2 / float(w.errors[part][1]) for v, w in zip(squares, ways, strict=True)]
            quantile = stats.t.isf(0.025, sum(squares) ** 2 / sum(below))
            halves.append(quantile * sum(squares) ** 0.5 / 3)
        assert min(widths) > 1.3
        assert at_look.points
        assert once.points
        assert at_look.points.mean == once.points.mean
        assert at_look.points.half_width == pytest.approx(max(halves), abs=EXACT)
    first = replace(compared[0][0], way=None, why_seeds_alone=NOT_YET)
    begun = at(is_last=True)
    begun[0] = replace(begun[0], at_looks=(first, *compared[0][1:]))
    assert judged(begun).why_no_overall == "looks are still to come on data 0"


def test_a_figure_that_is_better_larger_is_judged_as_its_cost_and_shown_as_itself() -> None:
    right = Metric(name="right", unit="fraction", direction="larger", split="test", moment="end")
    figure = EvaluatedFigure(curve_evaluation(), right, {"right": 1.0})
    wrong = tables()
    of_costs = judged(apart(wrong))
    values = [
        replace(each, arms=tuple(as_cost(figure, arm) for arm in each.arms))
        for each in apart([1 - each for each in wrong])
    ]
    results = data_sets_as_measured(figure, judged(values))
    first, cost = results.by_arm["arm 1"], of_costs.by_arm["arm 1"]
    assert first.counts == cost.counts
    assert first.p_value == pytest.approx(cost.p_value, abs=EXACT)
    assert first.points
    assert first.simultaneous
    assert cost.points
    assert cost.points.mean is not None
    assert cost.simultaneous
    assert cost.simultaneous.low is not None
    assert first.points.mean == pytest.approx(-cost.points.mean, abs=EXACT)
    assert first.simultaneous.high == pytest.approx(-cost.simultaneous.low, abs=EXACT)
    assert results.columns[0].arms["arm 1"].errors[0] == pytest.approx(1 - wrong[0][1, 0].mean())
    cell = results.columns[0].cells["arm 1"].difference.mean
    assert cell == pytest.approx(wrong[0][0].mean() - wrong[0][1].mean(), abs=EXACT)


def test_networks_of_the_simulation_err_by_their_law_and_share_what_a_seed_does() -> None:
    case = Case("law", change=float(np.log(0.7)), spread=0.1, correlation=0.5)
    places, draws = (3, 4), 200
    columns = [many_drawn(COLUMNS[place], case, place, 3, draws) for place in places]
    for column, place in zip(columns, places, strict=True):
        off = column.errors[:, 1:].mean(axis=-1) - COLUMNS[place].generator.error - column.true
        assert abs(off.mean()) < 4 * off.mean(axis=1).std() / draws**0.5
        assert column.true_log.mean() == pytest.approx(np.log(0.7), abs=0.4 / 1000**0.5)
        assert column.true_log.std() == pytest.approx(0.1, rel=0.15)
    seeds = [(c.errors - c.errors.mean(axis=-1, keepdims=True)).ravel() for c in columns]
    assert np.corrcoef(seeds)[0, 1] > 0.1


def test_a_rate_fails_where_its_count_excludes_what_is_asked() -> None:
    def excluded(count: int) -> bool:
        return is_excluded(Figure("", "", 3, 1, count, 1000, most=0.055), 0.01)

    counts = np.arange(1, 1000)
    first = counts[[stats.binomtest(int(n), 1000, 0.055, "greater").pvalue < 0.01 for n in counts]]
    assert not excluded(int(first[0]) - 1)
    assert excluded(int(first[0]))
    assert is_excluded(Figure("", "", 3, 1, 915, 1000, 0.94, 0.99), 0.01)
    assert not is_excluded(Figure("", "", 3, 1, 935, 1000, 0.94, 0.99), 0.01)


def test_data_sets_of_the_same_images_have_a_wider_overall_interval() -> None:
    own = apart(tables())
    shared = [replace(each, images_of=("digits",)) for each in own]
    apart_from, together = judged(own), judged(shared)
    assert apart_from.same_images == []
    assert together.same_images == [[each.name for each in own]]
    widths = [
        [each.points.high - each.points.low for each in results.overall if each.points]
        for results in (apart_from, together)
    ]
    assert max(np.divide(*widths[::-1])) > 1.1, "where images decide and not seeds"
    many = [replace(each, name=f"again {place}") for place, each in enumerate(shared * 3)]
    assert judged(many[:6], like_these=True).why_not_like_these.startswith("only 1 of the data")
