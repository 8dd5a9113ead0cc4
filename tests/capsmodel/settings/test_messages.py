"""One sentence says what is wrong, what was given and what is allowed."""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, ValidationError

from capsmodel import TrainingConfig
from capsmodel.models import MODELS, CapsNet
from capsmodel.routing import ROUTINGS
from capsmodel.settings.messages import allowed, explain, unknown
from capsmodel.settings.parts import Settings, kind_of
from search_spaces.tables import GridTable

ROUTING_KINDS = ", ".join(map(kind_of, ROUTINGS))
MODEL_KINDS = ", ".join(map(kind_of, MODELS))


class Example(Settings):
    """Settings of every shape."""

    count: Annotated[int, Field(ge=1, le=5)] = 1
    share: Annotated[float, Field(gt=0, lt=1)] = 0.5
    many: Annotated[int, Field(ge=0, lt=2**63)] = 0
    at_most: Annotated[int, Field(le=1_000_000)] = 0
    perhaps: Annotated[int, Field(ge=1)] | None = None
    slug: Annotated[str, Field(pattern="^[a-z]+$")] = "a"
    flag: bool = False
    mode: Literal["a", "b"] = "a"
    only: Literal["x"] = "x"
    sizes: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)] = (1,)
    kinds: tuple[type[Settings], ...] = ()
    named: Mapping[str, Any] = {}
    named_well: Annotated[Mapping[str, Any], Field(min_length=1)] = {"a": 1}
    sizes_of: Mapping[str, tuple[int, ...]] = {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("count", "an integer from 1 to 5"),
        ("share", "a number above 0 below 1"),
        ("many", "an integer at least 0 below 9223372036854775808"),
        ("at_most", "an integer at most 1000000"),
        ("perhaps", "an integer at least 1"),
        ("slug", "a text of the form ^[a-z]+$"),
        ("flag", "true or false"),
        ("mode", "one of a, b"),
        ("only", "x"),
        ("sizes", "a list of at least 1, each an integer at least 1"),
        ("named", "a dict"),
        ("named_well", "a dict of at least 1"),
        ("sizes_of", "a dict, each value a list, each an integer"),
    ],
)
def test_what_a_setting_takes_is_told_in_words(name: str, text: str) -> None:
    assert allowed(Example.model_fields[name]) == text


def test_a_part_takes_its_familys_kinds() -> None:
    assert allowed(CapsNet.model_fields["routing"]) == f"one of {ROUTING_KINDS}"


def sentence(of: type[Settings], value: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        of.model_validate(value)
    return explain(caught.value)


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ({"count": 9}, "count must be an integer from 1 to 5, got 9."),
        ({"count": "x"}, "count must be an integer from 1 to 5, got 'x'."),
        ({"sizes": [1, 0]}, "got 0 at place 2."),
        ({"perhaps": 0}, "perhaps must be an integer at least 1, got 0."),
        ({"mode": "c"}, "mode must be one of a, b, got 'c'."),
        ({"slug": "A"}, "slug must be a text of the form ^[a-z]+$, got 'A'."),
        ({"contr": 1}, "Unknown setting 'contr' of Example."),
        ({"count": 9, "flag": 7}, "got 9. (And 1 more.)"),
    ],
)
def test_what_cannot_be_is_told_with_what_can(value: Any, part: str) -> None:
    assert part in sentence(Example, value)


def test_a_setting_that_is_no_plain_value_gets_a_sentence_too() -> None:
    assert sentence(Example, {"kinds": [3]}).startswith("kinds: ")


def test_one_list_with_two_faults_is_one_complaint() -> None:
    assert "more" not in sentence(Example, {"sizes": [0]})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            {"model": {"kind": "capsnet", "routing": {"kind": "uniform", "iterations": 1}}},
            "Unknown setting 'iterations' of routing 'uniform'. Known: bias.",
        ),
        (
            {"model": {"kind": "capsnet", "routing": {"kind": "unform"}}},
            f"Unknown routing 'unform'. Did you mean 'uniform'? Known: {ROUTING_KINDS}.",
        ),
        (
            {"model": {"kind": "capsnet", "routing": "unform"}},
            f"Unknown routing 'unform'. Did you mean 'uniform'? Known: {ROUTING_KINDS}.",
        ),
        (
            {"model": {"kind": "kapsnet"}},
            f"Unknown model 'kapsnet'. Did you mean 'capsnet'? Known: {MODEL_KINDS}.",
        ),
        (
            {"model": {"kind": "capsnet", "routing": {"kind": "dynamic", "iterations": 0}}},
            "model.routing.iterations must be an integer from 1 to 100, got 0.",
        ),
        (
            {"stopping": {"kind": "fixed_epochs", "epochs": 0}},
            "stopping.epochs must be an integer from 1 to 100000, got 0.",
        ),
        (
            {"model": {"kind": "capsnet", "routing": 3}},
            f"model.routing must be one of {ROUTING_KINDS}, got 3.",
        ),
    ],
)
def test_the_place_in_the_tree_is_told_without_the_kinds_on_its_way(
    value: Any, message: str
) -> None:
    assert sentence(TrainingConfig, value) == message


def test_an_unknown_name_gets_the_nearest() -> None:
    assert unknown("loss", "margn", ["margin", "spread"]) == (
        "Unknown loss 'margn'. Did you mean 'margin'? Known: margin, spread."
    )


def test_the_initials_of_a_name_are_near_to_it() -> None:
    known = ["learning_rate", "weight_decay", "beta1"]
    assert "Did you mean 'learning_rate'?" in unknown("setting", "lr", known)
    assert "Did you mean 'weight_decay'?" in unknown("setting", "wd", known)
    paths = ["optimiser.learning_rate", "loss.margin"]
    assert "Did you mean 'optimiser.learning_rate'?" in unknown("setting", "lr", ["loss"], paths)


def test_a_pattern_is_said_in_words() -> None:
    class Named(Settings):
        name: Annotated[str, Field(pattern="^[a-z]+$", description="a text of small letters")]

    assert sentence(Named, {"name": "A"}) == "name must be a text of small letters, got 'A'."


def test_where_nothing_is_near_nothing_is_guessed() -> None:
    assert unknown("loss", "xyz", ["margin"]) == "Unknown loss 'xyz'. Known: margin."
    assert unknown("loss", "xyz", []) == "Unknown loss 'xyz'. Known: none."


def test_a_class_is_found_although_another_bears_its_name() -> None:
    class CapsNet(Settings):  # not the model
        depth: Annotated[int, Field(ge=1, le=3)] = 1

    with pytest.raises(ValidationError) as of_the_model:
        MODELS[0].model_validate({"clas_dim": 1})
    assert "model 'capsnet'" in explain(of_the_model.value)
    with pytest.raises(ValueError, match=r"^depth must be an integer from 1 to 3, got 7\.$"):
        CapsNet(depth=7)


def build_of_a_misspelt_setting() -> None:
    CapsNet(conv_chanels=9)  # pyright: ignore[reportCallIssue]


def build_of_a_misspelt_profile() -> None:
    CapsNet.of_profile("officia")


def build_of_an_unknown_kind() -> None:
    TrainingConfig(loss="margn")


def build_of_a_misspelt_table() -> None:
    GridTable(nme="mine")  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (build_of_a_misspelt_setting, "Unknown setting 'conv_chanels' of model 'capsnet'. Did "),
        (build_of_a_misspelt_profile, "Unknown profile 'officia' of the model 'capsnet'. Did you "),
        (build_of_an_unknown_kind, "Unknown loss 'margn'. Did you mean 'margin'? Known: "),
        (build_of_a_misspelt_table, "Unknown setting 'nme' of GridTable. Did you mean 'name'? "),
    ],
)
def test_what_is_built_in_python_is_refused_in_the_same_words(
    build: Callable[[], None], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}") as caught:
        build()
    assert "\n" not in str(caught.value)
