"""A space may propose parts of the user's own, and keeps a given part's settings."""

import pytest

from capsmodel import TrainingConfig
from capsmodel.losses import MarginLoss
from capsmodel.losses.margin import LinearMargins
from capsmodel.models import CapsNet
from capsmodel.optimisers import Adam
from capsmodel.overrides import with_settings
from capsmodel.reconstruction import FullyConnectedDecoder
from capsmodel.search_range import Choices
from search_spaces import Space
from tests.search_spaces.spaces import (
    BASE,
    ROUTING,
    SMALL,
    WHOLE,
    Mine,
    Stepped,
    dimension_named,
    names,
)

# A user's own parts.


def test_an_own_part_joins_the_choice_where_it_stands() -> None:
    space = SMALL + Space.of(Mine, at="model.routing")
    assert dimension_named(space, "model.routing").range == Choices(
        "dynamic", "uniform", "random", "mine"
    )
    assert dimension_named(space, "model.routing[mine].strength").conditions == (
        ("model.routing", "mine"),
    )
    assert (Space.of(Mine, at="model.routing") + SMALL).is_conditional
    space.check(BASE, (Mine,))


def test_an_own_part_that_is_left_out_again_does_not_come_back() -> None:
    joined = ROUTING + Space.of(Mine, at="model.routing")
    narrowed = joined.varied({"model.routing": ("dynamic", "uniform")})
    more = narrowed + Space.of(Adam, at="optimiser").only("optimiser.learning_rate")
    assert dimension_named(more, "model.routing").range == Choices("dynamic", "uniform")


def test_an_own_part_below_a_chosen_part_gets_the_conditions_of_both() -> None:
    space = WHOLE.only("loss.schedule").without("loss[spread].schedule")
    searched = dimension_named(
        space + Space.of(Stepped, at="loss.schedule"), "loss[margin].schedule[stepped].steps"
    )
    assert searched.conditions == (("loss", "margin"), ("loss[margin].schedule", "stepped"))


def test_an_own_part_of_an_object_is_among_the_kinds() -> None:
    space = Space.of(CapsNet(routing=Mine()), at="model")
    assert "model.routing[mine].strength" in names(space)
    alone = Space.of(Mine(), at="model.routing")
    alone.check(with_settings(BASE, {"model.routing": Mine()}), (Mine,))


def test_an_own_kind_that_is_not_declared_is_refused() -> None:
    space = ROUTING.varied({"model.routing": ("dynamic", "mine")})
    with pytest.raises(ValueError, match="proposes what cannot be: Unknown routing 'mine'"):
        space.check(BASE)
    space.check(BASE, (Mine,))


# What a proposal keeps of its base.


def test_a_part_of_the_kind_that_the_base_has_keeps_its_settings() -> None:
    base = TrainingConfig(model=CapsNet(reconstruction=FullyConnectedDecoder(hidden=(7,))))
    space = Space.of(CapsNet, at="model").only("model.reconstruction.weight")
    name = "model.reconstruction"
    drawn = {name: "fully_connected", f"{name}[fully_connected].weight": 1e-3}
    decoder = FullyConnectedDecoder(hidden=(7,), weight=1e-3)
    assert space.config(base, drawn).model == CapsNet(reconstruction=decoder)
    without = space.config(base, {name: "none"})
    assert space.config(without, drawn).model == CapsNet(
        reconstruction=FullyConnectedDecoder(weight=1e-3)
    )


def test_a_part_inside_a_part_that_is_replaced_is_not_taken_for_the_bases() -> None:
    base = with_settings(BASE, {"loss": "spread", "loss.schedule.start": 0.35})
    space = WHOLE.only("loss.schedule")
    config = space.config(base, {"loss": "margin", "loss[margin].schedule": "linear"})
    assert config.loss == MarginLoss(schedule=LinearMargins())
