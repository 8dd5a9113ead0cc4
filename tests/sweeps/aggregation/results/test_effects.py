"""Effects of designs: planted ones are found, aliased ones named, lost ones said."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from capsmodel import TrainingConfig
from capsmodel.models import CapsNet
from capsmodel.reconstruction import FullyConnectedDecoder
from capsmodel.routing import DynamicRouting
from search_spaces import FullFactorial
from sweeps.aggregation.results import factors as factors_module
from sweeps.aggregation.results.arms import arm_results
from sweeps.aggregation.results.factor_effects import Effect, Effects, effects_of
from sweeps.aggregation.results.factors import factors_of, level_places
from sweeps.aggregation.results.level_means import cell_means, level_means
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.results.variance_shares import variance_shares
from sweeps.aggregation.statistics.contrasts import ABSENT
from sweeps.aggregation.statistics.two_way import two_way
from sweeps.execution.plan.definition import Changes as LaunchChanges
from sweeps.execution.plan.definition import define
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Outcome
from tests.search_spaces.declared import sweep
from tests.sweeps.aggregation.crossed_sweep import (
    DECODER,
    ROUTING,
    TWO_LEVELS,
    WIDTH,
    Changes,
    crossed_manifest,
    crossed_results,
    rows_of,
)
from tests.sweeps.aggregation.known_sweep import manifest_of, unfinished

UNIFORM = {ROUTING: "uniform"}


def planted(changes: Changes) -> float:
    """A main effect of routing of 12 points, and 4 (half of 8) with the width."""
    is_uniform, is_narrow = changes[ROUTING] == "uniform", changes[WIDTH] == 8
    return 0.2 + 0.08 * is_uniform + 0.08 * is_uniform * is_narrow - 0.04 * is_narrow


def nothing(changes: Changes) -> float:
    return 0.2


def effects(results: Results) -> Effects:
    arms = arm_results(results.manifest, results.records)
    return effects_of(results.manifest, arms, results.predictions)


def by_name(estimated: Effects) -> dict[str, Effect]:
    return {
        " x ".join(estimated.factors[place].name for place in effect.term): effect
        for effect in estimated.effects
    }


def size(effect: Effect) -> float:
    assert effect.test
    assert effect.test.effect
    assert effect.test.effect.mean is not None
    return effect.test.effect.mean


def test_planted_effects_are_found_and_the_others_are_undecided():
    named = by_name(effects(crossed_results(crossed_manifest(), planted)))

    assert {name for name, effect in named.items() if effect.is_significant} == {
        "routing",
        "routing x class_dim",
    }
    assert {effect.verdict for effect in named.values()} == {"effect", "undecided"}
    assert size(named["routing"]) == pytest.approx(0.12, abs=0.01)
    assert size(named["class_dim"]) == pytest.approx(0, abs=0.02)
    assert size(named["routing x class_dim"]) == pytest.approx(0.04, abs=0.01)


def test_where_nothing_is_planted_nothing_is_found():
    estimated = effects(crossed_results(crossed_manifest(), nothing))
    assert {effect.verdict for effect in estimated.effects} == {"undecided"}


def test_an_effect_is_the_two_way_mean_of_its_arms():
    results = crossed_results(crossed_manifest(), planted)
    signs = {
        arm.name: 1 if arm.changes[ROUTING] == "uniform" else -1 for arm in results.manifest.arms
    }
    rows = np.array(
        [
            [results.predictions[key].test.is_wrong * signs[arm] / 4 for key in keys]
            for arm, keys in keys_of(results).items()
        ]
    ).sum(axis=0)
    way = two_way(rows)

    term = by_name(effects(results))["routing"].test
    assert term is not None
    assert term.effect is not None
    assert term.effect.mean == pytest.approx(float(way.mean))
    assert term.effect.half_width == pytest.approx(float(way.half_width()))
    assert term.p_value == pytest.approx(float(way.p_value))


def keys_of(results: Results) -> dict[str, list[str]]:
    keys = results.manifest.cell_keys()
    return {
        arm.name: [keys[arm.name, seed] for seed in results.manifest.seeds]
        for arm in results.manifest.arms
    }


def test_the_baselines_level_is_the_first_so_that_its_sign_is_known():
    rows = rows_of(TWO_LEVELS)
    backwards = dict(reversed(rows.items()))
    estimated = effects(crossed_results(crossed_manifest(arms=backwards), planted))

    assert estimated.factors[0].levels == ("uniform", "dynamic")
    assert size(by_name(estimated)["routing"]) == pytest.approx(-0.12, abs=0.01)
    assert size(by_name(estimated)["routing x class_dim"]) == pytest.approx(0.04, abs=0.01)


def test_of_more_than_two_levels_an_f_test_says_whether_any_differs():
    factors = {WIDTH: (4, 8, 16), ROUTING: ("dynamic", "uniform")}
    manifest = crossed_manifest(factors)
    named = by_name(
        effects(crossed_results(manifest, lambda changes: 0.2 + 0.05 * (changes[WIDTH] == 8)))
    )

    width = named["class_dim"]
    assert width.is_significant
    assert width.contrast.degrees == 2
    assert width.test is not None
    assert width.test.effect is None
    assert not named["routing"].is_significant
    assert not named["class_dim x routing"].is_significant


def test_means_by_level_compare_with_the_first():
    factors = {WIDTH: (4, 8, 16), ROUTING: ("dynamic", "uniform")}
    estimated = effects(
        crossed_results(
            crossed_manifest(factors), lambda changes: 0.2 + 0.05 * (changes[WIDTH] == 8)
        )
    )
    first, second, third, *_ = level_means(estimated)

    assert [level.num_trials for level in (first, second, third)] == [8, 8, 8]
    assert first.difference is None
    assert second.difference is not None
    assert second.mean is not None
    assert first.mean is not None
    assert second.difference.mean == pytest.approx(second.mean - first.mean)
    assert second.difference.excludes_zero
    assert third.difference is not None
    assert not third.difference.excludes_zero
    cells = cell_means(estimated, 0, 1)
    assert cells.mean(axis=1).tolist() == pytest.approx([first.mean, second.mean, third.mean])


def half_fraction() -> dict[str, dict[str, Any]]:
    """Return the four arms in which the decoder is there where routing and width agree."""
    return {
        name: row
        for name, row in rows_of(TWO_LEVELS).items()
        if (row[DECODER] == "fully_connected")
        == ((row[ROUTING] == "dynamic") == (row[WIDTH] == 16))
    }


ALIASES = {
    ROUTING: (f"{DECODER} x {WIDTH}",),
    WIDTH: (f"{ROUTING} x {DECODER}",),
    f"{WIDTH} x {ROUTING}": (DECODER,),
}


def test_of_effects_that_cannot_be_told_apart_one_stands_for_all(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(factors_module, "aliases_of", lambda design: ALIASES)
    manifest = crossed_manifest(arms=half_fraction(), design={"kind": "fractional"})
    estimated = effects(
        crossed_results(manifest, lambda changes: 0.2 + 0.1 * (changes[ROUTING] == "uniform"))
    )

    assert [(effect.term, effect.aliases) for effect in estimated.effects] == [
        ((0,), ((1, 2),)),
        ((1,), ((0, 2),)),
        ((2,), ((0, 1),)),
    ]
    assert [effect.is_significant for effect in estimated.effects] == [True, False, False]


def test_aliases_that_nobody_named_cannot_be_estimated():
    estimated = effects(crossed_results(crossed_manifest(arms=half_fraction()), planted_in_half))
    assert {effect.verdict for effect in estimated.effects} == {"cannot be estimated"}


def planted_in_half(changes: Changes) -> float:
    return 0.2 + 0.1 * (changes[ROUTING] == "uniform")


def test_a_setting_that_does_not_exist_everywhere_is_estimated_where_it_does():
    iterations = "model.routing.iterations"
    factors = {ROUTING: ("dynamic", "uniform"), iterations: (1, 3)}
    arms: Mapping[str, dict[str, Any]] = {
        "one": {ROUTING: "dynamic", iterations: 1},
        "three": {ROUTING: "dynamic", iterations: 3},
        "uniform": UNIFORM,
    }
    law = {"dynamic": {1: 0.2, 3: 0.1}}

    def error(changes: Changes) -> float:
        return law["dynamic"][changes[iterations]] if iterations in changes else 0.3

    estimated = effects(crossed_results(crossed_manifest(factors, arms), error))
    named = by_name(estimated)
    assert size(named["iterations"]) == pytest.approx(-0.1, abs=0.01)
    assert size(named["routing"]) == pytest.approx(0.15, abs=0.01)
    assert named["routing x iterations"].verdict == "cannot be estimated"
    shares = variance_shares(estimated)  # at each of its points the grid has an error
    assert [round(100 * (share.alone.mean or 0)) for share in shares.shares] == pytest.approx(
        [82, 9, 9], abs=3
    )


def diverged(arm: str, *seeds: int) -> list[Any]:
    return [unfinished(arm, seed, Outcome.DIVERGED, "nan") for seed in seeds]


def test_an_effect_is_found_only_if_it_holds_with_diverged_trials_as_guesses():
    arm = f"{ROUTING}=dynamic, {WIDTH}=16, {DECODER}=fully_connected"
    manifest = crossed_manifest(seeds=(0, 1, 2, 3, 4))
    finished = effects(crossed_results(manifest, planted))
    lost = effects(crossed_results(manifest, planted, lost=diverged(arm, 3, 4)))

    assert by_name(finished)["routing"].is_significant
    assert not lost.crossed.left_out
    assert lost.crossed.seeds == (0, 1, 2)
    assert not by_name(lost)["routing"].is_significant
    term = by_name(lost)["routing"].test
    assert term is not None
    assert term.effect is not None
    assert term.effect.excludes_zero  # of the trials that finished


def test_an_effect_that_divergence_only_makes_larger_may_be_found():
    arm = f"{ROUTING}=uniform, {WIDTH}=8, {DECODER}=none"
    manifest = crossed_manifest(seeds=(0, 1, 2, 3, 4))
    law = lambda changes: 0.2 + 0.3 * (changes[ROUTING] == "uniform")  # noqa: E731
    lost = effects(crossed_results(manifest, law, lost=diverged(arm, 4)))
    assert lost.crossed.seeds == (0, 1, 2, 3)
    assert by_name(lost)["routing"].test is not None
    assert by_name(lost)["routing"].test.p_value < 0.2  # type: ignore[union-attr,operator]


def test_an_arm_that_leaves_too_few_seeds_is_left_out_of_an_unbalanced_fit():
    arm = f"{ROUTING}=uniform, {WIDTH}=8, {DECODER}=none"
    trials = [unfinished(arm, seed, Outcome.FAILED, "broken") for seed in (1, 2)]
    estimated = effects(crossed_results(crossed_manifest(), planted, lost=trials))

    assert [absent.arm.name for absent in estimated.crossed.left_out] == [arm]
    assert estimated.crossed.seeds == (0, 1, 2, 3)
    assert not estimated.is_whole
    assert all(effect.contrast.degrees == 1 for effect in estimated.effects)
    assert size(by_name(estimated)["routing x class_dim"]) == pytest.approx(0.04, abs=0.02)


def test_without_images_nothing_is_found_and_seeds_are_blocks():
    results = crossed_results(crossed_manifest(), planted)
    bare = Results(results.manifest, results.records, results.histories)
    estimated = effects(bare)

    routing = by_name(estimated)["routing"]
    assert estimated.crossed.why_seeds_alone == "predictions are missing"
    assert {effect.verdict for effect in estimated.effects} == {"undecided"}
    assert routing.test is not None
    assert routing.test.p_value == pytest.approx(estimated.anova.p_value(0))
    assert routing.test.effect is not None
    assert routing.test.effect.excludes_zero


def test_of_two_seeds_there_are_effects_but_no_intervals():
    estimated = effects(crossed_results(crossed_manifest(seeds=(0, 1)), planted))
    routing = by_name(estimated)["routing"]
    assert size(routing) == pytest.approx(0.12, abs=0.01)
    assert routing.test is not None
    assert routing.test.effect is not None
    assert routing.test.effect.half_width is None
    assert routing.test.p_value is None
    assert {effect.verdict for effect in estimated.effects} == {"undecided"}


def test_a_setting_that_changes_nothing_at_all_has_neither_a_verdict_nor_a_reach():
    results = crossed_results(crossed_manifest(seeds=(0, 1, 2)), planted)
    keys = keys_of(results)
    twins = {name: name.replace(f"{DECODER}=none", f"{DECODER}=fully_connected") for name in keys}
    predictions = dict(results.predictions)
    for arm, twin in twins.items():
        predictions |= {
            key: predictions[other] for key, other in zip(keys[arm], keys[twin], strict=True)
        }
    same = Results(
        results.manifest, results.records, results.histories, lambda _records: predictions
    )

    named = by_name(effects(same))
    inert = [effect for name, effect in named.items() if "reconstruction" in name]
    assert len(inert) == 3
    for effect in inert:
        assert size(effect) == 0
        assert effect.test is not None
        assert not effect.test.has_spread
        assert effect.test.p_value == 1
        assert effect.test.reach is None


def test_seeds_added_after_looking_ask_for_evidence():
    manifest = crossed_manifest(seeds=(0, 1, 2, 3), planned_seeds=[0, 1, 2])
    estimated = effects(crossed_results(manifest, planted))
    assert estimated.has_added_seeds
    # four seeds cannot show it
    assert {effect.verdict for effect in estimated.effects} == {"undecided"}
    routing = by_name(estimated)["routing"].test
    assert routing is not None
    assert routing.log_e is not None


def test_every_effect_has_the_smallest_that_would_be_found():
    factors = {WIDTH: (4, 8, 16), ROUTING: ("dynamic", "uniform")}
    estimated = effects(crossed_results(crossed_manifest(factors), nothing)).estimated
    reaches = [effect.test.reach for effect in estimated if effect.test]
    for reach in reaches:
        assert reach
        assert 0.001 < reach.more.low < reach.more.middle < reach.more.high < 0.2
        assert reach.half_more.middle < reach.more.middle
        assert reach.half_less.middle < reach.less.middle <= reach.more.middle + 1e-3


def test_shares_of_a_whole_grid_are_those_of_its_law():
    shares = variance_shares(effects(crossed_results(crossed_manifest(), planted)))
    assert shares.covers_images
    routing, width, _decoder, both, *_ = shares.shares
    total = sum(share.shapley.mean or 0 for share in shares.shares if share.shapley)
    assert total == pytest.approx(1)
    assert sum(share.alone.mean or 0 for share in shares.shares) == pytest.approx(1)
    assert routing.alone.mean == pytest.approx(0.9, abs=0.05)  # 12² of 12² + 4²
    assert both.alone.mean == pytest.approx(0.1, abs=0.05)
    assert width.alone.mean == pytest.approx(0, abs=0.03)


def test_there_are_no_shares_where_arms_do_not_differ_or_are_not_all_there():
    assert variance_shares(
        effects(crossed_results(crossed_manifest(seeds=(0, 1)), planted))
    ).why_none
    arms = half_fraction()
    lost = variance_shares(effects(crossed_results(crossed_manifest(arms=arms), planted_in_half)))
    assert lost.why_none == "not every combination of levels has a result"


@pytest.mark.parametrize(
    "factors",
    [
        {
            ROUTING: (DynamicRouting(iterations=2), DynamicRouting(iterations=5), "uniform"),
            DECODER: ("none", FullyConnectedDecoder(hidden=(7, 9))),
            "optimiser.learning_rate": (1e-3, 0.0003),
        },
        {ROUTING: ("dynamic", "uniform"), "model.routing.iterations": (1, 3)},
    ],
    ids=["objects", "a setting that one level rules out"],
)
def test_the_levels_of_a_real_manifest_are_found_in_its_arms(
    factors: Mapping[str, tuple[Any, ...]],
):
    base = TrainingConfig(model=CapsNet(conv_kernel=3, primary_kernel=3, primary_stride=2))
    plan = FullFactorial(factors=factors)
    manifest = define(sweep(base=base, plan=plan), LaunchChanges(), ()).manifest
    reloaded = Manifest.model_validate_json(manifest.model_dump_json())

    arms, known = arm_results(reloaded, {}), factors_of(reloaded)
    places = level_places(arms, known)
    for place, factor in enumerate(known):
        exists = np.array([factor.path in arm.arm.changes for arm in arms])
        assert ((places[:, place] != ABSENT) == exists).all()
        assert {*places[exists, place]} == {*range(len(factor.levels))}
    assert {*places[0]} == {0}


def test_of_no_finished_trial_nothing_can_be_estimated():
    manifest = crossed_manifest()
    estimated = effects(Results(manifest, {}, lambda _records, _name: {}))
    assert {effect.verdict for effect in estimated.effects} == {"cannot be estimated"}


def test_of_a_design_without_factors_there_are_none():
    manifest = manifest_of(["a", "b"])
    with pytest.raises(BadInput, match="crosses no factors"):
        effects(Results(manifest, {}, lambda _records, _name: {}))
