"""Tests of sweeps across data sets: each data set is a sweep of its own."""

from typing import Any, Literal

import pytest

from capsmodel.config import TrainingConfig
from capsmodel.losses import Loss
from capsmodel.models import ConvNet
from capsmodel.search_range import Floats
from search_spaces.data_set_columns import first_seed_of
from search_spaces.plans.designs.factorial import FullFactorial
from search_spaces.plans.listed import ListedArms, MatchedArm
from search_spaces.plans.search import BASE, Confirm, Search
from search_spaces.plans.tuned_arms import TunedArms
from search_spaces.plans.until_decided import UntilDecided
from search_spaces.quickstart import SMALL_CAPSNET
from search_spaces.space.space import Space
from search_spaces.sweep import Sweep
from search_spaces.tables import DataSetsTable
from search_spaces.trial_key import trial_key

ARMS: dict[str, dict[str, Any]] = {"dynamic": {}, "uniform": {"model.routing": "uniform"}}
ACROSS: dict[str, dict[str, Any]] = {
    "digits": {"data": "digits"},
    "Mapped, 14 px": {"data": "affine_digits", "stopping.epochs": 3},
}


def across(**changes: Any) -> Sweep:
    fields: dict[str, Any] = {
        "name": "routings",
        "base": SMALL_CAPSNET,
        "plan": ListedArms(arms=ARMS, baseline="dynamic"),
        "seeds": (0, 1, 2),
        "across": ACROSS,
    }
    return Sweep(**{**fields, **changes})


def test_each_data_set_is_a_sweep_with_its_settings() -> None:
    columns = across().columns()
    assert [column.name for column in columns.values()] == [
        "routings--digits",
        "routings--mapped-14-px",
    ]
    mapped = columns["Mapped, 14 px"]
    assert mapped.base.data.kind == "affine_digits"
    assert mapped.base.stopping.num_epochs == 3
    assert mapped.part_of.data_sets == ("digits", "Mapped, 14 px")
    assert mapped.part_of.images_of == ("digits",)
    assert not mapped.across


def test_its_trials_have_the_keys_of_a_single_sweep_with_its_seeds() -> None:
    column = across().columns()["digits"]
    single = Sweep(
        name="single",
        base=SMALL_CAPSNET.model_copy(update={"data": column.base.data}),
        plan=ListedArms(arms=ARMS, baseline="dynamic"),
        seeds=column.arm_seeds,
    )
    keys = [
        [trial_key(arm.config, seed) for arm in sweep.arms() for seed in sweep.arm_seeds]
        for sweep in (column, single)
    ]
    assert keys[0] == keys[1]


def test_its_seeds_depend_on_its_name_alone() -> None:
    alone = across().columns()["digits"].arm_seeds
    others = {"KMNIST": {"data": "kmnist"}, **dict(reversed(ACROSS.items()))}
    assert across(across=others).columns()["digits"].arm_seeds == alone
    first = first_seed_of("digits")
    assert alone == (first, first + 1, first + 2)
    assert first_seed_of("KMNIST") != first


def test_a_data_set_may_have_seeds_of_its_own() -> None:
    own = {"digits": {**ACROSS["digits"], "seeds": range(5)}, "KMNIST": {"data": "kmnist"}}
    columns = across(across=own).columns()
    assert columns["digits"].arm_seeds == (0, 1, 2, 3, 4)
    assert len(columns["KMNIST"].arm_seeds) == 3


def test_looks_begin_with_the_first_seed_of_the_data_set() -> None:
    columns = across(seeds=UntilDecided(first=3, most=5)).columns()
    first = first_seed_of("digits")
    assert columns["digits"].arm_seeds == tuple(range(first, first + 5))
    assert columns["digits"].until_decided


def test_widths_are_matched_on_each_data_set() -> None:
    cnn = MatchedArm(
        {"model": ConvNet(conv_channels=(8,), conv_kernel=3, pooling=2, hidden=(8,))},
        matched_to="dynamic",
        width="model.hidden",
    )
    columns = across(plan=ListedArms(arms=ARMS | {"CNN": cnn}, baseline="dynamic")).columns()
    hidden = [column.arms()[-1].config.model.hidden for column in columns.values()]  # pyright: ignore
    assert hidden[0] != hidden[1]


@pytest.mark.parametrize(
    "plan",
    [
        FullFactorial(factors={"model.routing.iterations": (1, 3), "loss": ("margin", "spread")}),
        TunedArms(
            arms=ARMS,
            baseline="dynamic",
            nuisance={"optimiser.learning_rate": (1e-3, 3e-3)},
        ),
    ],
)
def test_every_kind_of_design_has_data_sets(plan: Any) -> None:
    for column in across(plan=plan).columns().values():
        assert column.initial_arms()


def search(**options: Any) -> Search:
    space = Space({"optimiser.learning_rate": Floats(1e-3, 3e-3)})
    return Search(space=space, trials=2, sampler="random", **options)


def test_a_search_is_of_the_first_data_set_and_its_best_are_judged_on_the_others() -> None:
    sweep = across(plan=search(confirm=Confirm(best=1, seeds=(7, 8, 9))), seeds=())
    best = {"proposal 1": {"optimiser.learning_rate": 1e-3}}
    tuned, judged = sweep.columns(best).values()
    assert tuned.plan.is_search
    assert [arm.name for arm in judged.arms()] == [BASE, "proposal 1"]
    first = first_seed_of("Mapped, 14 px")
    assert judged.arm_seeds == (first + 7, first + 8, first + 9)
    assert [arm.name for arm in sweep.columns()["Mapped, 14 px"].arms()] == [BASE]


def test_an_arm_of_another_model_does_not_vary_what_a_data_set_sets_of_the_base_s() -> None:
    kernels = {**ACROSS, "digits": {"data": "digits", "model.conv_channels": 32}}
    plan = ListedArms(arms=ARMS | {"CNN": {"model": "cnn"}}, baseline="dynamic")
    assert across(plan=plan, across=kernels).columns()["digits"].arms()


MNISTS = {"a": {"data": "mnist"}, "b": {"data": {"kind": "mnist", "split_seed": 3}}}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"across": {"digits": {"data": "digits"}}}, "at least 2 data sets, got 1"),
        ({"across": {**ACROSS, "x": {"stopping.epochs": 3}}}, "'x' does not say its data"),
        ({"across": {**ACROSS, "x": {"data": "kmnst"}}}, "'x': Unknown data 'kmnst'. Did you"),
        ({"across": MNISTS}, "'a' and 'b' are the same data"),
        ({"across": {**ACROSS, "x": {"data": "multi_mnist"}}}, "unlike tasks"),
        ({"across": {**ACROSS, "Digits": {"data": "kmnist"}}}, "'digits' and 'Digits' differ in"),
        (
            {
                "across": {
                    "a": {"data": "digits", "seeds": (0, 1, 2)},
                    "b": {"data": "kmnist", "seeds": (2, 3, 4)},
                }
            },
            "'a' and 'b' have seed 2 in common",
        ),
        (
            {"seeds": UntilDecided(), "across": {**ACROSS, "x": {"data": "mnist", "seeds": [1]}}},
            "until its verdicts are decided: leave them out",
        ),
        ({"across_table": DataSetsTable(other_data_sets=True)}, "takes at least 6 data sets"),
        ({"across_table": DataSetsTable(primary_of="adversarial")}, "Unknown evaluation"),
        (
            {"across_table": DataSetsTable(published={"digit": {"dynamic": 1.0}})},
            "Did you mean 'digits'?",
        ),
        ({"across": {}, "across_table": DataSetsTable(ranks=True)}, "give across as well"),
        ({"plan": search(confirm=None), "seeds": ()}, "give Search(confirm=Confirm())"),
        (
            {
                "plan": search(),
                "seeds": (),
                "across": {**ACROSS, "x": {"data": "mnist", "optimiser.learning_rate": 0.1}},
            },
            "The search varies optimiser.learning_rate, and the data set 'x' sets",
        ),
    ],
)
def test_what_makes_no_table_is_refused_in_a_sentence(
    changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        across(**changes)
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"model.routing": "em"},
        {"model.routing.iterations": 2},
        {"model": {"kind": "capsnet", "routing": {"kind": "dynamic", "iterations": 2}}},
    ],
)
def test_an_arm_that_varies_what_a_data_set_sets_is_refused(settings: dict[str, Any]) -> None:
    plan = ListedArms(
        arms={
            "three": {},
            "one": {"model.routing.iterations": 1},
            "leaky": {"model.routing": "dynamic"},
        },
        baseline="three",
    )
    sweep = across(plan=plan, across={**ACROSS, "digits": {"data": "digits", **settings}})
    with pytest.raises(ValueError, match="and the data set 'digits' sets"):
        sweep.columns()["digits"].arms()


def test_code_of_a_users_part_is_part_of_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine(Loss):
        kind: Literal["mine"] = "mine"

    sweep = across(parts=(Mine,))
    before = [column.part_of.definition for column in sweep.columns().values()]
    monkeypatch.setattr(Mine, "protocol_version", "edited")
    after = [column.part_of.definition for column in sweep.columns().values()]
    assert len({*before}) == len({*after}) == 1
    assert before != after


def test_the_base_itself_is_no_data_set() -> None:
    assert isinstance(across().base, TrainingConfig)
    fields: dict[str, Any] = {**dict(across()), "across": {}}
    assert Sweep(**fields).columns() == {}
