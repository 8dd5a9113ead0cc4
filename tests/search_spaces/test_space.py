"""A space says what may vary; whatever it proposes is a valid config."""

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, model_validator

from capsmodel import TrainingConfig
from capsmodel.losses import CrossEntropy, MarginLoss
from capsmodel.losses.margin_schedule import LinearMargins, Margins, MarginSchedule
from capsmodel.models import CapsNet
from capsmodel.optimisers import Adam
from capsmodel.overrides import with_settings
from capsmodel.reconstruction import FullyConnectedDecoder, NoReconstruction
from capsmodel.routing import DynamicRouting, Routing, VectorRouting
from capsmodel.search_range import Choices, Floats, Ints
from search_spaces import Dimension, Space


class Mine(VectorRouting):
    """A user's own routing, never run here."""

    kind: Literal["mine"] = "mine"
    is_symmetric: ClassVar[bool] = True
    strength: Annotated[float, Field(gt=0), Floats(0.5, 2.0)] = 1.0

    def route(self, votes: Any, *, generator: Any) -> Any:
        raise NotImplementedError


class Bounded(Mine):
    """A user's own routing whose two settings bound each other."""

    kind: Literal["bounded"] = "bounded"  # pyright: ignore[reportIncompatibleVariableOverride]
    first: Annotated[float, Floats(0.0, 0.6)] = 0.0
    second: Annotated[float, Floats(0.0, 0.6)] = 0.0

    @model_validator(mode="after")
    def _check_sum(self) -> "Bounded":
        if self.first + self.second > 1:
            raise ValueError("first and second add up to at most 1.")
        return self


class Stepped(MarginSchedule):
    """A user's own margin schedule, never run here."""

    kind: Literal["stepped"] = "stepped"
    steps: Annotated[int, Field(ge=1), Ints(1, 4)] = 2

    def margins(self, final: Margins, progress: float) -> Margins:
        raise NotImplementedError


BASE = TrainingConfig()
# standardised patches do not go with every model
WHOLE = Space.of(TrainingConfig).varied({"augmentation": ("none", "shift")})
THREE = Space.of(CapsNet, at="model").varied({"model.routing": ("dynamic", "uniform", "random")})
ROUTING = THREE.only("model.routing.iterations")
SMALL = ROUTING + Space.of(Adam, at="optimiser").only("optimiser.learning_rate")
COUNTED = THREE.only("model.routing.iterations", "model.primary_dim")

units = st.floats(0, 1)
spaces = st.sampled_from([WHOLE, SMALL, COUNTED])


def names(space: Space) -> list[str]:
    return [one.name for one in space.dimensions]


def dimension(space: Space, name: str) -> Dimension:
    return next(one for one in space.dimensions if one.name == name)


@st.composite
def points(draw: st.DrawFn) -> tuple[Space, dict[str, Any]]:
    space = draw(spaces)
    size = len(space.dimensions)
    return space, space.at(draw(st.lists(units, min_size=size, max_size=size)))


# What is there.


def test_settings_with_a_range_and_choices_of_parts_are_dimensions() -> None:
    assert SMALL.dimensions == (
        Dimension("model.routing", "model.routing", Choices("dynamic", "uniform", "random")),
        Dimension(
            "model.routing[dynamic].iterations",
            "model.routing.iterations",
            Ints(1, 5),
            (("model.routing", "dynamic"),),
        ),
        Dimension(
            "optimiser.learning_rate", "optimiser.learning_rate", Floats(1e-4, 1e-2, log=True)
        ),
    )


def test_a_name_carries_every_kind_that_is_chosen_on_its_path() -> None:
    found = dimension(WHOLE, "loss[margin].schedule[linear].positive_start")
    assert found.path == "loss.schedule.positive_start"
    assert found.conditions == (("loss", "margin"), ("loss[margin].schedule", "linear"))


def test_names_and_conditions_tell_the_same() -> None:
    for one in WHOLE.dimensions:
        assert re.sub(r"\[\w+\]", "", one.name) == one.path
        brackets = [(m.start(), m.group(1)) for m in re.finditer(r"\[(\w+)\]", one.name)]
        assert one.conditions == tuple((one.name[:start], kind) for start, kind in brackets)


def test_names_are_all_different_and_parents_come_first() -> None:
    found = names(WHOLE)
    assert len(set(found)) == len(found)
    for index, one in enumerate(WHOLE.dimensions):
        assert {name for name, _ in one.conditions} <= set(found[:index])


def test_a_field_with_one_kind_of_part_is_no_choice() -> None:
    assert "optimiser" in names(WHOLE)
    assert "optimiser" not in names(WHOLE.varied({"optimiser": ("adam",)}))


def test_a_family_has_no_space() -> None:
    with pytest.raises(ValueError, match="Routing has no kind and so no settings"):
        Space.of(Routing, at="model.routing")


# Narrowing.


def test_only_keeps_the_choices_that_bring_a_setting_along() -> None:
    space = THREE.only("model.routing.iterations")
    assert names(space) == ["model.routing", "model.routing[dynamic].iterations"]


def test_a_parts_path_takes_all_below_it() -> None:
    space = WHOLE.varied({"optimiser": ("adam",)})
    assert names(space.only("optimiser.schedule")) == [
        name for name in names(space) if name.startswith("optimiser.schedule")
    ]
    left = names(WHOLE.without("loss", "model", "optimiser", "stopping"))
    assert left == ["data", "augmentation", "batch_size"]


def test_a_path_that_only_begins_alike_is_another() -> None:
    assert "model.primary_types" in names(
        Space.of(CapsNet, at="model").without("model.primary_dim")
    )


def test_a_path_may_name_kinds() -> None:
    kept = WHOLE.without("loss[spread].schedule", "loss[margin].schedule[linear]")
    assert "loss[margin].schedule[sigmoid].midpoint" in names(kept)
    assert "loss[margin].schedule" in names(kept)
    assert not [name for name in names(kept) if "spread].schedule" in name or "linear]" in name]


def test_a_narrowed_choice_drops_the_settings_of_other_kinds() -> None:
    space = WHOLE.varied({"loss": ("spread", "cross_entropy")})
    assert dimension(space, "loss").range == Choices("spread", "cross_entropy")
    assert not [name for name in names(space) if "[margin]" in name]


def test_a_choice_of_one_kind_is_no_dimension_and_its_settings_have_no_condition() -> None:
    space = ROUTING.varied({"model.routing": ("dynamic",)})
    assert space.dimensions == (
        Dimension("model.routing.iterations", "model.routing.iterations", Ints(1, 5)),
    )
    assert not space.is_conditional
    space.check(BASE)


def test_widening_a_choice_again_brings_its_settings_back() -> None:
    narrow = ROUTING.varied({"model.routing": ("uniform", "random")})
    assert names(narrow) == ["model.routing"]
    assert names(narrow.varied({"model.routing": ("dynamic", "uniform")})) == names(ROUTING)


def test_a_range_can_be_narrowed_widened_and_given_anew() -> None:
    values = {
        "model.routing.iterations": Ints(1, 9),
        "model.class_dim": Choices(4, 5),
        "model.conv_kernel": Ints(3, 9, step=2),
    }
    space = Space.of(CapsNet, at="model").varied(values)
    for one in space.dimensions:
        assert one.range == values.get(one.path, one.range)
    assert set(values) <= {one.path for one in space.dimensions}


def test_a_setting_that_several_kinds_have_is_varied_in_each() -> None:
    space = WHOLE.only("loss").varied({"loss.schedule.start": Floats(0.2, 0.3)})
    found = [one for one in space.dimensions if one.path == "loss.schedule.start"]
    assert [one.conditions[-1][1] for one in found] == ["linear", "sigmoid"]
    assert {one.range for one in found} == {Floats(0.2, 0.3)}


def test_one_of_several_kinds_may_be_meant() -> None:
    adam = WHOLE.varied({"optimiser": ("adam",)})
    space = adam.varied({"optimiser.schedule[cosine].floor": Floats(0.0, 0.1)})
    assert dimension(space, "optimiser.schedule[cosine].floor").range == Floats(0.0, 0.1)
    assert dimension(space, "optimiser.schedule[exponential].floor").range != Floats(0.0, 0.1)


def test_a_setting_below_a_choice_that_was_left_out_has_no_condition() -> None:
    space = SMALL.without("model.routing").varied({"model.routing.iterations": Ints(2, 4)})
    assert dimension(space, "model.routing.iterations").conditions == ()
    space.check(BASE)
    with pytest.raises(ValueError, match="'uniform' has no setting 'iterations'"):
        space.check(with_settings(BASE, {"model.routing": "uniform"}))


def test_choices_over_what_was_free_make_it_conditional() -> None:
    free = Space.of(DynamicRouting, at="model.routing").only("model.routing.iterations")
    assert names(free) == ["model.routing.iterations"]
    chosen = free + Space.of(CapsNet, at="model").only("model.primary_dim")
    assert not chosen.is_conditional
    given = chosen.varied({"model.routing": ("dynamic", "uniform")})
    assert names(given) == [
        "model.routing",
        "model.routing[dynamic].iterations",
        "model.primary_dim",
    ]


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"model.routng": ("dynamic",)}, "Unknown setting 'model.routng'. Did you mean 'model.rou"),
        ({"model.routing.iteration": Ints(1, 2)}, "Did you mean 'model.routing.iterations'?"),
        ({"batch_size.x": Ints(1, 2)}, "Unknown setting 'batch_size.x'. Did you mean 'batch_size'"),
        ({"model.routing": Ints(1, 2)}, "'model.routing' is a part: give some of its kinds"),
        ({"model.routing": Choices(1, 2)}, "'model.routing' is a part"),
        ({"model.routing": ()}, "must be all different, at least one, got ()"),
        ({"model.routing": ("random", "random")}, "must be all different, at least one"),
        ({"batch_size": ("a", "b")}, "'batch_size' is a value and no part: give Ints, Floats or"),
        (
            {"model.routing": ("dynamic", "uniform"), "model.routing.low": Floats(0.1, 0.2)},
            "'model.routing.low' has no effect: the space does not choose a kind that has it.",
        ),
    ],
)
def test_values_that_do_not_suit_are_refused(values: Mapping[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        WHOLE.varied(values)


@pytest.mark.parametrize("method", ["only", "without"])
def test_a_path_that_the_space_does_not_have_is_refused_with_the_nearest(method: str) -> None:
    with pytest.raises(ValueError, match=r"of the space 'optimser'\. Did you mean 'optimiser"):
        getattr(SMALL, method)("optimser")


def test_both_spaces_may_not_vary_one_setting() -> None:
    with pytest.raises(ValueError, match=r"Both spaces vary 'model\.routing'"):
        SMALL + ROUTING.only("model.routing")


# A user's own parts.


def test_an_own_part_joins_the_choice_where_it_stands() -> None:
    space = SMALL + Space.of(Mine, at="model.routing")
    assert dimension(space, "model.routing").range == Choices(
        "dynamic", "uniform", "random", "mine"
    )
    assert dimension(space, "model.routing[mine].strength").conditions == (
        ("model.routing", "mine"),
    )
    assert (Space.of(Mine, at="model.routing") + SMALL).is_conditional
    space.check(BASE, (Mine,))


def test_an_own_part_that_is_left_out_again_does_not_come_back() -> None:
    joined = ROUTING + Space.of(Mine, at="model.routing")
    narrowed = joined.varied({"model.routing": ("dynamic", "uniform")})
    more = narrowed + Space.of(Adam, at="optimiser").only("optimiser.learning_rate")
    assert dimension(more, "model.routing").range == Choices("dynamic", "uniform")


def test_an_own_part_below_a_chosen_part_gets_the_conditions_of_both() -> None:
    space = WHOLE.only("loss.schedule").without("loss[spread].schedule")
    found = dimension(
        space + Space.of(Stepped, at="loss.schedule"), "loss[margin].schedule[stepped].steps"
    )
    assert found.conditions == (("loss", "margin"), ("loss[margin].schedule", "stepped"))


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


# What is checked against a base.


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"model.routing.iterations": Ints(0, 3)}, "an integer from 1 to 100, got 0"),
        ({"model.routing.iterations": Ints(1, 101)}, "an integer from 1 to 100, got 101"),
        ({"optimiser.learning_rate": Floats(0.0, 1.0)}, "learning_rate must be"),
        ({"model.class_dim": Choices(8, -1)}, "class_dim must be an integer at least 1, got -1"),
        ({"loss.positive_margin": Floats(0.2, 0.9)}, "negative_margin must be below"),
        ({"model.routing": ("dynamic", "dynamc")}, "Unknown routing 'dynamc'. Did you mean 'dyn"),
    ],
)
def test_a_space_that_may_propose_what_cannot_be_is_refused(
    values: Mapping[str, Any], problem: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)) as caught:
        WHOLE.varied(values).check(BASE)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("The space proposes what cannot be: ")


def test_two_ends_that_do_not_go_together_are_refused() -> None:
    base = with_settings(BASE, {"model.routing": Bounded()})
    space = Space.of(Bounded, at="model.routing")
    with pytest.raises(ValueError, match="first and second add up to at most 1"):
        space.check(base, (Bounded,))
    space.varied({"model.routing.first": Floats(0.0, 0.4)}).check(base, (Bounded,))


def test_an_empty_space_is_refused() -> None:
    for space in (Space(), Space.of(NoReconstruction, at="model.reconstruction")):
        with pytest.raises(ValueError, match="The space is empty"):
            space.check(BASE)


def test_the_base_has_the_kind_that_a_choice_was_narrowed_to() -> None:
    space = SMALL.varied({"model.routing": ("uniform",)})
    space.check(with_settings(BASE, {"model.routing": "uniform"}))
    with pytest.raises(ValueError, match="of the kind 'uniform', but the base has 'dynamic'"):
        space.check(BASE)


def test_a_kind_that_only_a_chosen_part_must_have_is_looked_for_in_its_proposals() -> None:
    space = WHOLE.only("loss").varied({"loss[margin].schedule": ("linear",)})
    space.check(TrainingConfig(loss=MarginLoss(schedule=LinearMargins())))
    with pytest.raises(ValueError, match="'linear', but the base has 'constant'"):
        space.check(TrainingConfig(loss=CrossEntropy()))


# Points.


@given(points())
def test_every_proposal_is_a_valid_config_with_the_values_proposed(
    point: tuple[Space, dict[str, Any]],
) -> None:
    space, params = point
    config = space.config(BASE, params)
    for path, value in space.changes(params).items():
        found: Any = config
        for field in path.split("."):
            found = getattr(found, field)
        assert getattr(found, "kind", found) == value


@given(points())
def test_a_dimension_is_there_exactly_where_its_conditions_hold(
    point: tuple[Space, dict[str, Any]],
) -> None:
    space, params = point
    for one in space.dimensions:
        assert (one.name in params) == all(params.get(n) == kind for n, kind in one.conditions)


@given(st.sampled_from(WHOLE.dimensions), units, units)
def test_numbers_rise_with_their_coordinate_and_stay_between_their_ends(
    one: Dimension, first: float, second: float
) -> None:
    low, high = (one.at(unit) for unit in sorted((first, second)))
    if isinstance(one.range, Choices):
        assert {low, high} <= set(one.range.values)
    else:
        assert one.range.low <= low <= high <= one.range.high  # pyright: ignore[reportOperatorIssue]
        assert (one.at(0.0), one.at(1.0)) == one.ends()


@given(units)
def test_a_range_with_log_is_spread_evenly_in_the_logarithm(unit: float) -> None:
    one = Dimension("a", "a", Floats(1e-4, 1e-2, log=True))
    assert math.log10(float(one.at(unit))) == pytest.approx(-4 + 2 * unit)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (Ints(1, 9, step=4), {1: 1 / 3, 5: 1 / 3, 9: 1 / 3}),
        (Choices("a", "b"), {"a": 1 / 2, "b": 1 / 2}),
        (Ints(1, 2, log=True), {1: math.log(3) / math.log(5), 2: 1 - math.log(3) / math.log(5)}),
    ],
)
def test_values_that_can_be_counted_have_their_share_of_the_coordinates(
    values: Any, expected: dict[Any, float]
) -> None:
    one = Dimension("a", "a", values)
    drawn = [one.at((number + 0.5) / 3000) for number in range(3000)]
    shares = {value: drawn.count(value) / len(drawn) for value in dict.fromkeys(drawn)}
    assert shares == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("unit", [[], [0.5] * 4, [0.5, 0.5, 1.5], [-0.1, 0.5, 0.5]])
def test_a_point_of_the_unit_cube_has_one_coordinate_a_dimension(unit: list[float]) -> None:
    with pytest.raises(ValueError, match="has 3 coordinates from 0 to 1"):
        SMALL.at(unit)


def test_the_grid_has_each_point_once() -> None:
    found = list(COUNTED.grid())
    assert len(found) == COUNTED.num_points == (5 + 2) * 3
    assert len({tuple(sorted(point.items())) for point in found}) == len(found)
    for point in found:
        COUNTED.config(BASE, point)


@given(st.lists(units, min_size=3, max_size=3))
def test_the_grid_has_every_point_that_can_be_proposed(unit: list[float]) -> None:
    assert COUNTED.at(unit) in list(COUNTED.grid())


def test_an_endless_space_has_no_grid() -> None:
    assert SMALL.num_points is None
    with pytest.raises(ValueError, match=r"'optimiser\.learning_rate' has no end of values"):
        SMALL.grid()


def test_names_lead_to_paths_a_part_before_what_is_below_it() -> None:
    params = {"model.routing": "dynamic", "model.routing[dynamic].iterations": 2}
    changes = ROUTING.changes(dict(reversed(params.items())))
    assert list(changes.items()) == [("model.routing", "dynamic"), ("model.routing.iterations", 2)]


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({"model.routng": "dynamic"}, "Unknown dimension 'model.routng'. Did you mean 'model.rout"),
        ({"model.routing": "dynamic"}, "lacks 'model.routing[dynamic].iterations'"),
        (
            {"model.routing": "uniform", "model.routing[dynamic].iterations": 2},
            "has no place for 'model.routing[dynamic].iterations'",
        ),
        ({}, "lacks 'model.routing'"),
    ],
)
def test_what_is_no_point_of_the_space_is_refused(params: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        ROUTING.changes(params)


# What a proposal keeps of its base.


def test_a_part_of_the_kind_that_the_base_has_keeps_its_settings() -> None:
    base = TrainingConfig(model=CapsNet(reconstruction=FullyConnectedDecoder(hidden=(7,))))
    space = Space.of(CapsNet, at="model").only("model.reconstruction")
    name = "model.reconstruction"
    drawn = {name: "fully_connected", f"{name}[fully_connected].weight": 1e-3}
    kept = FullyConnectedDecoder(hidden=(7,), weight=1e-3)
    assert space.config(base, drawn).model == CapsNet(reconstruction=kept)
    without = space.config(base, {name: "none"})
    assert space.config(without, drawn).model == CapsNet(
        reconstruction=FullyConnectedDecoder(weight=1e-3)
    )


def test_a_part_inside_a_part_that_is_replaced_is_not_taken_for_the_bases() -> None:
    base = with_settings(BASE, {"loss": "spread", "loss.schedule.start": 0.35})
    space = WHOLE.only("loss.schedule").without("loss.schedule.positive_start")
    space = space.without("loss.schedule.negative_start", "loss.schedule.down_weight_start")
    config = space.config(base, {"loss": "margin", "loss[margin].schedule": "linear"})
    assert config.loss == MarginLoss(schedule=LinearMargins())


def test_spaces_are_values() -> None:
    again = THREE.only("model.routing.iterations")
    assert again == ROUTING != SMALL
    assert again.varied({"model.routing": ("dynamic", "uniform")}) != again == ROUTING
