"""What a pilot says of the spread, and how sure that is."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from sweeps.aggregation.results.arms import arm_results
from sweeps.aggregation.results.comparisons import comparisons
from sweeps.aggregation.seed_planning import Pilot, pilot_of
from sweeps.aggregation.statistics.arm_spread import ArmSpread, reaches, set_apart, with_tails
from sweeps.aggregation.statistics.power import Requirement
from sweeps.aggregation.statistics.two_way import two_way
from tests.sweeps.aggregation.known_sweep import by_key, manifest_of
from tests.sweeps.aggregation.predicted import Wrong, predictions_of, trials_of
from tools.acceptance.networks import SEEDS_MATTER
from tools.acceptance.planned_seeds import numbers_planned

SEEDS, IMAGES = 3, 40
OF_SEEDS, OF_IMAGES, OF_PAIRS = 0.04, 1.0, 0.5


def drawn(
    chance: np.random.Generator, scales: Sequence[float] = (1, 1, 1, 1), seeds: int = SEEDS
) -> Pilot:
    """Return a pilot of arms whose seeds' parts have scales, with a baseline of scale 1."""
    of_seeds = math.sqrt(OF_SEEDS / 2) * chance.normal(size=(len(scales) + 1, seeds, 1))
    of_seeds[1:] *= np.array(scales)[:, None, None]
    images = math.sqrt(OF_IMAGES) * chance.normal(size=(len(scales), 1, IMAGES))
    pairs = math.sqrt(OF_PAIRS) * chance.normal(size=(len(scales), seeds, IMAGES))
    of_baseline = 0.5 + of_seeds[0, :, 0]
    arms = [
        ArmSpread(
            arm=str(place),
            errors=dict(enumerate((of_baseline + row.mean(axis=1)).tolist())),
            baseline=dict(enumerate(of_baseline.tolist())),
            way=two_way(row),
        )
        for place, row in enumerate(of_seeds[1:] - of_seeds[:1] + images + pairs)
    ]
    return Pilot(with_tails(arms), len(arms), IMAGES)


def test_the_limit_of_many_pilots_is_large_enough_as_often_as_it_says():
    chance = np.random.default_rng(0)
    pilots = [drawn(chance, (1,)) for _ in range(600)]

    for sure in (0.5, 0.8):
        parts = [pilot.parts(sure, 0.01)["0"][0] for pilot in pilots]
        enough = [part.of_seeds + part.of_pairs / IMAGES for part in parts]
        rate = np.mean(np.array(enough) > OF_SEEDS + OF_PAIRS / IMAGES)
        assert rate == pytest.approx(sure, abs=0.06)
        assert np.mean([part.of_images > OF_IMAGES for part in parts]) == pytest.approx(
            sure, abs=0.1
        )


def test_arms_together_say_more_than_one_and_less_than_if_they_had_no_common_baseline():
    chance = np.random.default_rng(1)
    alone = [drawn(chance, (1,)).degrees for _ in range(20)]
    together = np.array([drawn(chance, (1,) * 6, seeds=40).degrees for _ in range(20)])

    assert alone == pytest.approx([SEEDS - 1] * 20)
    assert (together > 39).all()
    assert (together < 6 * 39).all()


def test_an_arm_whose_seeds_vary_far_more_counts_by_itself():
    chance = np.random.default_rng(2)
    pilot = drawn(chance, (1, 1, 12, 1), seeds=8)
    parts = {name: parts for name, (parts, _) in pilot.parts(0.5, 0.01).items()}

    assert [arm.arm for arm in pilot.arms if arm.is_apart] == ["2"]
    assert parts["2"].of_seeds > 10 * parts["0"].of_seeds
    assert parts["0"].of_seeds == parts["1"].of_seeds


@pytest.mark.parametrize(("effect", "needed"), [(0.0795, 8), (-0.0519, 8)])
def test_pilots_of_six_arms_plan_about_as_many_seeds_as_are_needed(effect: float, needed: int):
    planned, tails = numbers_planned(SEEDS_MATTER, [0.1] * 6, effect, (9, SEEDS, 360))

    assert needed / 1.5 <= np.median(planned) <= 1.5 * needed, "1.3, and nine pilots scatter"
    assert not any(tails)


def has_tail(chance: np.random.Generator, scales: Sequence[float]) -> list[bool]:
    """Return which compared arms show a tail, of those whose seeds vary with these scales."""
    drawn_errors = 0.1 + 0.01 * np.array(scales)[:, None] * chance.normal(size=(len(scales), SEEDS))
    baseline, *arms = (dict(enumerate(row.tolist())) for row in drawn_errors)
    way = two_way(chance.normal(size=(SEEDS, IMAGES)))
    spread = [ArmSpread(str(place), arm, baseline, way) for place, arm in enumerate(arms)]
    return [arm.is_apart for arm in with_tails(spread)]


def test_arms_that_vary_alike_seldom_show_a_tail_and_a_wild_one_mostly_does():
    chance = np.random.default_rng(3)
    alike = [has_tail(chance, (1,) * 7) for _ in range(300)]
    wild = np.array([has_tail(chance, (1, 1, 9, 1, 1, 1, 1)) for _ in range(60)])

    assert np.mean([any(arms) for arms in alike]) < 0.02
    assert wild[:, 1].mean() > 0.7
    assert np.delete(wild, 1, axis=1).sum() <= 1


def test_reaches_are_in_the_order_of_the_arms_also_where_one_is_set_apart():
    arms = set_apart(drawn(np.random.default_rng(2), (12, 1, 1, 1), seeds=8).arms)
    assert [arm.is_apart for arm in arms] == [True, False, False, False]

    by_arm = reaches(arms, Requirement(0.05, num_sharing=4))
    assert [*by_arm] == [arm.arm for arm in arms]


def pilot(wrong: Wrong) -> Pilot | str:
    """Return the pilot of arms whose networks are wrong on some images, the first the baseline."""
    arms = arm_results(manifest_of(wrong), by_key(*trials_of(wrong)))
    compared = comparisons(arms, predictions_of(wrong))
    return pilot_of(compared, arms[0].test_errors)


def test_it_has_the_seeds_and_images_of_the_arms_and_names_those_without_a_spread():
    result = pilot(
        {
            "base": [range(5), range(6), range(7)],
            "other": [[1, 2], [9, 8, 7], [4]],
            "young": [[1], [2]],
        }
    )

    assert isinstance(result, Pilot)
    assert result.seeds == (0, 1, 2)
    assert [arm.arm for arm in result.arms] == ["other"]
    assert result.without == {"young": "there are fewer than three seeds"}
    assert result.num_compared == 2


def test_without_three_seeds_or_any_spread_it_says_so():
    assert pilot({"base": [[1], [2]], "other": [[3], [4, 5]]}) == "there are fewer than three seeds"
    seldom = pilot({"base": [[1], [2], [1, 3]], "other": [[1, 2], [9, 8, 7], [4]]})
    assert seldom == "the baseline errs too seldom"
    alike = pilot({"base": [[], [], []], "other": [[1], [2], [3]]})
    assert alike == "the differences of all seeds are equal"
