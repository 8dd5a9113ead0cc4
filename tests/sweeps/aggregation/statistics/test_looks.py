"""The levels of looks hold together, and single tables are judged as those that are simulated."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from search_spaces.looks import Look, Looked, LookVerdict
from sweeps.aggregation.results import measured_arms
from sweeps.aggregation.results.ablation_comparisons import ablation_comparisons
from sweeps.aggregation.results.arms import arm_results
from sweeps.aggregation.results.planned_looks import looked_at
from sweeps.aggregation.statistics.families import holm, holm_rows
from sweeps.aggregation.statistics.looks import ONLY_LOOK, LookLevel, mean_trainings
from sweeps.aggregation.statistics.power import VarianceParts
from sweeps.records.manifest import Manifest
from tests.sweeps.aggregation.known_sweep import IMAGES, by_key, manifest_of
from tests.sweeps.aggregation.predicted import predictions_of, trials_of
from tools.acceptance.logit_networks import SEEDS
from tools.acceptance.looks import looked_at as looked_at_all

LOOKS = (3, 5, 8, 12, 20)
EXACT = 1e-10


def levels_of(looks: tuple[int, ...]) -> list[float]:
    """Return the level of one comparison at each look."""
    return [
        LookLevel(looks[:num], looks[-1], is_last=num == len(looks)).of_each(1)
        for num in range(1, len(looks) + 1)
    ]


@pytest.mark.parametrize("looks", [LOOKS, (3, 20), (4, 8, 12)])
def test_all_looks_together_keep_the_level(looks: tuple[int, ...]) -> None:
    numbers = np.asarray(looks)
    correlation = np.sqrt(np.minimum.outer(numbers, numbers) / np.maximum.outer(numbers, numbers))
    bounds = norm.isf([level / 2 for level in levels_of(looks)])
    for num in range(1, len(looks) + 1):
        within = multivariate_normal(cov=correlation[:num, :num]).cdf(
            bounds[:num], lower_limit=-bounds[:num]
        )
        assert 1 - within == pytest.approx(0.05 * (looks[num - 1] / looks[-1]) ** 2, abs=2e-5)


def test_the_first_look_has_what_is_spent_by_then_and_an_early_end_has_the_rest() -> None:
    first = LookLevel((3,), 20, is_last=False)
    assert first.of_each(1) == pytest.approx(0.05 * (3 / 20) ** 2)
    assert LookLevel((3,), 20, is_last=True).of_each(4) == 0.05 / 4
    early = LookLevel((3, 5), 20, is_last=True).of_each(1)
    assert LookLevel((3, 5), 20, is_last=False).of_each(1) < early < 0.05


def test_one_comparison_alone_has_four_fifths_of_the_level() -> None:
    assert LookLevel((3,), 20, is_last=True, is_alone=True).of_each(1) == pytest.approx(0.04)
    looks = [LookLevel(LOOKS[:num], 20, is_last=num == 5, is_alone=True) for num in range(1, 6)]
    shares = [look.of_each(1) / level for look, level in zip(looks, levels_of(LOOKS), strict=True)]
    assert shares == pytest.approx([0.8] * 5, abs=0.02)
    assert all(look.share(1) == pytest.approx(look.of_each(1) / 0.05) for look in looks)


def test_with_one_look_p_values_are_adjusted_as_ever() -> None:
    p_values = [0.01, 0.04, 0.03, 0.2]
    assert holm_rows(np.asarray(p_values), ONLY_LOOK.share).tolist() == holm(p_values)


def test_comparisons_that_are_settled_as_equivalent_keep_their_part() -> None:
    assert holm_rows(np.asarray([0.01, 0.04]), num_settled=1).tolist() == [0.03, 0.08]


@pytest.mark.parametrize(
    ("difference", "margin", "least", "most"),
    [(0.0, None, 119, 120), (0.5, None, 18, 18.1), (0.0, 0.05, 40, 90), (0.05, None, 60, 100)],
    ids=["none differs", "all differ much", "equivalent", "some differ"],
)
def test_trainings_to_expect_lie_between_the_first_look_and_the_last(
    difference: float, margin: float | None, least: float, most: float
) -> None:
    parts = VarianceParts(of_seeds=0.0016, of_images=0.02, of_pairs=0.05)
    ways = [parts.way(number, 2_000) for number in LOOKS]
    assert least <= mean_trainings(ways, 5, difference, margin) <= most


def test_data_sets_share_the_level_of_looks_but_not_that_of_one_row() -> None:
    alone = LookLevel((3, 5), 20, is_last=False)
    of_three = replace(alone, num_data_sets=3)
    assert of_three.share(2) == alone.of_each(6) / (0.05 / 2)
    assert of_three.confidence(1) == alone.confidence(1)
    only = LookLevel((3,), 3, is_last=True, num_data_sets=3)
    p_values = np.asarray([0.001, 0.004])
    assert holm_rows(p_values, only.share).tolist() == pytest.approx([0.006, 0.012])


def test_a_plan_for_one_data_set_is_stored_as_it_was() -> None:
    plan = with_looks(1).plan
    assert plan is not None
    assert "num_data_sets" not in plan.model_dump()
    assert with_looks(1, 2).plan != plan


def with_looks(num_arms: int, num_data_sets: int = 1) -> Manifest:
    names = ["base", *(f"arm {arm}" for arm in range(num_arms))]
    plan = {
        "kind": "listed",
        "definition": "looks",
        "seeds_at_looks": LOOKS,
        "num_data_sets": num_data_sets,
    }
    return manifest_of(names, range(LOOKS[-1]), plan=plan, margin_points=20.0)


@pytest.mark.parametrize("draw", range(8))
def test_single_tables_are_judged_as_those_that_are_simulated(draw: int) -> None:
    differs = (0.0, 0.25, 0.0, 0.1, 0.3)
    if draw >= 6:  # one compared arm
        differs = differs[draw - 6 : draw - 5]
    errors = [SEEDS.error, *(SEEDS.error + by for by in differs)]
    wrong = next(SEEDS.parts(f"looks {draw}", errors, (1, LOOKS[-1], IMAGES)))
    num_data_sets = 1 + 20 * (draw % 2)  # so many that verdicts come later
    simulated = looked_at_all(wrong, LOOKS, margin=0.2, num_data_sets=num_data_sets)
    manifest = with_looks(len(differs), num_data_sets)
    names = [arm.name for arm in manifest.arms]
    places = {
        name: [np.flatnonzero(of_seed) for of_seed in wrong[0, arm]]
        for arm, name in enumerate(names)
    }
    records, predictions = by_key(*trials_of(places)), predictions_of(places)
    plan, arms = manifest.plan, arm_results(manifest, records)
    assert plan is not None
    waiting, looked = list(names[1:]), list[Looked]()
    for number in LOOKS:
        if waiting:
            look = Look(number, tuple(waiting))
            so_far = manifest.model_copy(
                update={"plan": plan.model_copy(update={"looked": tuple(looked)})}
            )
            looked.append(looked_at(so_far, look, measured_arms.tested_arms(arms, predictions)))
            over = looked[-1].is_last
            verdicts = looked[-1].verdicts
            waiting = [arm for arm in waiting if verdicts[arm] == "undecided" and not over]
    ended = manifest.model_copy(update={"plan": plan.model_copy(update={"looked": tuple(looked)})})
    compared = ablation_comparisons(ended, arms, predictions)
    assert all(comparison.is_as_logged for comparison in compared)
    for place, comparison in enumerate(compared):
        seeds = int(simulated.seeds[0, place])
        assert comparison.difference.n == seeds
        assert comparison.difference.mean == pytest.approx(simulated.mean[0, place], abs=EXACT)
        assert comparison.way is not None
        for error, (size, degrees) in enumerate(comparison.way.errors):
            assert size == pytest.approx(simulated.standard_errors[0, error, place], abs=EXACT)
            assert degrees == pytest.approx(simulated.degrees[0, error, place], rel=EXACT)
        half = comparison.difference.half_width
        assert half == pytest.approx(simulated.half_width[0, place], abs=EXACT)
        assert (comparison.verdict == "different") == simulated.is_different[0, place]
        assert (comparison.verdict == "equivalent") == simulated.is_equivalent[0, place]


@pytest.mark.parametrize(
    ("verdicts", "num_differing", "num_within"),
    [
        ({"arm 0": "undecided", "arm 1": "undecided"}, 3, 3),
        ({"arm 0": "different", "arm 1": "undecided"}, 2, 3),
        ({"arm 0": "equivalent", "arm 1": "undecided"}, 3, 2),
        ({"arm 0": "identical", "arm 1": "different"}, 2, 3),
    ],
    ids=["open", "different", "equivalent", "identical"],
)
def test_an_arm_that_is_looked_at_alone_shares_the_level_with_all_others(
    verdicts: dict[str, LookVerdict], num_differing: int, num_within: int
) -> None:
    drawn = next(SEEDS.parts("alone", [SEEDS.error] * 4, (1, LOOKS[-1], IMAGES)))
    manifest = with_looks(3)
    places = {
        arm.name: [np.flatnonzero(seed) for seed in wrong]
        for arm, wrong in zip(manifest.arms, drawn[0], strict=True)
    }
    looked = (
        Looked(5, verdicts, is_last=False, num_compared=2),
        Looked(3, {"arm 2": "undecided"}, is_last=False, num_compared=3),
    )
    assert manifest.plan is not None
    plan = manifest.plan.model_copy(update={"looked": looked})
    after = manifest.model_copy(update={"plan": plan})
    arms = arm_results(after, by_key(*trials_of(places)))
    alone = ablation_comparisons(after, arms, predictions_of(places))[-1]
    assert alone.arm.arm.name == "arm 2"
    assert alone.num_together == num_differing
    assert alone.p_value is not None
    assert alone.equivalent_p is not None
    level = LookLevel((3,), 20, is_last=False)
    for p_value, adjusted, number in (
        (alone.p_value, alone.adjusted_p, num_differing),
        (alone.equivalent_p, alone.adjusted_equivalent_p, num_within),
    ):
        assert adjusted == pytest.approx(min(p_value * number / level.share(number), 1.0))
