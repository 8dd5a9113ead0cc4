"""A sweep says which arms there are, and refuses in one sentence what cannot be."""

from typing import Any, ClassVar, Literal

import pytest
from pydantic import ValidationError

from capsmodel import TrainingConfig
from capsmodel.models import CapsNet
from capsmodel.overrides import with_settings
from capsmodel.routing import DynamicRouting, RandomRouting, UniformRouting, VectorRouting
from capsmodel.search_range import Ints
from capsmodel.settings.messages import explain
from search_spaces import (
    AblationTable,
    Asha,
    ConfirmationTable,
    CurvesFigure,
    ListedArms,
    Median,
    PublishedRow,
    PublishedTable,
    Search,
    SensitivityTable,
    Space,
    Sweep,
)


class Mine(VectorRouting):
    """A user's own routing, never run here."""

    kind: Literal["mine"] = "mine"
    is_symmetric: ClassVar[bool] = True

    def route(self, votes: Any, *, generator: Any) -> Any:
        raise NotImplementedError


class AlsoMine(Mine):
    """Another of the same kind."""


class Impostor(Mine):
    """Of a built-in kind."""

    kind: Literal["random"] = "random"  # pyright: ignore[reportIncompatibleVariableOverride]


class Nameless(VectorRouting):
    """Without a kind."""

    def route(self, votes: Any, *, generator: Any) -> Any:
        raise NotImplementedError


ARMS: dict[str, dict[str, Any]] = {
    "base": {},
    "one": {"model.routing.iterations": 1},
    "uniform": {"model.routing": "uniform"},
    "small": {"model.reconstruction.hidden": (4, 5), "batch_size": 8},
}


def sweep(arms: dict[str, dict[str, Any]] = ARMS, **changes: Any) -> Sweep:
    settings: dict[str, Any] = {
        "name": "example",
        "base": TrainingConfig(),
        "plan": ListedArms(baseline=next(iter(arms)), arms=arms),
        "seeds": (0, 1),
    }
    return Sweep(**(settings | changes))


def refusal(**changes: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        sweep(**changes)
    return explain(caught.value)


def test_arms_are_built_in_the_order_they_are_listed() -> None:
    arms = sweep().arms()
    assert [arm.name for arm in arms] == list(ARMS)
    assert arms[2].config.model.routing == UniformRouting()
    assert arms[0].config == TrainingConfig()


def test_what_an_arm_changes_is_told_in_plain_json() -> None:
    arms = sweep({"base": {}, "x": {"model.routing": RandomRouting(), "batch_size": 3}}).arms()
    assert arms[1].changes == {
        "model.routing": {"kind": "random", "low": 0.8, "high": 1.2, "bias": False},
        "batch_size": 3,
    }
    assert sweep().arms()[3].changes["model.reconstruction.hidden"] == [4, 5]


def test_an_object_inside_plain_values_is_told_in_plain_json_too() -> None:
    value = {"kind": "capsnet", "routing": UniformRouting()}
    arm = sweep({"base": {}, "x": {"model": value}}).arms()[1]
    assert arm.changes == {
        "model": {"kind": "capsnet", "routing": {"kind": "uniform", "bias": False}}
    }


def test_an_arm_that_cannot_be_is_named() -> None:
    with pytest.raises(ValueError, match=r"^Arm 'x': Unknown setting 'batch'"):
        sweep({"base": {}, "x": {"batch": 1}}).arms()


def test_two_arms_of_one_configuration_are_refused() -> None:
    arms = {"base": {}, "again": {"model.routing": {"kind": "dynamic", "iterations": 3}}}
    with pytest.raises(ValueError, match="'base' and 'again' are the same configuration"):
        sweep(arms).arms()


def test_the_baseline_is_one_of_the_arms() -> None:
    with pytest.raises(ValidationError, match="'bass' is none of the arms: base, one"):
        ListedArms(baseline="bass", arms={"base": {}, "one": {}})


@pytest.mark.parametrize(
    "name",
    [
        *("", "A", "-a", "../x", "a b", "a\n", "a/b", "a;b"),
        pytest.param("a" * 65, id="too long"),
        pytest.param("é", id="a letter with an accent"),
    ],
)
def test_a_name_that_is_no_name_of_a_file_is_refused(name: str) -> None:
    assert refusal(name=name) == (
        f"name must be a text of the form ^[a-z0-9][a-z0-9_-]{{0,63}}$, got {name!r}."
    )


def test_a_seed_is_listed_once_and_is_no_negative_number() -> None:
    assert refusal(seeds=(1, 2, 1)) == "A seed is listed twice: 1, 2, 1."
    assert refusal(seeds=(0, -1)).endswith("got -1 at place 2.")
    assert "seeds must be a list of at least 1" in refusal(seeds=())
    assert refusal(seeds=(2**63,)).endswith(f"below {2**63}, got {2**63} at place 1.")


def test_built_in_kinds_cannot_be_overridden() -> None:
    assert refusal(parts=(Impostor,)) == (
        "The kind 'random' of Impostor is built in and cannot be overridden: choose another kind."
    )


def test_two_own_parts_have_kinds_of_their_own() -> None:
    assert refusal(parts=(Mine, AlsoMine)) == "Two parts are called 'mine': choose another kind."


def test_an_own_part_has_a_kind() -> None:
    assert refusal(parts=(Nameless,)).startswith("Nameless has no kind: give it one")


def test_what_is_no_part_is_refused() -> None:
    assert refusal(parts=(int,)).startswith("parts")
    assert refusal(base=3)
    assert refusal(plan=3)


def test_an_own_part_is_declared() -> None:
    arms = {"base": {}, "mine": {"model.routing": Mine()}}
    with pytest.raises(ValueError, match=r"declare it, Sweep\(parts=\[Mine\], \.\.\.\)\."):
        sweep(arms).arms()
    assert sweep(arms, parts=(Mine,)).arms()[1].config.model.routing == Mine()


def test_an_own_part_may_be_given_by_its_kind() -> None:
    arms = {"base": {}, "mine": {"model.routing": "mine"}}
    assert sweep(arms, parts=(Mine,)).arms()[1].config.model.routing == Mine()
    with pytest.raises(ValueError, match="Arm 'mine': Unknown routing 'mine'"):
        sweep(arms).arms()


def test_a_change_reaches_every_arm() -> None:
    changed = sweep().changed({"stopping.epochs": 2})
    assert [arm.config.stopping.num_epochs for arm in changed.arms()] == [2] * len(ARMS)
    assert sweep().base == TrainingConfig()


def test_name_and_seeds_can_be_changed() -> None:
    changed = sweep().changed(name="other", seeds=(7,))
    assert (changed.name, changed.seeds) == ("other", (7,))
    assert (sweep().changed().name, sweep().changed().seeds) == ("example", (0, 1))


@pytest.mark.parametrize(
    "changes", [{"name": "Other"}, {"seeds": (3, 3)}, {"settings": {"batch_size": 0}}]
)
def test_what_is_changed_is_held_against_the_same_rules(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the sentences are tested above
        sweep().changed(**changes)


@pytest.mark.parametrize("path", ["batch_size", "model.routing.iterations", "model.routing"])
def test_a_path_that_an_arm_changes_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match=f"'{path}' is varied by the sweep itself"):
        sweep().changed({path: 1})


def test_a_path_above_one_that_an_arm_changes_is_refused() -> None:
    with pytest.raises(ValueError, match="'model' is varied by the sweep itself"):
        sweep().changed({"model": "capsnet"})


def test_a_path_that_only_begins_like_one_of_an_arm_is_free() -> None:
    arms = {"base": {}, "x": {"model.primary_dim": 4}}
    assert sweep(arms).changed({"model.primary_stride": 1})


def test_the_kind_of_a_part_of_which_arms_change_single_settings_can_be_changed() -> None:
    changed = sweep({"base": {}, "other split": {"data.split_seed": 3}}).changed(
        {"data.kind": "fashion_mnist"}
    )
    found = [(arm.config.data.kind, arm.config.data.split_seed) for arm in changed.arms()]
    assert found == [("fashion_mnist", 0), ("fashion_mnist", 3)]


@pytest.mark.parametrize("path", ["data", "data.kind"])
def test_the_kind_of_data_that_an_arm_chooses_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match=r"'data\.kind' is varied by the sweep itself"):
        sweep({"base": {}, "other": {path: "mnist"}}).changed({"data.kind": "fashion_mnist"})


def test_a_setting_that_some_arm_still_has_can_be_changed() -> None:
    arms = {"base": {}, "uniform": {"model.routing": "uniform"}}
    changed = sweep(arms).changed({"model.routing.iterations": 5})
    assert changed.arms()[0].config.model_dump()["model"]["routing"]["iterations"] == 5


def test_a_setting_of_a_part_that_every_arm_chooses_itself_has_no_effect() -> None:
    arms = {"uniform": {"model.routing": "uniform"}, "random": {"model.routing": "random"}}
    with pytest.raises(ValueError, match=r"'model\.routing\.iterations' has no effect: every arm"):
        sweep(arms).changed({"model.routing.iterations": 5})


def test_changes_that_belong_together_may_be_given_in_any_order() -> None:
    base = TrainingConfig().model_copy(
        update={"model": TrainingConfig().model.model_copy(update={"routing": RandomRouting()})}
    )
    for changes in (("low", "high"), ("high", "low")):
        values = {"low": 2.0, "high": 3.0}
        settings = {f"model.routing.{name}": values[name] for name in changes}
        changed = sweep({"base": {}}, base=base).changed(settings)
        assert changed.base.model.routing == RandomRouting(low=2.0, high=3.0)


def test_an_unknown_setting_is_refused_with_the_nearest() -> None:
    with pytest.raises(ValueError, match="Did you mean 'batch_size'"):
        sweep({"base": {}}).changed({"batch_sizes": 1})


# Profiles and kinds.


def test_an_arm_may_be_a_profile() -> None:
    arms = sweep({"base": {}, "official": {"model.profile": "official", "batch_size": 8}}).arms()
    assert arms[1].config.model == CapsNet.of_profile("official")
    assert arms[1].changes == {
        "model.primary_coupling": "uniform",
        "model.initialisation": "truncated",
        "model.initial_bias": 0.1,
        "model.routing.bias": True,
        "batch_size": 8,
    }


def test_what_is_told_of_an_arm_never_names_a_profile() -> None:
    model = {"kind": "capsnet", "profile": "official"}
    nested = {"kind": "capsnet", "routing": {"kind": "em", "profile": "official"}}
    arms = sweep({"base": {}, "x": {"model": model}, "y": {"model": nested}}).arms()
    for arm in arms:
        assert "profile" not in str(arm.changes)
        assert with_settings(TrainingConfig(), arm.changes) == arm.config


def test_what_an_arms_profile_sets_cannot_be_set_for_all() -> None:
    profiled = sweep({"base": {}, "official": {"model.profile": "official"}})
    sentence = r"'model\.routing\.bias' is varied by .* \(arm 'official' changes 'model\.profile'\)"
    with pytest.raises(ValueError, match=sentence):
        profiled.changed({"model.routing.bias": True})
    with pytest.raises(ValueError, match=r"'model\.routing' is varied by"):
        profiled.changed({"model.routing": "leaky"})


def test_what_an_arms_profile_leaves_alone_reaches_it() -> None:
    profiled = sweep({"base": {}, "official": {"model.profile": "official"}})
    official = profiled.changed({"model.routing.iterations": 1}).arms()[1].config.model
    assert official == CapsNet.of_profile("official", routing=DynamicRouting(iterations=1))


def test_a_profile_that_no_arm_varies_reaches_every_arm() -> None:
    changed = sweep().changed({"profile": "sabour2017_official"})
    assert changed.base.model == CapsNet.of_profile("official")
    routings = [arm.config.model_dump()["model"]["routing"] for arm in changed.arms()]
    assert [routing.get("bias") for routing in routings] == [True, True, False, True]


def test_a_profile_of_which_an_arm_varies_a_part_is_refused() -> None:
    arms = {"base": {}, "no bias": {"model.routing.bias": False}}
    sentence = r"'model\.profile' sets 'model\.routing\.bias', which is varied by .*'no bias'"
    with pytest.raises(ValueError, match=sentence):
        sweep(arms).changed({"model.profile": "official"})


def test_the_kind_of_a_part_that_an_arm_chooses_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'model\.routing\.kind' is varied by the sweep itself"):
        sweep().changed({"model.routing.kind": "leaky"})
    chosen = sweep({"base": {}, "x": {"model.routing.kind": "leaky"}})
    with pytest.raises(
        ValueError, match=r"'model\.routing' is varied by .* 'model\.routing\.kind'"
    ):
        chosen.changed({"model.routing": "uniform"})


def test_a_profile_of_which_the_space_varies_a_part_is_refused() -> None:
    space = Space.of(CapsNet, at="model").only("model.routing.bias")
    sentence = r"'model\.profile' sets 'model\.routing\.bias', which is varied by the search itself"
    with pytest.raises(ValueError, match=sentence):
        searching(space).changed({"model.profile": "official"})


# Searches.


SPACE = Space.of(TrainingConfig).varied({"model": ("capsnet",)}).only("model.routing.iterations")


def searching(space: Space = SPACE, **changes: Any) -> Sweep:
    plan = Search(space=space, trials=8, scheduler=Asha(grace=0.5))
    return sweep(**({"plan": plan, "seeds": ()} | changes))


def test_a_search_proposes_arms() -> None:
    params = {"model.routing": "dynamic", "model.routing[dynamic].iterations": 1}
    arm = searching().proposed("trial 0", params)
    assert arm.name == "trial 0"
    assert arm.config == TrainingConfig(model=CapsNet(routing=DynamicRouting(iterations=1)))
    assert arm.changes == {"model.routing": "dynamic", "model.routing.iterations": 1}


def test_a_design_proposes_nothing_and_a_search_has_no_arms_beforehand() -> None:
    with pytest.raises(ValueError, match="'example' is a design: its arms are declared"):
        sweep().proposed("a", {})
    with pytest.raises(ValueError, match="'example' is a search: it has no arms but those"):
        searching().arms()


def test_the_seeds_of_a_search_stand_in_its_plan() -> None:
    assert refusal(plan=searching().plan) == (
        "The seeds of a search stand in its plan, Search(seeds=...): leave out Sweep(seeds=...)."
    )


def test_a_space_that_cannot_be_is_refused_with_the_sweep() -> None:
    space = SPACE.varied({"model.routing.iterations": Ints(0, 3)})
    assert refusal(plan=Search(space=space, trials=8), seeds=()) == (
        "The space proposes what cannot be: model.routing.iterations must be an integer from 1 to "
        "100, got 0."
    )


def test_an_own_part_is_proposed_where_it_is_declared() -> None:
    space = SPACE + Space.of(Mine, at="model.routing")
    plan = Search(space=space, trials=8)
    assert "Unknown routing 'mine'" in refusal(plan=plan, seeds=())
    arm = searching(space, parts=(Mine,)).proposed("a", {"model.routing": "mine"})
    assert arm.config.model == CapsNet(routing=Mine())


def test_an_own_part_in_the_base_of_a_search_is_declared() -> None:
    base = TrainingConfig(model=CapsNet(routing=Mine()))
    plan = Search(space=Space.of(TrainingConfig).only("batch_size"), trials=8)
    assert "declare it, Sweep(parts=[Mine], ...)" in refusal(base=base, plan=plan, seeds=())
    assert searching(plan=plan, base=base, parts=(Mine,))


def test_trials_seeds_sampler_and_scheduler_of_a_search_can_be_changed() -> None:
    changed = searching().changed(seeds=(7, 8), trials=5, sampler="random", scheduler="median")
    plan = changed.plan
    assert isinstance(plan, Search)
    assert (plan.seeds, plan.trials, plan.sampler, plan.scheduler) == (
        (7, 8),
        5,
        "random",
        Median(),
    )
    assert changed.seeds == ()
    assert searching().changed(scheduler="asha", seeds=()) == searching()


@pytest.mark.parametrize("option", [{"trials": 5}, {"sampler": "tpe"}, {"scheduler": "asha"}])
def test_what_only_a_search_has_is_refused_for_a_design(option: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"is a design, .* only a search has {next(iter(option))}"):
        sweep().changed(**option)


@pytest.mark.parametrize("path", ["model", "model.routing", "model.routing.iterations"])
def test_a_path_that_the_space_varies_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match=f"'{path}' is varied by the search itself"):
        searching().changed({path: 1})


def test_what_the_space_does_not_vary_reaches_every_proposal() -> None:
    changed = searching().changed({"stopping.epochs": 2})
    arm = changed.proposed("a", {"model.routing": "uniform"})
    assert arm.config.stopping.num_epochs == 2
    with pytest.raises(ValueError, match="Did you mean 'stopping'"):
        searching().changed({"stoping.epochs": 2})


def test_tables_of_one_name_are_refused() -> None:
    tables = (AblationTable(name="x"), CurvesFigure(name="x"))
    assert refusal(tables=tables) == "Two tables are called 'x': give one another name."


def test_the_rows_of_a_published_table_are_arms() -> None:
    row = PublishedRow(labels=("a",), arm="on")
    table = PublishedTable(name="t", title="T", headings=("A",), rows=(row,))
    assert refusal(tables=(table,)).startswith(
        "Unknown arm in the table 't' 'on'. Did you mean 'one'?"
    )
    nowhere = table.model_copy(update={"rows": (PublishedRow(labels=("a",), arm=None),)})
    assert sweep(tables=(nowhere,)).tables == (nowhere,)


def test_tables_of_the_other_kind_of_plan_are_refused() -> None:
    told = refusal(tables=(SensitivityTable(),))
    assert told == "A design has nothing for a table of the kind 'sensitivity': only a search has."
    search = searching()
    fields = {name: getattr(search, name) for name in Sweep.model_fields}
    with pytest.raises(ValueError, match="no baseline for an ablation table"):
        Sweep.model_validate({**fields, "tables": (AblationTable(),)})
    plan = search.plan.model_copy(update={"confirm": None})
    with pytest.raises(ValueError, match="confirms nothing"):
        Sweep.model_validate({**fields, "plan": plan, "tables": (ConfirmationTable(),)})
