"""What was planted is found, and chance is not taken for an effect."""

import subprocess
import sys

import numpy as np
import pytest

from sweeps.aggregation.sensitivity.importance import fanova, ped_anova
from sweeps.aggregation.sensitivity.pair_importance import pair_importances
from sweeps.aggregation.sensitivity.sensitivity import sensitivity
from sweeps.aggregation.sensitivity.shadows import ShadowedColumn
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


def test_the_bands_of_settings_with_an_effect_are_above_zero(planted):
    settings, _ = planted

    assert settings["dominant"].fanova.share.low > 0
    assert settings["weak"].fanova.share.low > 0


def test_the_band_of_a_setting_without_effect_touches_zero(planted):
    settings, _ = planted

    assert settings["none"].fanova.share.low <= 0 <= settings["none"].fanova.share.high


def test_settings_that_act_only_together_are_seen_as_a_pair_alone(planted):
    settings, analysis = planted

    assert not settings["first"].fanova.is_clear
    assert not settings["second"].fanova.is_clear
    clear = [pair for pair in analysis.pairs if pair.excess.is_clear]
    assert [{pair.first.name, pair.second.name} for pair in clear] == [{"first", "second"}]


def test_the_dominant_share_is_about_what_was_planted(planted):
    settings, _ = planted

    assert settings["dominant"].fanova.share.mean == pytest.approx(67, abs=12)


def test_ped_anova_sees_the_dominant_setting(planted):
    settings, _ = planted

    assert settings["dominant"].ped_anova.share.low > 0


def levels_of(places: list[int], num_levels: int, is_choice: bool) -> ShadowedColumn:
    units = tuple((place + 0.5) / num_levels for place in places)
    return ShadowedColumn(units, num_levels=num_levels, is_choice=is_choice)


def test_a_setting_of_few_values_is_told_from_one_without_effect():
    chance = np.random.default_rng(5)
    acting, idle = chance.integers(0, 4, (2, 40)).tolist()
    objective = [float(place != 2) + 0.1 * chance.random() for place in acting]
    columns = [levels_of(acting, 4, is_choice=True), levels_of(idle, 4, is_choice=False)]

    acting_one, idle_one = fanova(columns, objective)
    assert acting_one.share.low > 10
    assert acting_one.is_clear
    assert not idle_one.is_clear
    assert ped_anova(columns, objective)[0].share.low > 0


def test_settings_get_no_share_of_mere_noise():
    chance = np.random.default_rng(11)
    columns = [ShadowedColumn(tuple(units)) for units in chance.random((3, 40)).tolist()]
    noise = chance.standard_normal(40).tolist()

    importances = fanova(columns, noise)
    assert sum(importance.share.mean for importance in importances) == pytest.approx(0, abs=20)
    assert not any(importance.is_clear for importance in importances)
    assert not any(pair.excess.is_clear for pair in pair_importances(columns, noise))


def test_a_half_of_equal_results_adds_nothing():
    objective = [0.0] * 19 + [1.0]
    columns = [ShadowedColumn(tuple(place / 20 for place in range(20)))] * 2

    assert [importance.share.n for importance in fanova(columns, objective)] == [20, 20]
    assert len(pair_importances(columns, objective)) == 1


def test_one_setting_has_no_pair():
    assert pair_importances([ShadowedColumn((0.1, 0.9, 0.3))], [1.0, 2.0, 3.0]) == ()


def test_importance_loads_neither_torch_nor_ray():
    program = (
        "import sys\n"
        "from sweeps.aggregation.sensitivity.shadows import ShadowedColumn\n"
        "from sweeps.aggregation.sensitivity.importance import fanova, ped_anova\n"
        "assert not {'optuna', 'sklearn'} & set(sys.modules)\n"
        "given = [ShadowedColumn((0.1, 0.9, 0.3, 0.7))], [1.0, 2.0, 3.0, 4.0]\n"
        "fanova(*given), ped_anova(*given)\n"
        "print({'torch', 'ray', 'mlflow'} & set(sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "set()", done.stderr
    assert done.stderr == ""
