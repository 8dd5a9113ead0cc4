"""A profile is shorthand: it is expanded, may be added to, and leaves no trace."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import pytest
from pydantic import ValidationError

from capsmodel import TrainingConfig
from capsmodel.losses import MarginLoss
from capsmodel.models import CapsNet, ConvNet, MatrixCapsNet
from capsmodel.overrides import paths_set, with_settings
from capsmodel.routing import (
    DynamicRouting,
    EMRouting,
    LeakyRouting,
    UniformRouting,
    VectorRouting,
)
from capsmodel.settings.messages import explain
from capsmodel.settings.parts import Part, Settings, built_in_members
from search_spaces.trial_key import trial_key

CONFIG = TrainingConfig()
OFFICIAL: dict[str, Any] = {
    "primary_coupling": "uniform",
    "initialisation": "truncated",
    "initial_bias": 0.1,
    "routing": DynamicRouting(bias=True),
}


class Custom(VectorRouting):
    """A user's own routing with profiles, never run here."""

    kind: Literal["own"] = "own"
    strength: float = 1.0
    width: int = 3
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "weak": {"strength": 0.1},
        "wide": {"width": 9},
    }

    def route(self, votes: Any, *, generator: Any) -> Any:
        raise NotImplementedError


def refusal(of: type[Settings], value: Mapping[str, Any]) -> str:
    with pytest.raises(ValidationError) as caught:
        of.model_validate(value)
    return explain(caught.value)


def refused(changes: Mapping[str, Any], config: TrainingConfig = CONFIG) -> str:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole sentence is compared
        with_settings(config, changes)
    return str(caught.value)


def profiled() -> list[type[Settings]]:
    families: list[type[Part]] = [part for part in Part.__subclasses__() if "family" in vars(part)]
    members: list[type[Settings]] = [
        part for family in families for part in built_in_members(family) if part.profiles
    ]
    return [TrainingConfig, *members]


# What a profile is.


def test_a_profile_stands_for_its_settings() -> None:
    assert CapsNet.of_profile("official") == CapsNet(**OFFICIAL)
    assert CapsNet.model_validate({"kind": "capsnet", "profile": "official"}) == CapsNet(**OFFICIAL)
    assert CapsNet.of_profile("paper") == CapsNet()


def test_settings_may_stand_beside_it() -> None:
    model = CapsNet.of_profile("official", conv_channels=64, routing=LeakyRouting(iterations=1))
    expected = OFFICIAL | {"routing": LeakyRouting(iterations=1, bias=True)}
    assert model == CapsNet(conv_channels=64, **expected)


def test_no_json_holds_its_name() -> None:
    model = CapsNet.of_profile("official")
    assert "profile" not in json.dumps(model.model_dump(mode="json"))
    assert CapsNet.model_validate_json(model.model_dump_json()) == model


@pytest.mark.parametrize(
    "config",
    [
        with_settings(CONFIG, {"model.profile": "official", "batch_size": 64}),
        with_settings(
            CONFIG, {"model": {"kind": "capsnet", "profile": "official"}, "batch_size": 64}
        ),
        with_settings(CONFIG, {"batch_size": 64} | {f"model.{k}": v for k, v in OFFICIAL.items()}),
        TrainingConfig(model=CapsNet.of_profile("official"), batch_size=64),
        TrainingConfig.model_validate(
            {"model": {"kind": "capsnet", "profile": "official"}, "batch_size": 64}
        ),
    ],
)
def test_however_a_config_is_written_its_trial_key_is_the_same(config: TrainingConfig) -> None:
    settings = CapsNet(**OFFICIAL)
    assert trial_key(config, 0) == trial_key(TrainingConfig(model=settings, batch_size=64), 0)


@pytest.mark.parametrize("owner", profiled(), ids=lambda owner: owner.__name__)
def test_every_profile_fits_its_settings_and_undoes_every_other(owner: type[Settings]) -> None:
    for name in owner.profiles:
        alone = owner.of_profile(name)
        for other in owner.profiles:
            assert with_settings(owner.of_profile(other), {"profile": name}) == alone


def test_a_profile_of_a_part_may_be_given_inside_a_whole_one() -> None:
    value = {"model": {"kind": "capsnet"}, "loss": {"kind": "margin", "profile": "official"}}
    assert TrainingConfig.model_validate(value).loss == MarginLoss(reduction="half_mean")


def test_the_whole_has_profiles_that_set_those_of_its_parts() -> None:
    config = TrainingConfig.of_profile("sabour2017_official", batch_size=7)
    assert (config.model, config.batch_size) == (CapsNet(**OFFICIAL), 7)
    assert config.loss == MarginLoss(reduction="half_mean")
    schedule = config.optimiser.model_dump()["schedule"]
    values = [schedule[name] for name in ("kind", "factor", "every_steps", "floor", "staircase")]
    assert values == ["exponential", 0.96, 2000, 1e-6, False]
    paper = with_settings(config, {"profile": "sabour2017_paper"})
    assert (paper.model, paper.loss) == (CapsNet(), MarginLoss())


# Contradictions.


def test_what_contradicts_a_profile_beside_it_is_refused() -> None:
    sentence = (
        "The profile 'official' of the model 'capsnet' sets routing.bias to true, got false: "
        "leave one of them out."
    )
    routing = {"kind": "dynamic", "bias": False}
    assert refusal(CapsNet, {"profile": "official", "routing": routing}) == sentence
    assert refusal(CapsNet, {"profile": "official", "routing": DynamicRouting(bias=False)}) == (
        sentence
    )
    assert refused({"model.profile": "official", "model.routing.bias": False}) == sentence
    assert refused({"model.routing": routing, "model.profile": "official"}) == sentence


def test_what_a_profile_says_too_may_stand_beside_it() -> None:
    changes = {"model.profile": "official", "model.routing.bias": True}
    assert with_settings(CONFIG, changes).model == CapsNet(**OFFICIAL)


def test_what_was_set_before_is_overwritten() -> None:
    before = with_settings(CONFIG, {"model.initial_bias": 0.5, "model.class_dim": 8})
    after = with_settings(before, {"model.profile": "official"})
    assert after.model == CapsNet(class_dim=8, **OFFICIAL)


def test_a_default_that_a_profile_restores_contradicts_too() -> None:
    assert refused({"model.profile": "paper", "model.initial_bias": 0.5}) == (
        "The profile 'paper' of the model 'capsnet' sets initial_bias to 0.0, got 0.5: leave one "
        "of them out."
    )


def test_two_profiles_that_contradict_each_other_are_refused() -> None:
    assert refused({"profile": "sabour2017_official", "model.profile": "paper"}) == (
        "The profile 'sabour2017_official' of the training sets model.primary_coupling to uniform, "
        "got none: leave one of them out."
    )


def test_an_unknown_profile_gets_the_nearest() -> None:
    assert refused({"model.profile": "officiel"}) == (
        "Unknown profile 'officiel' of the model 'capsnet'. Did you mean 'official'? Known: paper, "
        "official."
    )


def test_a_part_without_profiles_says_so() -> None:
    assert refused({"model.routing.profile": "paper"}) == (
        "There are no profiles of the routing 'dynamic', got 'paper': leave the profile out, or "
        "choose a part that has it."
    )
    assert refusal(UniformRouting, {"profile": "paper"}) == (
        "There are no profiles of the routing 'uniform', got 'paper': leave the profile out, or "
        "choose a part that has it."
    )


def test_a_part_that_has_not_what_a_profile_sets_is_refused() -> None:
    assert refused({"model.profile": "official", "model.routing": "em"}) == (
        "The profile 'official' of the model 'capsnet' sets routing.bias, which the routing 'em' "
        "has not: change one of them."
    )


@pytest.mark.parametrize("profile", ["official", "normalised", "paper"])
def test_a_kind_without_the_profile_that_a_profile_sets_in_it_is_refused(profile: str) -> None:
    matrix = TrainingConfig(model=MatrixCapsNet())
    sentence = (
        f"The profile '{profile}' of the model 'matrix_capsnet' needs the routing 'em', got "
        "'dynamic': leave one of them out."
    )
    for changes in ({"model.routing.kind": "dynamic"}, {"model.routing": "dynamic"}):
        assert refused({"model.profile": profile, **changes}, matrix) == sentence
    routed = with_settings(matrix, {"model.routing": "dynamic"})
    assert refused({"model.profile": profile}, routed) == sentence
    assert refusal(MatrixCapsNet, {"profile": profile, "routing": {"kind": "dynamic"}}) == sentence


def test_a_kind_that_has_the_profile_that_a_profile_sets_in_it_may_stand_beside_it() -> None:
    routed = TrainingConfig(model=MatrixCapsNet(routing=DynamicRouting()))
    changes = {"model.profile": "official", "model.routing": "em"}
    assert with_settings(routed, changes).model == MatrixCapsNet.of_profile("official")


def test_a_default_that_a_part_has_not_need_not_be_restored() -> None:
    changes = {"model.profile": "paper", "model.routing": "em"}
    assert with_settings(CONFIG, changes).model == CapsNet(routing=EMRouting())


def test_a_value_that_is_not_allowed_beside_a_profile_gets_its_place() -> None:
    assert refusal(TrainingConfig, {"profile": "sabour2017_paper", "batch_size": 0}) == (
        "batch_size must be an integer at least 1, got 0."
    )


# Kinds.


def test_a_profile_brings_the_kind_whose_settings_it_sets() -> None:
    cnn = with_settings(CONFIG, {"model": "cnn"})
    changes = {"model.routing.iterations": 1, "profile": "sabour2017_official"}
    expected = OFFICIAL | {"routing": DynamicRouting(iterations=1, bias=True)}
    assert with_settings(cnn, changes).model == CapsNet(**expected)


def test_a_kind_that_contradicts_a_profile_is_refused() -> None:
    assert refused({"profile": "sabour2017_paper", "model": "cnn"}) == (
        "The profile 'sabour2017_paper' of the training sets model to capsnet, got cnn: leave one "
        "of them out."
    )


def test_the_controls_of_a_profile_are_its_network_with_another_kind_of_routing() -> None:
    official = with_settings(CONFIG, {"model.profile": "official", "model.routing.iterations": 1})
    control = with_settings(official, {"model.routing.kind": "uniform"}).model
    assert control == CapsNet(**OFFICIAL | {"routing": UniformRouting(bias=True)})


def test_a_kind_brings_the_settings_that_a_profile_beside_it_sets() -> None:
    uniform = with_settings(CONFIG, {"model.routing": "uniform"})
    changes = {"model.profile": "official", "model.routing": "leaky"}
    assert with_settings(uniform, changes).model == CapsNet(
        **OFFICIAL | {"routing": LeakyRouting(bias=True)}
    )


def test_a_users_own_part_has_profiles_too() -> None:
    changes = {"model.routing": "own", "model.routing.profile": "weak"}
    assert with_settings(CONFIG, changes, [Custom]).model == CapsNet(routing=Custom(strength=0.1))
    wide = with_settings(
        TrainingConfig(model=CapsNet(routing=Custom(strength=0.1))),
        {"model.routing.profile": "wide"},
    )
    assert wide.model == CapsNet(routing=Custom(width=9))


def test_the_paths_that_changes_set_are_told() -> None:
    changes = {"model.profile": "official", "batch_size": 3, "data.kind": "mnist"}
    assert paths_set(with_settings(CONFIG, changes), changes) == {
        "model.profile": (
            "model.primary_coupling",
            "model.initialisation",
            "model.initial_bias",
            "model.routing.bias",
        ),
        "batch_size": ("batch_size",),
        "data.kind": ("data",),
    }


def test_a_kind_alone_keeps_what_was_changed_of_the_settings_that_both_have() -> None:
    config = with_settings(CONFIG, {"data.split_seed": 7, "data.fraction": 0.5})
    data = with_settings(config, {"data.kind": "mnist"}).data.model_dump()
    assert (data["kind"], data["split_seed"], data["fraction"]) == ("mnist", 7, 0.5)
    fresh = with_settings(config, {"data": "mnist"}).data.model_dump()
    assert (fresh["split_seed"], fresh["fraction"]) == (0, 1.0)


def test_a_kind_alone_brings_its_own_defaults() -> None:
    assert with_settings(CONFIG, {"model.kind": "cnn"}).model == ConvNet()


def test_a_kind_alone_drops_what_is_not_valid_in_it() -> None:
    config = with_settings(CONFIG, {"model.dropout": 0.1, "model.routing": "random"})
    assert with_settings(config, {"model.kind": "cnn"}).model == ConvNet(dropout=0.1)
    even = with_settings(CONFIG, {"model.conv_kernel": 8})
    assert with_settings(even, {"model.kind": "cnn"}).model == ConvNet()


def test_a_kind_and_settings_of_it_may_be_given_together() -> None:
    changes = {"model.routing.iterations": 2, "model.routing.kind": "leaky"}
    for ordered in (changes, dict(reversed(changes.items()))):
        routing = with_settings(CONFIG, {"model.routing": "uniform"})
        assert with_settings(routing, ordered).model == CapsNet(routing=LeakyRouting(iterations=2))


def test_an_unknown_kind_is_refused_as_ever() -> None:
    assert refused({"model.routing.kind": "leeky"}).startswith(
        "Unknown routing 'leeky'. Did you mean 'leaky'?"
    )


def test_a_kind_given_twice_is_refused() -> None:
    assert refused({"data": "mnist", "data.kind": "digits"}) == (
        "'data' and 'data.kind' both set the kind: leave one of them out."
    )


def test_the_kind_of_the_whole_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="only a part of the model 'capsnet' has another kind"):
        with_settings(CapsNet(), {"kind": "cnn"})


def test_a_users_own_kind_is_known_where_it_is_given() -> None:
    changed = with_settings(CONFIG, {"model.routing.kind": "own"}, [Custom])
    assert changed.model == CapsNet(routing=Custom())
