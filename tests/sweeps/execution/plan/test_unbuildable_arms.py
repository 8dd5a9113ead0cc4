"""Arms whose network cannot be built are all named, and skipped where the design says so."""

from typing import Any

import pytest

from search_spaces import FullFactorial, ListedArms, Sweep
from search_spaces.plans.base import Plan
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.tables.ablation_table import ablation_table
from sweeps.aggregation.tables.effects_table import make_effects
from sweeps.execution.plan.definition import Changes, define
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from tests.capsmodel.small_config import small_config

# a kernel of 6 leaves 3 of 8 pixels, or 2 with a stride of 2, and the next layer has a kernel of 3
FACTORS: dict[str, tuple[Any, ...]] = {
    "model.conv_kernel": (3, 6),
    "model.conv_stride": (1, 2),
    "batch_size": (100, 200),
}
UNBUILDABLE = [f"conv_kernel=6, conv_stride=2, batch_size={size}" for size in (100, 200)]
REASON = (
    "A kernel of 3 pixels does not fit 2 pixels padded by 0 on both sides: choose a kernel of at "
    "most 2, more padding, or larger images"
)


def declared(plan: Plan) -> Sweep:
    return Sweep(name="example", base=small_config(), plan=plan, seeds=(0, 1))


def manifest_of(plan: Plan) -> Manifest:
    return define(declared(plan), Changes(), ()).manifest


def refusal(plan: Plan) -> str:
    with pytest.raises(BadInput) as caught:
        manifest_of(plan)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_grid_is_refused_with_every_combination_that_cannot_be_built() -> None:
    assert refusal(FullFactorial(factors=FACTORS)) == (
        f"The networks of 2 of 8 arms cannot be built: '{UNBUILDABLE[0]}', '{UNBUILDABLE[1]}' "
        f"({REASON}). To train the other 6 alone, give skip_unbuildable=True."
    )


PAIRS: dict[str, tuple[Any, ...]] = {
    "model.routing": ("dynamic", "heinsen"),
    "loss": ("margin", "cross_entropy"),
}


def test_a_grid_is_refused_with_the_pair_of_a_routing_and_a_loss_that_do_not_suit() -> None:
    assert refusal(FullFactorial(factors=PAIRS)) == (
        "Arm 'routing=heinsen, loss=margin': The loss 'margin' judges lengths of class capsules, "
        "but the routing 'heinsen' gives them scores, the logits of a softmax: set "
        "loss=cross_entropy or loss=sigmoid, or choose another routing. To train the other 3 "
        "alone, give skip_unbuildable=True."
    )
    assert len(manifest_of(FullFactorial(factors=PAIRS, skip_unbuildable=True)).arms) == 3


def test_the_sentence_names_twenty_arms_and_counts_the_rest() -> None:
    arms = {f"arm {size}": {"model.conv_kernel": size} for size in range(9, 35)}
    sentence = refusal(ListedArms(arms={"base": {}, **arms}, baseline="base"))
    assert sentence.startswith("The networks of 26 of 27 arms cannot be built: 'arm 9' (A kernel ")
    assert sentence.count("'arm ") == 20
    assert "choose" not in sentence, "advice would be repeated for each of the reasons"
    assert sentence.endswith("; and 6 more.")


def test_a_grid_that_skips_them_keeps_the_keys_of_the_others_and_says_what_is_missing() -> None:
    built = {name: levels for name, levels in FACTORS.items() if name != "model.conv_stride"}
    smaller = manifest_of(FullFactorial(factors=built))
    manifest = manifest_of(FullFactorial(factors=FACTORS, skip_unbuildable=True))
    assert len(manifest.arms) == 6
    assert {cell.trial_key for cell in smaller.cells} < {cell.trial_key for cell in manifest.cells}
    assert manifest.design
    assert [*manifest.design.left_out] == UNBUILDABLE
    assert manifest.baseline == "conv_kernel=3, conv_stride=1, batch_size=200", "the base"
    note = (
        f"2 combinations are left out, without a network that can be built: '{UNBUILDABLE[0]}', "
        f"'{UNBUILDABLE[1]}' ({REASON})."
    )
    assert note in ablation_table(manifest, {}).notes
    (effects,) = (table for table in manifest.tables if table.kind == "effects")
    section = make_effects(effects, Results(manifest, {}, lambda records, name: {}))
    assert note in section.tables[0].notes


def test_what_is_skipped_changes_nothing_of_a_grid_that_can_be_built() -> None:
    factors = {"model.conv_kernel": (3, 5), "batch_size": (100, 200)}
    manifests = [
        manifest_of(FullFactorial(factors=factors, skip_unbuildable=skip)).model_dump_json()
        for skip in (False, True)
    ]
    assert manifests[0] == manifests[1]
    assert "left_out" not in manifests[0]
    assert "skip_unbuildable" not in FullFactorial(factors=factors).model_dump_json()


def test_a_level_that_no_arm_is_left_with_is_refused() -> None:
    with pytest.raises(
        ValueError, match="No arm with conv_kernel=9 has a network that can be"
    ) as e:
        declared(
            FullFactorial(
                factors={"model.conv_kernel": (3, 9), "batch_size": (100, 200)},
                skip_unbuildable=True,
            )
        )
    assert "A kernel of 9 pixels does not fit 8 pixels" in str(e.value)
