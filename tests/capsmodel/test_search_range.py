from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from capsmodel import TrainingConfig
from capsmodel.losses import CrossEntropy, MarginLoss
from capsmodel.models import CapsNet
from capsmodel.optimisers import Adam
from capsmodel.reconstruction import FullyConnectedDecoder
from capsmodel.routing import DynamicRouting
from capsmodel.search_range import Choices, Floats, Ints, SearchRange, search_range
from capsmodel.settings.parts import Settings

Size = Annotated[int, Field(ge=1), Ints(1, 100)]


class Searched(Settings):
    depth: Annotated[int, Field(ge=1), Ints(1, 5)] = 3
    rate: Annotated[float, Field(gt=0), Floats(1e-4, 1e-2, log=True)] = 1e-3
    mode: Annotated[str, Choices("fast", "slow")] = "fast"
    size: Size = 8
    narrow_size: Annotated[Size, Choices(8, 16)] = 8
    fixed: Annotated[int, Field(ge=1)] = 1


class Plain(Settings):
    depth: Annotated[int, Field(ge=1)] = 3


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("depth", Ints(1, 5)),
        ("rate", Floats(1e-4, 1e-2, log=True)),
        ("mode", Choices("fast", "slow")),
        ("size", Ints(1, 100)),
        ("narrow_size", Choices(8, 16)),
        ("fixed", None),
    ],
)
def test_the_range_of_a_setting_is_its_outermost_annotation(field: str, expected: Any) -> None:
    assert search_range(Searched, field) == expected


def test_an_unknown_setting_has_no_range() -> None:
    with pytest.raises(ValueError, match=r"Unknown setting 'dept' of Searched\. Did you mean 'dep"):
        search_range(Searched, "dept")


def test_a_range_neither_refuses_nor_shows() -> None:
    assert Searched(depth=1000).depth == 1000
    with pytest.raises(ValueError, match="depth must be an integer at least 1, got 0"):
        Searched(depth=0)
    depth = Searched.model_json_schema()["properties"]["depth"]
    assert depth == Plain.model_json_schema()["properties"]["depth"]


@pytest.mark.parametrize(
    ("low", "high", "more", "problem"),
    [
        (3, 3, {}, "low of Ints must be below high, got low 3 and high 3"),
        (4, 3, {}, "low of Ints must be below high"),
        (0, 3, {"log": True}, "Ints with log must start above 0, got low 0"),
        (1, 4, {"step": 2}, "The step of Ints must be a divisor of high - low = 3, got 2"),
        (1, 4, {"step": 0}, "The step of Ints must be a divisor"),
        (1, 4, {"step": -1}, "The step of Ints must be a divisor"),
        (1, 5, {"step": 2, "log": True}, "Ints with log have a step of 1, got 2"),
        (1.0, 5, {}, "low of Ints must be a whole number, got 1.0"),
        (False, True, {}, "low of Ints must be a whole number, got False"),
        (1, 5, {"step": 1.0}, "step of Ints must be a whole number, got 1.0"),
    ],
)
def test_whole_numbers_that_do_not_fit_are_refused(
    low: Any, high: Any, more: Any, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        Ints(low, high, **more)


@pytest.mark.parametrize(
    ("low", "high", "log", "problem"),
    [
        (0.5, 0.5, False, "low of Floats must be below high, got low 0.5 and high 0.5"),
        (0.6, 0.5, False, "low of Floats must be below high"),
        (0.0, 0.5, True, "Floats with log must start above 0, got low 0.0"),
        (0.0, float("inf"), False, "high of Floats must be a finite number, got inf"),
        (float("nan"), 1.0, False, "low of Floats must be a finite number, got nan"),
        ("0", 1.0, False, "low of Floats must be a finite number, got '0'"),
        (0.0, True, False, "high of Floats must be a finite number, got True"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(low: Any, high: Any, log: bool, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Floats(low, high, log=log)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ((), r"at least two, all different, got \(\)"),
        ((1,), "at least two, all different"),
        ((1, 2, 1), "at least two, all different"),
        ((1, True), "at least two, all different"),
        ((1, None), "Choices are str, int, float or bool, got None"),
        (((1, 2), (3,)), "Choices are str, int, float or bool"),
        ((1.0, float("nan")), "Choices must be finite numbers, got nan"),
    ],
)
def test_choices_that_are_none_are_refused(values: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Choices(*values)


def test_whole_ends_of_a_range_of_numbers_become_floats() -> None:
    floats = Floats(1, 20, log=True)
    assert (floats.low, floats.high) == (1.0, 20.0)
    assert isinstance(floats.low, float)


@given(st.lists(st.integers() | st.text(), min_size=2, unique=True))
def test_choices_keep_their_values_and_order(values: list[Any]) -> None:
    assert Choices(*values).values == tuple(values)


def test_ranges_are_values() -> None:
    assert Choices(1, 2) == Choices(1, 2) != Choices(2, 1)
    assert len({Ints(1, 2), Ints(1, 2), Floats(1, 2), Choices(1, 2)}) == 3


@pytest.mark.parametrize(
    ("settings_class", "field", "expected"),
    [
        (TrainingConfig, "batch_size", Choices(32, 64, 128, 256)),
        (DynamicRouting, "iterations", Ints(1, 5)),
        (CapsNet, "conv_channels", Choices(32, 64, 128, 256)),
        (CapsNet, "primary_types", Choices(4, 8, 16, 32)),
        (CapsNet, "primary_dim", Choices(4, 8, 16)),
        (CapsNet, "class_dim", Choices(8, 16, 32)),
        (CapsNet, "conv_kernel", None),
        (FullyConnectedDecoder, "weight", Floats(1e-5, 1e-2, log=True)),
        (Adam, "learning_rate", Floats(1e-4, 1e-2, log=True)),
        (CrossEntropy, "scale", Floats(1, 20, log=True)),
        (MarginLoss, "positive_margin", Floats(0.7, 0.95)),
        (MarginLoss, "negative_margin", Floats(0.05, 0.3)),
        (MarginLoss, "down_weight", Floats(0.25, 1.0)),
    ],
)
def test_settings_that_are_often_searched_have_ranges(
    settings_class: type[Settings], field: str, expected: SearchRange | None
) -> None:
    assert search_range(settings_class, field) == expected
