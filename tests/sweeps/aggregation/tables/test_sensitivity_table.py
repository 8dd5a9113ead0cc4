import dataclasses

import numpy as np
import pytest

from sweeps.aggregation.rendering.csv_text import to_csv
from sweeps.aggregation.rendering.latex import to_latex
from sweeps.aggregation.rendering.markdown import to_markdown
from sweeps.aggregation.sensitivity.importance import Importance
from sweeps.aggregation.sensitivity.sensitivity import Sensitivity, rank_correlation, sensitivity
from sweeps.aggregation.tables.sensitivity_table import sensitivity_tables
from sweeps.records.trial_record import Outcome
from tests.sweeps.aggregation.known_search import (
    broken,
    choices,
    ended,
    floats,
    ints,
    search_of,
    searched,
)
from tests.sweeps.aggregation.known_sweep import by_key

pytestmark = pytest.mark.usefixtures("rough_importances")

DIMENSIONS = [
    choices("routing", "dynamic", "em"),
    ints("routing[em].iterations", 1, 3, conditions={"routing": "em"}),
    floats("rate", 1e-4, 1e-2, log=True),
]


def params_of(num_trials: int, seed: int = 0) -> list[dict[str, object]]:
    chance = np.random.default_rng(seed)
    params: list[dict[str, object]] = []
    for _ in range(num_trials):
        point: dict[str, object] = {"routing": ("dynamic", "em")[chance.integers(2)]}
        if point["routing"] == "em":
            point["routing[em].iterations"] = int(chance.integers(1, 4))
        params.append(point | {"rate": float(10 ** chance.uniform(-4, -2))})
    return params


def objective(params) -> float:
    return 0.1 + 0.05 * (np.log10(params["rate"]) + 4) + 0.01 * (params["routing"] == "em")


@pytest.fixture(scope="module")
def conditional() -> Sensitivity:
    return sensitivity(*searched(DIMENSIONS, params_of(48), objective))


@pytest.fixture(scope="module")
def few() -> Sensitivity:
    return sensitivity(*searched(DIMENSIONS, params_of(19), objective))


def row(table, setting):
    fields = [field for column in table.columns for field in column.fields]
    cells = next(cells for cells in table.rows if cells[0].values[0] == setting)
    return dict(zip(fields, [v for cell in cells for v in cell.values], strict=True))


def test_two_tables_are_named_after_the_declared_one(few):
    assert [table.name for table in sensitivity_tables(few, "what-matters")] == [
        "what-matters",
        "what-matters-marginals",
    ]


def test_rows_are_sorted_by_importance(conditional):
    table, *_ = sensitivity_tables(conditional)

    shares = [
        (cells[2].text == "matters", cells[3].values[0]) for cells in table.rows if cells[2].text
    ]
    assert shares == sorted(shares, reverse=True)
    assert table.rows[0][0].text == "rate"
    assert table.rows[0][2].is_bold


def test_a_conditional_setting_is_weighed_among_the_trials_that_have_it(conditional):
    table, *_ = sensitivity_tables(conditional)
    having = sum("routing[em].iterations" in point for point in params_of(48))

    assert row(table, "routing[em].iterations")["n"] == having >= 20
    assert row(table, "routing[em].iterations")["share_percent"] is not None
    assert any("only some trials have" in note for note in table.notes)


def test_a_conditional_setting_of_too_few_trials_is_named():
    analysis = sensitivity(*searched(DIMENSIONS, params_of(24), objective))
    table, *_ = sensitivity_tables(analysis)

    assert row(table, "routing[em].iterations")["share_percent"] is None
    assert any("for routing[em].iterations: fewer than 20" in note for note in table.notes)


def test_below_twenty_trials_there_are_means_alone_and_the_reason(few):
    table, marginals = sensitivity_tables(few)

    assert all(cells[place].text == "" for cells in table.rows for place in (2, 3, 4))
    assert "No importance is given: fewer than 20 counted trials. See the means by value." in (
        table.notes
    )
    assert sum(cells[2].values[0] for cells in marginals.rows if cells[0].text == "rate") == 19


@pytest.mark.parametrize(
    ("share", "adjusted_p", "texts"),
    [
        (0.416, 0.04, ["matters", "42"]),
        (-0.14, 0.04, ["matters", "under 1"]),
        (0.416, 0.05, ["not told from 0", ""]),
        (-0.14, 1.0, ["not told from 0", ""]),
    ],
)
def test_a_setting_matters_where_its_adjusted_p_is_small(
    few: Sensitivity, share: float, adjusted_p: float, texts: list[str]
) -> None:
    judged = Importance(share, 0.001, adjusted_p)
    setting = dataclasses.replace(few.settings[0], importance=judged)
    table, *_ = sensitivity_tables(dataclasses.replace(few, settings=(setting,)))
    verdict, cell = table.rows[0][2:4]
    assert [verdict.text, cell.text] == texts
    assert verdict.is_bold == (texts[0] == "matters")
    assert cell.values == pytest.approx((100 * share, 0.001, adjusted_p))


def test_nothing_is_bold_where_the_sampler_chose():
    params = params_of(48)
    analysis = sensitivity(*searched(DIMENSIONS[2:], params, objective, sampler="tpe"))
    at_random = sensitivity(*searched(DIMENSIONS[2:], params, objective))

    tables = sensitivity_tables(analysis)
    assert {cells[2].text for cells in tables[0].rows} == {""}
    assert all(cells[3].text for cells in tables[0].rows)
    assert not any(cell.is_bold for table in tables for cells in table.rows for cell in cells)
    notes = " ".join(tables[0].notes)
    assert "less than it does" in notes
    assert "no verdict" in notes
    assert sensitivity_tables(at_random)[0].rows[0][2].is_bold


def test_what_a_scheduler_stopped_is_compared_at_the_first_rung_with_what_it_kept():
    params = params_of(24)
    early = [0.5 + objective(point) for point in params]
    stopped = {n: (2, value) for n, value in enumerate(early) if value > 0.55}
    manifest = search_of(DIMENSIONS[2:], params, stopped=stopped)
    records = by_key(*(ended(n, objective(point)) for n, point in enumerate(params)))

    def histories(trials, metric):
        assert metric == "validation_error"
        return {trial.trial_key: {2: early[int(trial.arm.split()[1])], 5: 0.1} for trial in trials}

    analysis = sensitivity(manifest, records, histories)
    assert analysis.sample.epoch == 2
    assert analysis.sample.values == dict(enumerate(early))
    table, marginals, *_ = sensitivity_tables(analysis)
    assert table.notes[0].startswith(
        "Counted: 24 of 24 proposals, as they were after epoch 2, where the first was stopped."
    )
    assert "A setting that acts early seems to matter more there" in table.notes[1]
    assert sum(cells[2].values[0] for cells in marginals.rows) == 24


def with_pairs(num_trials: int, objective=objective) -> Sensitivity:
    params = [point | {"other": float(n * 7 % 24)} for n, point in enumerate(params_of(num_trials))]
    dimensions = [DIMENSIONS[0], DIMENSIONS[2], floats("other", 0.0, 24.0)]
    return sensitivity(*searched(dimensions, params, objective))


def test_a_pair_of_a_small_search_is_shown_where_it_is_bold_and_else_called_not_visible():
    def crossed(params) -> float:
        is_high = params["rate"] > 1e-3
        return 0.1 + 0.1 * (is_high == (params["routing"] == "em"))

    small, large = with_pairs(59), with_pairs(59, crossed)
    table, *others = sensitivity_tables(small)
    assert len(others) == 1
    sentence = (
        "airs of settings that act together are not visible from 59 proposals: it takes about 60."
    )
    assert f"P{sentence}" in table.notes
    table, _, pairs = sensitivity_tables(large)
    assert [(row[0].text, row[2].is_bold) for row in pairs.rows] == [("routing", True)]
    assert f"Other p{sentence}" in table.notes
    assert f"Other p{sentence}" in pairs.notes


def test_pairs_stand_in_a_table_of_their_own_the_most_important_first():
    _, _, pairs = sensitivity_tables(with_pairs(60), "why")

    assert pairs.name == "why-pairs"
    assert "not visible" not in " ".join(pairs.notes)
    shares = [(cells[2].is_bold, cells[3].values[0]) for cells in pairs.rows]
    assert len(shares) == 3
    assert shares == sorted(shares, reverse=True)


def test_the_notes_say_what_importance_does_not_see(conditional):
    notes = " ".join(sensitivity_tables(conditional)[0].notes)

    assert "act only together" in notes
    assert "Not told from 0 does not mean without effect" in notes
    assert "It has no interval" in notes


def test_what_has_no_value_does_not_count_and_the_notes_say_how_many():
    params = [{"rate": rate} for rate in (1e-4, 1e-3, 1e-2, 1e-3, 2e-3)]
    trials = ended(0, 0.5), ended(1, 0.25), broken(2, Outcome.FAILED), ended(3, 0.25)
    analysis = sensitivity(search_of(DIMENSIONS[2:], params), by_key(*trials))
    table, marginals = sensitivity_tables(analysis)

    assert table.notes[0].startswith("Counted: 2 of 5 proposals, those that ran to full length.")
    assert table.notes[1] == (
        "Not counted: 1 failed, 1 with the same settings as another, which count once, "
        "1 unfinished."
    )
    assert row(table, "rate")["best_trial_value"] == 1e-3
    assert [cells[2].values[0] for cells in marginals.rows] == [1, 0, 1, 0, 0]


def test_a_diverged_trial_counts_as_the_worst_value_and_the_notes_say_so():
    params = [{"rate": rate} for rate in (1e-4, 1e-3, 1e-2)]
    trials = ended(0, 0.5), ended(1, 0.25), broken(2, Outcome.DIVERGED)
    table, marginals = sensitivity_tables(
        sensitivity(search_of(DIMENSIONS[2:], params), by_key(*trials))
    )

    assert marginals.rows[-1][3].values[0] == 50
    assert "1 of them diverged and count as the worst value" in table.notes[1]


def test_the_mean_of_a_value_is_that_of_its_trials_in_percent():
    params = [{"routing": "em"}, {"routing": "em"}, {"routing": "dynamic"}]
    analysis = sensitivity(
        search_of(DIMENSIONS[:1], params),
        by_key(ended(0, 0.25), ended(1, 0.75), broken(2, Outcome.FAILED)),
    )
    _, marginals = sensitivity_tables(analysis)

    assert [(cells[1].text, cells[2].text) for cells in marginals.rows] == [
        ("dynamic", "0"),
        ("em", "1"),
    ]


def test_a_setting_that_never_changed_has_no_importance_and_is_named():
    params = [point | {"routing": "em"} for point in params_of(48)]
    params = [point for point in params if "routing[em].iterations" in point]
    analysis = sensitivity(*searched(DIMENSIONS, params, objective))

    notes = sensitivity_tables(analysis)[0].notes
    assert "No importance is given for routing: the same value in all counted trials." in notes


def test_equal_results_give_no_importance():
    analysis = sensitivity(*searched(DIMENSIONS[2:], params_of(24), lambda _: 0.5))

    assert any("all results equal" in note for note in sensitivity_tables(analysis)[0].notes)


def test_the_order_of_records_never_changes_a_table():
    manifest, records = searched(DIMENSIONS[2:], params_of(24), objective)
    backwards = dict(reversed(records.items()))

    expected = sensitivity_tables(sensitivity(manifest, records))
    assert sensitivity_tables(sensitivity(manifest, backwards)) == expected


def test_a_search_without_any_record_has_tables_all_the_same():
    analysis = sensitivity(search_of(DIMENSIONS, params_of(3)), {})

    for table in sensitivity_tables(analysis):
        assert to_markdown(table)
        assert to_latex(table)
        assert to_csv(table)


def test_ranks_that_rise_together_have_a_correlation_of_one():
    correlation = rank_correlation([1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 8.0, 27.0, 64.0, 125.0])

    assert correlation is not None
    assert correlation.mean == pytest.approx(1.0)


def test_the_correlation_of_ranks_is_that_of_scipy_and_none_where_all_are_equal():
    import scipy.stats

    chance = np.random.default_rng(1)
    first = chance.random(30).tolist()
    second = [value + chance.random() for value in first]
    correlation = rank_correlation(first, second)

    assert correlation is not None
    assert correlation.mean == pytest.approx(float(scipy.stats.spearmanr(first, second).statistic))
    assert rank_correlation(first, [1.0] * 30) is None


@pytest.mark.parametrize("num_swapped", [4, 10, 14])
def test_the_interval_of_a_correlation_of_ranks_is_that_of_bonett_and_wright(
    num_swapped: int,
) -> None:
    ranks = np.arange(20.0)
    others = np.concatenate([ranks[:num_swapped][::-1], ranks[num_swapped:]])
    correlation = rank_correlation(ranks.tolist(), others.tolist())

    assert correlation is not None
    spread = np.sqrt((1 + np.square(correlation.mean) / 2) / 17)
    half = np.arctanh([correlation.low, correlation.high]) - np.arctanh(correlation.mean)
    assert half == pytest.approx([-1.96 * spread, 1.96 * spread], rel=1e-4)
