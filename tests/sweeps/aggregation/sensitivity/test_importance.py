"""What was planted is found, and chance is not taken for an effect."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from sweeps.aggregation.sensitivity.importance import NUM_SHUFFLES, SettingColumn, importances
from sweeps.aggregation.sensitivity.pair_importance import pair_importances
from sweeps.aggregation.sensitivity.sensitivity import sensitivity
from tests.sweeps.aggregation.known_search import planted_search


@pytest.fixture(
    scope="module",
    params=[(4, 100), pytest.param((2024, 200), marks=pytest.mark.slow)],
    ids=["4", "2024"],
)
def planted(request):
    analysis = sensitivity(*planted_search(*request.param))
    return {setting.dimension.name: setting for setting in analysis.settings}, analysis


def test_the_dominant_setting_stands_above_the_weak_one(planted):
    _, analysis = planted

    assert [setting.dimension.name for setting in analysis.settings][:2] == ["dominant", "weak"]


def test_settings_with_an_effect_matter_and_one_without_is_not_told_from_0(planted):
    settings, _ = planted

    assert settings["dominant"].importance.matters
    assert settings["weak"].importance.matters
    assert not settings["none"].importance.matters


def test_settings_that_act_only_together_are_seen_as_a_pair_alone(planted):
    settings, analysis = planted

    assert not settings["first"].importance.matters
    assert not settings["second"].importance.matters
    clear = [pair for pair in analysis.pairs if pair.importance.matters]
    assert [{pair.first.name, pair.second.name} for pair in clear] == [{"first", "second"}]


def test_the_dominant_share_is_about_what_was_planted(planted):
    settings, _ = planted

    assert settings["dominant"].importance.share == pytest.approx(0.67, abs=0.12)


def levels_of(places: list[int], num_levels: int, is_choice: bool) -> SettingColumn:
    units = tuple((place + 0.5) / num_levels for place in places)
    return SettingColumn(units, num_levels=num_levels, is_choice=is_choice)


def test_a_setting_of_few_values_is_told_from_one_without_effect():
    chance = np.random.default_rng(5)
    acting, idle = chance.integers(0, 4, (2, 40)).tolist()
    objective = [float(place != 2) + 0.1 * chance.random() for place in acting]

    columns = [levels_of(acting, 4, is_choice=True), levels_of(idle, 4, is_choice=False)]
    acting_one, idle_one = importances(columns, objective)
    assert acting_one.share > 0.9
    assert acting_one.p_value == 1 / (NUM_SHUFFLES + 1)
    assert idle_one.p_value > 0.05


def test_the_share_of_kinds_is_the_adjusted_one_of_an_analysis_of_variance():
    chance = np.random.default_rng(3)
    kinds = chance.integers(0, 3, 60)
    objective = (0.5 * kinds + chance.normal(size=60)).tolist()
    groups = [[v for v, k in zip(objective, kinds, strict=True) if k == kind] for kind in range(3)]

    f_ratio = stats.f_oneway(*groups).statistic
    explained = 2 * f_ratio / (2 * f_ratio + 57)
    adjusted = 1 - (1 - explained) * 59 / 57
    column = levels_of(kinds.tolist(), 3, is_choice=True)
    assert importances([column], objective)[0].share == pytest.approx(adjusted)


@pytest.mark.parametrize("is_choice", [True, False])
def test_the_p_value_is_about_that_of_the_textbook(is_choice):
    chance = np.random.default_rng(4)
    places = chance.integers(0, 2, 40)
    objective = (0.6 * places + chance.normal(size=40)).tolist()

    ranks = stats.rankdata(objective)
    expected = stats.ttest_ind(ranks[places == 0], ranks[places == 1]).pvalue
    found = importances([levels_of(places.tolist(), 2, is_choice)], objective)[0].p_value
    assert found == pytest.approx(expected, abs=0.02)


def test_a_bowl_is_found_that_no_straight_line_follows():
    units = (np.arange(60) + 0.5) / 60
    objective = ((units - 0.5) ** 2 + 0.02 * np.random.default_rng(1).normal(size=60)).tolist()

    assert abs(stats.spearmanr(units, objective).statistic) < 0.2
    (judged,) = importances([SettingColumn(tuple(units.tolist()))], objective)
    assert judged.p_value < 0.001
    assert judged.share > 0.8


def test_a_weak_setting_is_sized_on_what_a_strong_one_leaves():
    chance = np.random.default_rng(8)
    strong, weak = chance.random((2, 40))
    objective = 3 * strong + weak
    columns = [SettingColumn(tuple(units.tolist())) for units in (strong, weak)]

    first, second = importances(columns, objective.tolist())
    assert first.matters
    assert second.matters
    assert first.share == pytest.approx(0.9, abs=0.05)
    assert second.share == pytest.approx(0.1, abs=0.03)


def test_settings_get_no_share_of_mere_noise():
    chance = np.random.default_rng(11)
    columns = [SettingColumn(tuple(units)) for units in chance.random((20, 40)).tolist()]
    noise = chance.standard_normal(40).tolist()

    judged = importances(columns, noise)
    assert np.mean([one.share for one in judged]) == pytest.approx(0, abs=0.03)
    assert not any(one.matters for one in judged)
    assert not any(pair.importance.matters for pair in pair_importances(columns[:3], noise))


def test_pairs_are_held_against_shadows_though_all_results_but_one_are_equal():
    objective = [0.0] * 19 + [1.0]
    columns = [SettingColumn(tuple(place / 20 for place in range(20)))] * 2

    assert len(pair_importances(columns, objective)) == 1


def test_one_setting_has_no_pair():
    assert pair_importances([SettingColumn((0.1, 0.9, 0.3))], [1.0, 2.0, 3.0]) == ()


def test_importance_loads_neither_torch_nor_ray():
    program = (
        "import sys\n"
        "from sweeps.aggregation.sensitivity.importance import SettingColumn, importances\n"
        "assert not {'optuna', 'sklearn'} & set(sys.modules)\n"
        "importances([SettingColumn((0.1, 0.9, 0.3, 0.7, 0.5))], [1.0, 2.0, 3.0, 4.0, 9.0])\n"
        "print({'torch', 'ray', 'mlflow'} & set(sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "set()", done.stderr
    assert done.stderr == ""
