"""A space says what may vary, and refuses what cannot be."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from capsmodel import TrainingConfig
from capsmodel.losses import CrossEntropy, MarginLoss
from capsmodel.losses.margin import LinearMargins
from capsmodel.models import CapsNet
from capsmodel.overrides import with_settings
from capsmodel.reconstruction import NoReconstruction
from capsmodel.routing import DynamicRouting, Routing
from capsmodel.search_range import Choices, Floats, Ints
from search_spaces import Dimension, Space
from tests.search_spaces.spaces import (
    BASE,
    ROUTING,
    SMALL,
    THREE,
    WHOLE,
    Bounded,
    dimension_named,
    names,
)

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
    selected = dimension_named(WHOLE, "loss[margin].schedule[linear].positive_start")
    assert selected.path == "loss.schedule.positive_start"
    assert selected.conditions == (("loss", "margin"), ("loss[margin].schedule", "linear"))


def test_names_and_conditions_tell_the_same() -> None:
    for dimension in WHOLE.dimensions:
        assert re.sub(r"\[\w+\]", "", dimension.name) == dimension.path
        brackets = [(m.start(), m.group(1)) for m in re.finditer(r"\[(\w+)\]", dimension.name)]
        assert dimension.conditions == tuple(
            (dimension.name[:start], kind) for start, kind in brackets
        )


def test_names_are_all_different_and_parents_come_first() -> None:
    selected = names(WHOLE)
    assert len(set(selected)) == len(selected)
    for index, dimension in enumerate(WHOLE.dimensions):
        assert {name for name, _ in dimension.conditions} <= set(selected[:index])


def test_a_part_that_came_later_is_varied_where_it_is_named() -> None:
    assert "model.routing[self_attention].bias" not in names(WHOLE)
    assert "self_attention" not in dimension_named(WHOLE, "model[capsnet].routing").values()
    assert dimension_named(WHOLE, "model").values() == ("capsnet", "matrix_capsnet", "cnn")
    space = Space.of(CapsNet, at="model").varied({"model.routing": ("dynamic", "self_attention")})
    assert {"model.routing[self_attention].bias", "model.routing[dynamic].bias"} < set(names(space))


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


def test_a_parts_path_leaves_out_all_below_it() -> None:
    remaining = names(WHOLE.without("loss", "model", "optimiser", "stopping"))
    assert remaining == ["data", "augmentation", "batch_size"]


def test_only_a_part_is_the_choice_of_its_kind_alone() -> None:
    space = Space.of(CapsNet, at="model")
    assert names(space.only("model.routing")) == ["model.routing"]
    assert names(WHOLE.only("loss[margin].schedule")) == ["loss", "loss[margin].schedule"]


def test_only_a_part_of_one_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="'model' is always 'capsnet' in this space: give sett"):
        WHOLE.varied({"model": ("capsnet",)}).only("model")
    below = "'model' does not vary itself, only settings below it: give those, such as 'model.conv"
    with pytest.raises(ValueError, match=below):
        Space.of(CapsNet, at="model").only("model")


# Listing.


def test_settings_are_listed_with_their_values() -> None:
    space = Space(
        {
            "model.routing.iterations": Ints(1, 8),
            "loss": ("margin", "spread"),
            "loss[spread].schedule": ("linear", "constant"),
            "loss.positive_margin": Floats(0.8, 0.95),
        }
    )
    assert space.dimensions == (
        Dimension("model.routing.iterations", "model.routing.iterations", Ints(1, 8)),
        Dimension("loss", "loss", Choices("margin", "spread")),
        Dimension(
            "loss[spread].schedule",
            "loss.schedule",
            Choices("linear", "constant"),
            (("loss", "spread"),),
        ),
        Dimension(
            "loss[margin].positive_margin",
            "loss.positive_margin",
            Floats(0.8, 0.95),
            (("loss", "margin"),),
        ),
    )
    space.check(BASE)
    drawn = space.config(
        BASE,
        {"model.routing.iterations": 7, "loss": "margin", "loss[margin].positive_margin": 0.85},
    )
    assert drawn == with_settings(
        BASE, {"model.routing.iterations": 7, "loss.positive_margin": 0.85}
    )


def test_listed_settings_can_be_given_other_values_and_joined() -> None:
    space = Space({"model.routing": ("dynamic", "uniform"), "model.routing.iterations": Ints(1, 8)})
    narrowed = space.varied({"model.routing.iterations": Ints(1, 3)})
    assert dimension_named(narrowed, "model.routing[dynamic].iterations").range == Ints(1, 3)
    joined = narrowed + Space.of(Bounded, at="model.routing")
    assert dimension_named(joined, "model.routing").range == Choices(
        "dynamic", "uniform", "bounded"
    )
    assert "model.routing[bounded].first" in names(joined)
    listed = Space({"model.routing.first": Floats(0.1, 0.2)}, parts=[Bounded])
    listed.check(with_settings(BASE, {"model.routing": Bounded()}), (Bounded,))


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (
            {"model.rooting.iterations": Ints(1, 5)},
            "Unknown setting 'model.rooting'. Did you mean 'model.routing'?",
        ),
        ({"batch_size": ("a",)}, "'batch_size' is a value and no part: give Ints, Floats or"),
        ({"model.routing": Ints(1, 2)}, "'model.routing' is a part: give some of its kinds,"),
        (
            {"loss": ("cross_entropy",), "loss.positive_margin": Floats(0.8, 0.95)},
            "'loss.positive_margin' has no effect: the space chooses no kind that has it.",
        ),
    ],
)
def test_listed_settings_that_cannot_be_are_refused(
    values: Mapping[str, Any], problem: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        Space(values)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "model..routing",
        ".model.routing",
        "model.routing.",
        "model.routing[dynamic]iterations",
        "model.routing[].iterations",
        "model.routing[dynamic.iterations",
        "model.routing]",
    ],
)
def test_what_is_not_written_as_a_path_is_refused(path: str) -> None:
    problem = f"'{path}' is not a path: give fields with one point between two"
    for use in (
        lambda: Space({path: Ints(1, 8)}),
        lambda: WHOLE.varied({path: Ints(1, 8)}),
        lambda: WHOLE.only(path),
        lambda: WHOLE.without(path),
    ):
        with pytest.raises(ValueError, match=re.escape(problem)):
            use()


def test_a_path_that_only_begins_alike_is_another() -> None:
    assert "model.primary_types" in names(
        Space.of(CapsNet, at="model").without("model.primary_dim")
    )


def test_a_path_may_name_kinds() -> None:
    narrowed = WHOLE.without("loss[spread].schedule", "loss[margin].schedule[linear]")
    assert "loss[margin].schedule[sigmoid].midpoint" in names(narrowed)
    assert "loss[margin].schedule" in names(narrowed)
    assert not [name for name in names(narrowed) if "spread].schedule" in name or "linear]" in name]


def test_a_narrowed_choice_drops_the_settings_of_other_kinds() -> None:
    space = WHOLE.varied({"loss": ("spread", "cross_entropy")})
    assert dimension_named(space, "loss").range == Choices("spread", "cross_entropy")
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
    for dimension in space.dimensions:
        assert dimension.range == values.get(dimension.path, dimension.range)
    assert set(values) <= {dimension.path for dimension in space.dimensions}


def test_a_setting_that_several_kinds_have_is_varied_in_each() -> None:
    space = WHOLE.only("loss.schedule").varied({"loss.schedule.start": Floats(0.2, 0.3)})
    selected = [
        dimension for dimension in space.dimensions if dimension.path == "loss.schedule.start"
    ]
    assert [dimension.conditions[-1][1] for dimension in selected] == ["linear", "sigmoid"]
    assert {dimension.range for dimension in selected} == {Floats(0.2, 0.3)}


def test_one_of_several_kinds_may_be_meant() -> None:
    adam = WHOLE.varied({"optimiser": ("adam",)})
    space = adam.varied({"optimiser.schedule[cosine].floor": Floats(0.0, 0.1)})
    assert dimension_named(space, "optimiser.schedule[cosine].floor").range == Floats(0.0, 0.1)
    assert dimension_named(space, "optimiser.schedule[exponential].floor").range != Floats(0.0, 0.1)


def test_a_setting_below_a_choice_that_was_left_out_has_no_condition() -> None:
    space = SMALL.without("model.routing").varied({"model.routing.iterations": Ints(2, 4)})
    assert dimension_named(space, "model.routing.iterations").conditions == ()
    space.check(BASE)
    with pytest.raises(ValueError, match="'uniform' has no setting 'iterations'"):
        space.check(with_settings(BASE, {"model.routing": "uniform"}))


def test_choices_over_what_was_free_make_it_conditional() -> None:
    free = Space.of(DynamicRouting, at="model.routing").only("model.routing.iterations")
    assert names(free) == ["model.routing.iterations"]
    chosen = free + Space.of(CapsNet, at="model").only("model.primary_dim")
    assert not chosen.is_conditional
    varied = chosen.varied({"model.routing": ("dynamic", "uniform")})
    assert names(varied) == [
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
    with pytest.raises(ValueError, match=r"'optimser' of the space\. Did you mean 'optimiser"):
        getattr(SMALL, method)("optimser")


def test_both_spaces_may_not_vary_one_setting() -> None:
    with pytest.raises(ValueError, match=r"Both spaces vary 'model\.routing'"):
        SMALL + ROUTING.only("model.routing")


# What is checked against a base.


# Of the whole space, what the refused values need.
TOGETHER = ("model.routing", "loss.negative_margin")


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
        WHOLE.varied(values).only(*values, *TOGETHER).check(BASE)
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
    space = WHOLE.only("loss.schedule").varied({"loss[margin].schedule": ("linear",)})
    space.check(TrainingConfig(loss=MarginLoss(schedule=LinearMargins())))
    with pytest.raises(ValueError, match="'linear', but the base has 'constant'"):
        space.check(TrainingConfig(loss=CrossEntropy()))


def test_spaces_are_values() -> None:
    smaller = THREE.only("model.routing.iterations")
    assert smaller == ROUTING != SMALL
    assert smaller.varied({"model.routing": ("dynamic", "uniform")}) != smaller == ROUTING
