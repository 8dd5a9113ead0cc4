"""Designs of factors: which arms they make, how these are called, and what is refused."""

import itertools
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capsmodel import TrainingConfig
from capsmodel.models import CapsNet
from capsmodel.overrides import with_settings
from capsmodel.reconstruction import FullyConnectedDecoder
from capsmodel.routing import DynamicRouting
from capsmodel.spelling import short_names
from search_spaces import (
    ComponentsTable,
    EffectsTable,
    FullFactorial,
    LeaveOneOut,
    ListedArms,
    OneFactor,
    PlackettBurman,
    Search,
    Sweep,
)
from search_spaces.plans.base import Plan
from search_spaces.plans.designs.factors import FactorDesign, check_num_arms
from search_spaces.plans.designs.two_level import TwoLevelDesign
from sweeps.execution.plan.definition import Changes, define
from sweeps.records.manifest import Manifest
from tests.search_spaces.declared import SPACE, Mine, sweep

BASE = TrainingConfig(
    model=CapsNet(
        conv_kernel=3,
        primary_kernel=3,
        primary_stride=2,
        reconstruction=FullyConnectedDecoder(hidden=(7, 9)),
    )
)
ROUTING = "model.routing"
ITERATIONS = "model.routing.iterations"
DECODER = "model.reconstruction"
LEVELS: dict[str, tuple[Any, ...]] = {
    "batch_size": (16, 32, 64),
    "optimiser.learning_rate": (1e-3, 1e-4, 0.0015),
    ITERATIONS: (1, 2, 3),
    "model.class_dim": (4, 8),
    DECODER: ("none", "fully_connected"),
}


def designed(plan: Plan, **changes: Any) -> Sweep:
    return sweep(**{"base": BASE, "plan": plan, **changes})


def manifest_of(plan: Plan) -> Manifest:
    return define(designed(plan), Changes(), ()).manifest


def refused(make: Any, **changes: Any) -> str:
    with pytest.raises(ValueError, match=r"^[^\n]+$") as caught:
        designed(make(), **changes)
    return str(caught.value)


some = st.lists(st.sampled_from(sorted(LEVELS)), min_size=1, max_size=4, unique=True).flatmap(
    lambda paths: st.fixed_dictionaries(
        {
            path: st.lists(st.sampled_from(LEVELS[path]), min_size=2, unique=True).map(tuple)
            for path in paths
        }
    )
)


@settings(max_examples=25, deadline=None)
@given(some)
def test_a_full_factorial_has_every_combination_once(factors: dict[str, tuple[Any, ...]]):
    arms = designed(FullFactorial(factors=factors)).arms()

    rows = [dict(zip(factors, row, strict=True)) for row in itertools.product(*factors.values())]
    configs = [arm.config for arm in arms]
    assert len(configs) == len(rows) == len({arm.name for arm in arms})
    for row in rows:
        changes = {path: level for path, level in row.items() if level != "fully_connected"}
        assert configs.count(with_settings(BASE, changes)) == 1


@settings(max_examples=25, deadline=None)
@given(some)
def test_one_factor_at_a_time_changes_one_setting_of_the_base(factors: dict[str, tuple[Any, ...]]):
    base, *others = designed(OneFactor(factors=factors)).arms()

    assert (base.name, base.config, base.changes) == ("base", BASE, {})
    assert all(len(arm.changes) == 1 for arm in others)
    pairs = [(path, level) for path, levels in factors.items() for level in levels]
    new = [(path, level) for path, level in pairs if not is_of_base(path, level)]
    assert [(path, level) for arm in others for path, level in arm.changes.items()] == new


def is_of_base(path: str, level: Any) -> bool:
    return level == "fully_connected" or with_settings(BASE, {path: level}) == BASE


def test_the_combination_of_the_base_is_the_baseline_with_its_own_parts():
    plan = FullFactorial(factors={ITERATIONS: (1, 3), DECODER: ("none", "fully_connected")})
    arms = designed(plan).arms()

    assert arms[0].config == BASE
    assert arms[0].name == "iterations=3, reconstruction=fully_connected"
    assert manifest_of(plan).baseline == arms[0].name
    elsewhere = FullFactorial(factors={ITERATIONS: (1, 2), "batch_size": (8, 9)})
    assert manifest_of(elsewhere).baseline == "iterations=1, batch_size=8"


def test_a_setting_is_built_only_where_it_exists_and_the_rest_is_one_arm():
    plan = FullFactorial(factors={ROUTING: ("dynamic", "uniform"), ITERATIONS: (1, 3)})
    manifest = manifest_of(plan)

    names = [arm.name for arm in manifest.arms]
    dynamic = [f"routing=dynamic, iterations={count}" for count in (3, 1)]
    assert names == [*dynamic, "routing=uniform"]
    assert manifest.arms[-1].changes == {ROUTING: "uniform"}
    assert manifest.design
    merged = tuple(f"routing=uniform, iterations={count}" for count in (1, 3))
    assert manifest.design.same == {"routing=uniform": merged}
    assert manifest.design.factors == {ROUTING: ("dynamic", "uniform"), ITERATIONS: (1, 3)}
    assert len(manifest.cells) == 6


def test_it_does_not_matter_in_which_order_a_part_and_its_settings_are_given():
    first = FullFactorial(factors={ITERATIONS: (1, 3), ROUTING: ("dynamic", "uniform")})
    assert {arm.name for arm in designed(first).arms()} == {
        "iterations=1, routing=dynamic",
        "iterations=3, routing=dynamic",
        "routing=uniform",
    }


def test_components_are_left_out_and_added_in():
    components = {
        "reconstruction": {DECODER: "none"},
        "routing": {ROUTING: "uniform"},
        "width": {"model.class_dim": 4, "model.primary_dim": 4},
    }
    out = designed(LeaveOneOut(components=components)).arms()
    both = designed(LeaveOneOut(components=components, add_one_in=True)).arms()

    assert [arm.name for arm in out] == ["full", *(f"without {name}" for name in components)]
    assert out[0].config == BASE
    assert out[3].config == with_settings(BASE, components["width"])
    assert [arm.name for arm in both[4:]] == [
        "none of them",
        *(f"only {name}" for name in components),
    ]
    every = {path: value for changes in components.values() for path, value in changes.items()}
    assert both[4].config == with_settings(BASE, every)
    assert both[7].config == with_settings(BASE, {DECODER: "none", ROUTING: "uniform"})


def test_of_two_components_each_alone_is_the_other_left_out():
    components = {"reconstruction": {DECODER: "none"}, "routing": {ROUTING: "uniform"}}
    manifest = manifest_of(LeaveOneOut(components=components, add_one_in=True))

    assert len(manifest.arms) == 4
    assert manifest.design
    assert manifest.design.same == {
        "without routing": ("only reconstruction",),
        "without reconstruction": ("only routing",),
    }


def test_a_manifest_says_which_components_each_arm_has():
    components = {"reconstruction": {DECODER: "none"}, "routing": {ROUTING: "uniform"}}
    manifest = manifest_of(LeaveOneOut(components=components, add_one_in=True))

    assert manifest.design
    assert manifest.design.components == {
        "full": ("reconstruction", "routing"),
        "without reconstruction": ("routing",),
        "without routing": ("reconstruction",),
        "none of them": (),
    }
    factorial = manifest_of(FullFactorial(factors={ITERATIONS: (1, 3)}))
    assert factorial.design
    assert "components" not in factorial.design.model_dump()


def test_each_design_has_the_tables_that_its_arms_can_tell():
    out = LeaveOneOut(components={"routing": {ROUTING: "uniform"}})
    kinds = {
        plan.kind: [table.kind for table in manifest_of(plan).tables]
        for plan in (
            out,
            OneFactor(factors={ITERATIONS: (1, 3)}),
            FullFactorial(factors={ITERATIONS: (1, 3), ROUTING: ("dynamic", "uniform")}),
        )
    }
    assert kinds == {
        "leave_one_out": ["ablation", "components"],
        "one_factor": ["ablation"],
        "factorial": ["ablation", "effects"],
    }


@pytest.mark.parametrize("table", [EffectsTable(), ComponentsTable(name="parts")])
@pytest.mark.parametrize(
    "plan",
    [
        ListedArms(baseline="base", arms={"base": {}, "one": {ITERATIONS: 1}}),
        OneFactor(factors={ITERATIONS: (1, 2)}),
        Search(space=SPACE, trials=8),
    ],
    ids=lambda plan: plan.kind,
)
def test_a_table_of_factors_is_refused_where_none_are_crossed(plan: Plan, table: Any):
    seeds = {"seeds": ()} if plan.is_search else {}
    message = refused(lambda: plan, tables=[table], **seeds)
    assert (
        f"has nothing for a table of the kind '{table.kind}': leave '{table.name}' out" in message
    )


def test_a_check_mark_table_is_of_components_or_crossed_factors():
    out = LeaveOneOut(components={"routing": {ROUTING: "uniform"}})
    assert designed(out, tables=[ComponentsTable()]).tables
    crossed = FullFactorial(factors={ITERATIONS: (1, 3), "batch_size": (8, 9)})
    assert designed(crossed, tables=[ComponentsTable(), EffectsTable()]).tables
    assert "nothing for a table of the kind 'effects'" in refused(
        lambda: out, tables=[EffectsTable()]
    )


@pytest.mark.parametrize(
    "plan",
    [
        LeaveOneOut(components={"decoder": {DECODER: "none"}, "wide": {"batch_size": 8}}),
        PlackettBurman(
            factors={
                DECODER: ("fully_connected", "none"),
                "batch_size": (8, 16),
                ITERATIONS: (1, 3),
            }
        ),
    ],
    ids=["leave_one_out", "plackett_burman"],
)
def test_what_the_base_class_writes_into_the_manifest_stays(
    plan: FactorDesign, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = FactorDesign.manifest_fields
    monkeypatch.setattr(
        FactorDesign,
        "manifest_fields",
        lambda self, definition: {"first": 1, **fields(self, definition), "last": 2},
    )
    written = plan.manifest_fields(designed(plan))
    assert (written["first"], written["last"]) == (1, 2)
    assert written["design"]["kind"] == plan.kind


def test_a_design_that_lacks_a_method_is_refused_before_it_is_used():
    class Unfinished(TwoLevelDesign):
        kind: Literal["unfinished"] = "unfinished"  # pyright: ignore

    with pytest.raises(TypeError, match=r"abstract.* combinations, fraction_fields, mixed"):
        Unfinished(factors={"batch_size": (8, 16)})


def test_what_is_trained_is_what_the_same_arms_written_out_would_train():
    designs = manifest_of(OneFactor(factors={ITERATIONS: (1, 2)}))
    arms = {"base": {}, "one": {ITERATIONS: 1}, "two": {ITERATIONS: 2}}
    listed = manifest_of(ListedArms(baseline="base", arms=arms))

    assert [cell.trial_key for cell in designs.cells] == [cell.trial_key for cell in listed.cells]
    assert not listed.design


def test_objects_and_a_users_own_parts_are_levels():
    levels = (DynamicRouting(iterations=2), DynamicRouting(iterations=5), Mine())
    arms = designed(OneFactor(factors={ROUTING: levels}), parts=[Mine]).arms()

    assert [arm.name for arm in arms] == [
        "base",
        "routing=dynamic (iterations 2)",
        "routing=dynamic (iterations 5)",
        "routing=mine",
    ]
    assert [arm.config.model.routing for arm in arms[1:]] == [*levels]  # type: ignore[attr-defined]
    undeclared = designed(FullFactorial(factors={ROUTING: (Mine(), "uniform")}))
    with pytest.raises(ValueError, match="declare it"):
        undeclared.arms()


def test_a_design_is_also_read_from_plain_values():
    plain: Any = {"kind": "factorial", "factors": {"batch_size": [8, 16], ITERATIONS: [1, 3]}}
    assert len(designed(plain).arms()) == 4


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (("model.routing.iterations",), ("iterations",)),
        (("loss.margin", "other.margin"), ("loss.margin", "other.margin")),
        (("margin", "loss.margin"), ("margin", "loss.margin")),
        (("a.b.c", "x.b.c", "c.d"), ("a.b.c", "x.b.c", "d")),
    ],
)
def test_names_are_as_short_as_tells_them_apart(paths: tuple[str, ...], names: tuple[str, ...]):
    assert tuple(short_names(paths).values()) == names


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FullFactorial(factors={"batch_size": (8,)}), "has the one level 8, and nothing"),
        (lambda: FullFactorial(factors={}), "needs at least one factor"),
        (lambda: OneFactor(factors={"batch_size": ()}), "'batch_size' has no levels"),
        (lambda: OneFactor(factors={"batch_size": (8, 8)}), "has the level 8 twice"),
        (lambda: OneFactor(factors={ITERATIONS: (3,)}), "no level but that of the base"),
        (lambda: OneFactor(factors={"modle.class_dim": (3, 4)}), "Did you mean 'model'"),
        (lambda: OneFactor(factors={ROUTING: ("uniform", "no")}), "Unknown routing 'no'"),
        (lambda: FullFactorial(factors={"batch_size": (8, -1)}), "Arm 'batch_size=-1': batch_size"),
        (
            lambda: FullFactorial(
                factors={ROUTING: ("uniform", "random"), ITERATIONS: (1, 2)},
            ),
            f"No arm of the design has the setting '{ITERATIONS}'",
        ),
        (
            lambda: FullFactorial(factors={f"setting_{n}": (1, 2) for n in range(14)}),
            "make 16,384 arms, and a design has at most 10,000",
        ),
        (lambda: LeaveOneOut(components={}), "at least 1"),
        (
            lambda: LeaveOneOut(components={"x": {"batch_size": 8}}, baseline="without x"),
            "Two different arms of the design would both be called 'without x'",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(make: Any, message: str):
    assert message in refused(make)


def test_a_design_has_ten_thousand_arms_at_most() -> None:
    check_num_arms(10_000)
    with pytest.raises(ValueError, match="make 10,001 arms, and a design has at most 10,000"):
        check_num_arms(10_001)
