"""Settings are trees of parts: taken as objects, read from JSON by their kind."""

import ast
import inspect
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError

from capsmodel import TrainingConfig, config
from capsmodel.augmentation import NoAugmentation, Shift
from capsmodel.data import Mnist
from capsmodel.losses import CrossEntropy, MarginLoss, SpreadLoss
from capsmodel.models import CapsNet, MatrixCapsNet
from capsmodel.optimisers import SGD, Adam
from capsmodel.overrides import family_of
from capsmodel.reconstruction import FullyConnectedDecoder, NoReconstruction
from capsmodel.routing import (
    ROUTINGS,
    DynamicRouting,
    RandomRouting,
    Routing,
    UniformRouting,
    VectorRouting,
)
from capsmodel.settings.parts import OneOf, Part, Settings, family_class, is_built_in, kind_of


class Custom(VectorRouting):
    """A user's own routing, never run here."""

    kind: Literal["own"] = "own"
    is_symmetric: ClassVar[bool] = True
    strength: Annotated[float, Field(gt=0)] = 1.0

    def route(self, votes: Any, *, generator: Any) -> Any:
        raise NotImplementedError


class Impostor(Custom):
    """Takes the name of a built-in member."""

    kind: Literal["dynamic"] = "dynamic"  # pyright: ignore[reportIncompatibleVariableOverride]


sizes = st.integers(1, 10**9)
positive = st.floats(1e-300, 1e300)
routings = st.one_of(
    st.builds(DynamicRouting, iterations=st.integers(1, 100)),
    st.just(UniformRouting()),
    st.builds(RandomRouting, low=st.floats(1e-9, 1), high=st.floats(1.5, 1e9)),
    st.builds(Custom, strength=positive),
)
reconstructions = st.one_of(
    st.just(NoReconstruction()),
    st.builds(
        FullyConnectedDecoder,
        hidden=st.lists(sizes, min_size=1, max_size=3).map(tuple),
        weight=positive,
    ),
)
configs = st.builds(
    TrainingConfig,
    augmentation=st.one_of(st.just(NoAugmentation()), st.just(Shift(pixels=1))),
    model=st.builds(CapsNet, conv_channels=sizes, routing=routings, reconstruction=reconstructions),
    loss=st.one_of(st.builds(CrossEntropy, scale=positive), st.just(MarginLoss())),
    optimiser=st.builds(Adam, learning_rate=positive),
    batch_size=sizes,
)


@given(configs)
def test_every_config_comes_back_equal_from_json(config: TrainingConfig) -> None:
    text = config.model_dump_json()
    assert TrainingConfig.model_validate_json(text, context={"parts": (Custom,)}) == config


@given(configs)
def test_every_config_comes_back_equal_from_plain_values(config: TrainingConfig) -> None:
    plain = config.model_dump(mode="json")
    assert TrainingConfig.model_validate(plain, context={"parts": (Custom,)}) == config


def test_a_users_own_kind_is_unknown_without_its_class() -> None:
    plain = CapsNet(routing=Custom()).model_dump(mode="json")
    with pytest.raises(ValidationError, match="own"):
        CapsNet.model_validate(plain)


def test_a_users_own_object_is_taken_as_it_is() -> None:
    routing = Custom(strength=2.0)
    assert CapsNet(routing=routing).routing is routing


def test_a_kind_alone_is_that_part_with_its_defaults() -> None:
    by_kinds = TrainingConfig(data="mnist", model="matrix_capsnet", loss="spread", optimiser="sgd")
    by_objects = TrainingConfig(
        data=Mnist(), model=MatrixCapsNet(), loss=SpreadLoss(), optimiser=SGD()
    )
    assert by_kinds == by_objects
    assert by_kinds.model_dump_json() == by_objects.model_dump_json()


def test_a_kind_alone_may_be_a_users_own() -> None:
    read = CapsNet.model_validate({"routing": "own"}, context={"parts": (Custom,)})
    assert read.routing == Custom()


def test_every_argument_of_a_training_is_known_to_type_checkers() -> None:
    tree = ast.parse(inspect.getsource(config))  # as it is there for type checkers alone
    (declared,) = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    )
    taken = {argument.arg: argument.annotation for argument in declared.args.kwonlyargs}
    assert list(taken) == list(TrainingConfig.model_fields)
    for name, field in TrainingConfig.model_fields.items():
        part, annotation = family_of(TrainingConfig, name), taken[name]
        assert annotation is not None
        written = eval(ast.unparse(annotation), vars(config))
        if get_origin(field.annotation) is tuple:  # of which lists are taken too
            assert get_origin(written) is Sequence, name
        else:
            assert written == (field.annotation | str if part else field.annotation), name


def test_a_built_in_kind_is_never_overridden() -> None:
    plain = {"routing": {"kind": "dynamic"}}
    read = CapsNet.model_validate(plain, context={"parts": (Impostor,)})
    assert type(read.routing) is DynamicRouting


def test_settings_of_a_users_own_part_are_held_against_their_ranges() -> None:
    plain = {"routing": {"kind": "own", "strength": -1}}
    with pytest.raises(ValidationError, match="greater than 0"):
        CapsNet.model_validate(plain, context={"parts": (Custom,)})


def test_a_part_of_another_family_is_refused() -> None:
    with pytest.raises(ValueError, match="routing"):
        CapsNet(routing=MarginLoss())  # pyright: ignore[reportArgumentType]


def test_parts_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        DynamicRouting().iterations = 2  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_numbers_that_are_not_finite_are_refused(number: float) -> None:
    with pytest.raises(ValueError, match="scale must be a number"):
        CrossEntropy(scale=number)


def test_a_family_of_one_member_is_read_by_the_same_form() -> None:
    class Only(Settings):
        routing: Annotated[Routing, OneOf((DynamicRouting,))] = DynamicRouting()

    read = Only.model_validate({"routing": {"kind": "dynamic", "iterations": 2}})
    assert read.routing == DynamicRouting(iterations=2)
    with pytest.raises(ValidationError):
        Only.model_validate({"routing": {"kind": "uniform"}})


def test_the_family_of_a_member_is_the_class_that_names_it() -> None:
    assert {family_class(member) for member in (*ROUTINGS, Custom, Impostor)} == {Routing}


def test_a_class_of_another_package_is_not_built_in() -> None:
    assert [is_built_in(part) for part in (DynamicRouting, Custom)] == [True, False]


def test_a_kind_is_read_from_the_class() -> None:
    parts: list[type[Part]] = [DynamicRouting, Custom]
    assert [kind_of(part) for part in parts] == ["dynamic", "own"]
