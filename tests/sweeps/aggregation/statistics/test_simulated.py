"""Networks that are drawn err as often as their law says, and are judged by the product's rule."""

import numpy as np
import pytest

from sweeps.aggregation.results import measured_arms
from sweeps.aggregation.results.arms import arm_results
from sweeps.aggregation.results.comparisons import comparisons, comparisons_together
from sweeps.aggregation.statistics.added_seeds import log_e_value
from sweeps.aggregation.statistics.best import indistinguishable_from
from sweeps.aggregation.statistics.families import holm, holm_rows
from sweeps.records.trial_record import Outcome
from tests.sweeps.aggregation.known_sweep import IMAGES, by_key, manifest_of, trial_key, unfinished
from tests.sweeps.aggregation.predicted import predictions_of, trials_of
from tools.acceptance.best_arms import not_told_from_rows
from tools.acceptance.criteria import diverged_tables
from tools.acceptance.judged_tables import judged_tables, log_e_rows
from tools.acceptance.networks import FEW_ERRORS, GENERATORS, SEEDS_MATTER, Generator, images_of

EXACT = 1e-10
MARGIN = 0.02


@pytest.mark.parametrize("generator", GENERATORS, ids=lambda generator: generator.name)
@pytest.mark.parametrize("error", [0.02, 0.15])
def test_over_many_seeds_and_images_the_error_is_that_of_the_law(
    generator: Generator, error: float
):
    place = generator.place_of(error)
    assert generator.population_error(place) == pytest.approx(error, abs=EXACT)
    images = 4 * images_of(generator)
    by_table = [
        part.mean(axis=(2, 3)).ravel()
        for part in generator.parts("law", [error], (1500, 2, images))
    ]
    errors = np.concatenate(by_table)
    assert errors.mean() == pytest.approx(error, abs=4 * errors.std() / np.sqrt(len(errors)))


def test_parts_are_the_same_each_time_and_differ_between_cases():
    first, second, other = (
        np.concatenate([*FEW_ERRORS.parts(case, [0.02] * 3, (40, 3, 360))])
        for case in ("one", "one", "other")
    )
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)
    assert first.shape == (40, 3, 3, 360)


@pytest.mark.parametrize("planned", [(), (0, 1, 2)])
def test_many_tables_are_judged_as_the_product_judges_each(planned: tuple[int, ...]):
    """Arms better, worse and alike, some of them bold and some equivalent."""
    errors, seeds = [0.1, 0.02, 0.1, 0.1, 0.25], 6
    wrong = SEEDS_MATTER.wrong(np.random.default_rng(4), errors, (6, seeds, IMAGES))
    tables = judged_tables(wrong)
    bold = tables.is_bold
    if planned:
        by_seed = (wrong[:, 1:].mean(axis=-1) - wrong[:, :1].mean(axis=-1)).astype(float)
        bold = tables.is_bold_at(0.025) & (log_e_rows(by_seed) >= np.log(4 / 0.05))
    equivalent = tables.is_within(5 * MARGIN) & ~bold
    assert 0 < bold.sum() < bold.size
    assert equivalent.any()

    names = [f"arm {place}" for place in range(len(errors))]
    for draw, table in enumerate(wrong):
        places = {
            name: [np.flatnonzero(row).tolist() for row in arm]
            for name, arm in zip(names, table, strict=True)
        }
        arms = arm_results(manifest_of(names, range(seeds)), by_key(*trials_of(places)))
        (compared,) = comparisons_together(
            [measured_arms.tested_arms(arms, predictions_of(places))],
            margin=5 * MARGIN,
            planned_seeds=[planned],
            finds_reach=draw == 0 and not planned,  # it takes a second
        )
        assert [comparison.is_different for comparison in compared] == bold[draw].tolist()
        assert [comparison.verdict == "equivalent" for comparison in compared] == equivalent[
            draw
        ].tolist()
        p = [comparison.p_value for comparison in compared]
        assert p == pytest.approx(tables.p_value[draw].tolist(), abs=EXACT)
        if draw == 0 and not planned:  # nor evidence of added seeds
            reaches = zip(compared, tables.reaches(draw), strict=True)
            for comparison, reach in reaches:
                assert comparison.reach
                assert reach
                assert comparison.reach.more == pytest.approx(reach.more)
                assert comparison.reach.half_less == pytest.approx(reach.half_less)


@pytest.mark.parametrize("base", [0.2, 0.9])
def test_diverged_trials_are_judged_as_the_product_judges_them(base: float):
    wrong = SEEDS_MATTER.wrong(np.random.default_rng(4), [base, 0.05], (6, 5, IMAGES))
    tables = diverged_tables(wrong, finished=3)
    for draw, table in enumerate(wrong):
        rows = [[np.flatnonzero(row).tolist() for row in arm] for arm in table]
        places = {"base": rows[0], "arm": rows[1][:3]}
        lost = [unfinished("arm", seed, Outcome.DIVERGED, "nan") for seed in (3, 4)]
        manifest = manifest_of([*places], range(5))
        arms = arm_results(manifest, by_key(*trials_of(places), *lost))
        (comparison,) = comparisons(arms, predictions_of(places))
        assert trial_key("arm", 3) == manifest.cell_keys()["arm", 3]
        assert comparison.p_value == pytest.approx(float(tables.p_value[draw, 0]), abs=EXACT)


def test_rows_of_p_values_are_adjusted_as_one_row_is():
    rows = np.random.default_rng(0).random((50, 6)) ** 3

    for row, adjusted in zip(rows, holm_rows(rows), strict=True):
        assert adjusted.tolist() == pytest.approx(holm(row.tolist()), abs=EXACT)


def test_rows_of_seeds_have_the_evidence_that_one_row_has():
    rows = np.random.default_rng(0).normal(size=(20, 3, 7))
    rows[0, 0] = 1.0

    for evidence, row in zip(log_e_rows(rows).ravel(), rows.reshape(-1, 7), strict=True):
        assert evidence == pytest.approx(log_e_value(row.tolist()), abs=EXACT)


def test_sets_of_best_arms_of_many_tables_are_those_of_each():
    errors = [0.05, 0.02, 0.02, 0.1]
    wrong = SEEDS_MATTER.wrong(np.random.default_rng(1), errors, (20, 5, 360))
    best = wrong.sum(axis=(2, 3)).argmin(axis=1)
    is_in_set = not_told_from_rows(best, wrong)
    assert 0 < is_in_set.sum() < is_in_set.size

    for arm, table, expected in zip(best, wrong, is_in_set, strict=True):
        assert indistinguishable_from(int(arm), [*table.astype(float)]) == expected.tolist()
