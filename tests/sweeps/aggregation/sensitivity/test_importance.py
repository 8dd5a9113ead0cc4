"""What was planted is found, and chance is not taken for an effect."""

import subprocess
import sys

import numpy as np
import pytest

from sweeps.aggregation.sensitivity.importance import Column, importances
from sweeps.aggregation.sensitivity.sensitivity import sensitivity
from tests.sweeps.aggregation.known_search import planted_search


@pytest.fixture(
    scope="module",
    params=[(3, 100), pytest.param((2024, 200), marks=pytest.mark.slow)],
    ids=["3", "2024"],
)
def planted(request):
    found = sensitivity(*planted_search(*request.param))
    return {one.dimension.name: one for one in found.settings}, found


def test_the_dominant_setting_stands_above_the_weak_one(planted):
    _, found = planted

    assert [one.dimension.name for one in found.settings][:2] == ["dominant", "weak"]


def test_the_bands_of_settings_with_an_effect_are_above_zero(planted):
    settings, _ = planted

    assert settings["dominant"].fanova.low > 0
    assert settings["weak"].fanova.low > 0


def test_the_band_of_a_setting_without_effect_touches_zero(planted):
    settings, _ = planted

    assert settings["none"].fanova.low <= 0 <= settings["none"].fanova.high


def test_settings_that_act_only_together_are_not_seen(planted):
    settings, _ = planted

    assert settings["first"].fanova.low <= 0
    assert settings["second"].fanova.low <= 0


def test_the_dominant_share_is_about_what_was_planted(planted):
    settings, _ = planted

    assert settings["dominant"].fanova.mean == pytest.approx(67, abs=12)


def test_ped_anova_sees_the_dominant_setting(planted):
    settings, _ = planted

    assert settings["dominant"].ped_anova.low > 0


def levels_of(places: list[int], num_levels: int, is_choice: bool) -> Column:
    units = tuple((place + 0.5) / num_levels for place in places)
    return Column(units, num_levels=num_levels, is_choice=is_choice)


def test_a_setting_of_few_values_is_told_from_one_without_effect():
    chance = np.random.default_rng(5)
    acting, idle = chance.integers(0, 4, (2, 40)).tolist()
    objective = [float(place != 2) + 0.1 * chance.random() for place in acting]
    columns = [levels_of(acting, 4, is_choice=True), levels_of(idle, 4, is_choice=False)]

    found = importances(columns, objective)
    assert found.fanova[0].low > 10
    assert found.fanova[1].low <= 0 <= found.fanova[1].high
    assert found.ped_anova[0].low > 0


def test_settings_get_no_share_of_mere_noise():
    chance = np.random.default_rng(11)
    columns = [Column(tuple(units)) for units in chance.random((3, 40)).tolist()]

    found = importances(columns, chance.standard_normal(40).tolist())
    assert sum(band.mean for band in found.fanova) == pytest.approx(0, abs=20)
    assert all(band.low <= 0 for band in found.fanova)


def test_a_half_of_equal_results_adds_nothing():
    objective = [0.0] * 19 + [1.0]
    found = importances([Column(tuple(place / 20 for place in range(20)))], objective)

    assert found.fanova[0].n == 20


def test_importance_loads_neither_torch_nor_ray():
    program = (
        "import sys\n"
        "from sweeps.aggregation.sensitivity.importance import Column, importances\n"
        "assert 'optuna' not in sys.modules\n"
        "importances([Column((0.1, 0.9, 0.3, 0.7))], [1.0, 2.0, 3.0, 4.0])\n"
        "print({'torch', 'ray', 'mlflow'} & set(sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "set()", done.stderr
    assert done.stderr == ""
