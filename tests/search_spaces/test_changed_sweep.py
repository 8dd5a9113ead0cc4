"""A setting may be changed for all arms of a sweep that have it and do not vary it."""

from typing import Any

import pytest

from capsmodel import TrainingConfig
from capsmodel.models import CapsNet
from capsmodel.routing import DynamicRouting, RandomRouting
from search_spaces import Space
from tests.search_spaces.declared import ARMS, searching, sweep


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
    data = [(arm.config.data.kind, arm.config.data.split_seed) for arm in changed.arms()]
    assert data == [("fashion_mnist", 0), ("fashion_mnist", 3)]


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


def test_who_would_set_what_the_arms_vary_is_told_how() -> None:
    with pytest.raises(ValueError, match="capsweep grid SWEEP PATH=LEVEL,LEVEL"):
        sweep().changed({"model.routing.iterations": 5})
