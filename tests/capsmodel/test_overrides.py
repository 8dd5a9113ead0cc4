"""Settings are changed by their path, or one sentence says why not."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import pytest
from pydantic import Field

from capsmodel import TrainingConfig
from capsmodel.losses import CrossEntropy
from capsmodel.overrides import with_settings
from capsmodel.routing import (
    ROUTINGS,
    DynamicRouting,
    RandomRouting,
    Routing,
    UniformRouting,
    VectorRouting,
)
from capsmodel.settings.messages import settings_of
from capsmodel.settings.parts import built_in_members, kind_of


class Tempered(VectorRouting):
    """A user's own routing, never run here."""

    kind: Literal["tempered"] = "tempered"
    is_symmetric: ClassVar[bool] = True
    temperature: Annotated[float, Field(gt=0, le=2)] = 1.0
    scale: Literal["linear", "log"] = "linear"

    def route(self, votes: Any, *, generator: Any) -> Any:
        raise NotImplementedError


CONFIG = TrainingConfig()
KNOWN = ", ".join(map(kind_of, ROUTINGS))
ITERATED = ", ".join(
    kind_of(part) for part in built_in_members(Routing) if "iterations" in part.model_fields
)


def refusal(changes: Mapping[str, Any], config: TrainingConfig = CONFIG, *parts: Any) -> str:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole sentence is compared
        with_settings(config, changes, parts)
    return str(caught.value)


def test_a_change_leaves_the_rest_and_the_original_as_they_were() -> None:
    changed = with_settings(CONFIG, {"model.routing.iterations": 1})
    assert changed.model.routing == DynamicRouting(iterations=1)
    assert with_settings(changed, {"model.routing.iterations": 3}) == CONFIG == TrainingConfig()


@pytest.mark.parametrize(
    "value", ["random", {"kind": "random"}, RandomRouting()], ids=["kind", "JSON", "object"]
)
def test_a_part_may_be_given_in_three_ways(value: Any) -> None:
    assert with_settings(CONFIG, {"model.routing": value}).model.routing == RandomRouting()


def test_all_changes_hold_at_once_whatever_their_order() -> None:
    changes = {"model.routing": "random", "model.routing.low": 2.0, "model.routing.high": 3.0}
    for ordered in (changes, dict(reversed(changes.items()))):
        routing = with_settings(CONFIG, ordered).model.routing
        assert routing == RandomRouting(low=2.0, high=3.0)


def test_a_setting_of_a_part_that_another_change_replaces_is_refused() -> None:
    assert refusal({"model.routing.iterations": 2, "model.routing": "uniform"}) == (
        "'model.routing.iterations' has no effect: the routing 'uniform' has no setting "
        f"'iterations' (only {ITERATED} have)."
    )


def test_an_unknown_setting_gets_the_nearest_name() -> None:
    assert refusal({"batch_sise": 3}) == (
        "Unknown setting 'batch_sise'. Did you mean 'batch_size'? Known: data, augmentation, "
        "model, loss, optimiser, stopping, batch_size, precision, frozen, rate_factors, clip_norm, "
        "accumulation, weights."
    )


def test_an_unknown_setting_of_a_part_names_the_part() -> None:
    assert refusal({"model.routing.iteration": 2}) == (
        "Unknown setting 'iteration' of the routing 'dynamic'. Did you mean 'iterations'? "
        f"Known: {', '.join(settings_of(DynamicRouting))}."
    )


def test_an_unknown_kind_gets_the_nearest_and_all_known() -> None:
    assert refusal({"model.routing": "dynamc"}) == (
        f"Unknown routing 'dynamc'. Did you mean 'dynamic'? Known: {KNOWN}."
    )


def test_a_users_own_kind_is_known_where_it_is_given() -> None:
    changed = with_settings(CONFIG, {"model.routing": "tempered"}, [Tempered])
    assert changed.model.routing == Tempered()
    assert f"Known: {KNOWN}, tempered." in refusal({"model.routing": "x"}, CONFIG, Tempered)
    assert "tempered" not in refusal({"model.routing": "tempered"}).partition("Known")[2]


def test_a_setting_that_only_an_undeclared_part_has_is_unknown() -> None:
    assert "has no effect" not in refusal({"model.routing.temperature": 1})
    assert "(only tempered has)" in refusal({"model.routing.temperature": 1}, CONFIG, Tempered)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"batch_size": 0}, "batch_size must be an integer at least 1, got 0."),
        ({"batch_size": 2.5}, "batch_size must be an integer at least 1, got 2.5."),
        (
            {"model.routing.iterations": 101},
            "model.routing.iterations must be an integer from 1 to 100, got 101.",
        ),
        (
            {"stopping.epochs": 0},
            "stopping.epochs must be an integer from 1 to 100000, got 0.",
        ),
        (
            {"model.routing": {"kind": "dynamic", "iterations": 0}},
            "model.routing.iterations must be an integer from 1 to 100, got 0.",
        ),
        (
            {"model.reconstruction.weight": -1},
            "model.reconstruction.weight must be a number above 0, got -1.",
        ),
        (
            {"model.reconstruction.hidden": [0]},
            "model.reconstruction.hidden must be a list of at least 1, each an integer at least "
            "1, got 0 at place 1.",
        ),
        (
            {"model.reconstruction.hidden": []},
            "model.reconstruction.hidden must be a list of at least 1, each an integer at least "
            "1, got [].",
        ),
        (
            {"optimiser.learning_rate": float("nan")},
            "optimiser.learning_rate must be a number above 0, got nan.",
        ),
    ],
)
def test_a_value_out_of_range_gets_its_path_and_the_range(
    changes: dict[str, Any], sentence: str
) -> None:
    assert refusal(changes) == sentence


def test_settings_that_contradict_each_other_name_their_part() -> None:
    config = with_settings(CONFIG, {"model.routing": "random"})
    assert refusal({"model.routing.low": 2}, config) == (
        "model.routing: low must be below high, got low 2.0 and high 1.2."
    )
    assert refusal({"model.routing": {"kind": "random", "low": 2}}) == (
        "model.routing: low must be below high, got low 2.0 and high 1.2."
    )


def test_a_choice_of_texts_is_told_apart_from_a_kind() -> None:
    config = with_settings(CONFIG, {"model.routing": "tempered"}, [Tempered])
    assert refusal({"model.routing.scale": "lin"}, config, Tempered) == (
        "model.routing.scale must be one of linear, log, got 'lin'."
    )


def test_a_setting_without_effect_names_who_has_it() -> None:
    config = with_settings(CONFIG, {"model.routing": UniformRouting()})
    assert refusal({"model.routing.iterations": 2}, config) == (
        "'model.routing.iterations' has no effect: the routing 'uniform' has no setting "
        f"'iterations' (only {ITERATED} have)."
    )


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("batch_size.x", "'batch_size.x' leads nowhere: 'batch_size' is a value, not a part."),
        (
            "model.reconstruction.hidden.0",
            "'model.reconstruction.hidden.0' leads nowhere: 'hidden' is a value, not a part.",
        ),
        (
            "batch_size.kind",
            "'batch_size.kind' leads nowhere: 'batch_size' is a value, not a part.",
        ),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(path: str, sentence: str) -> None:
    assert refusal({path: 1}) == sentence


@pytest.mark.parametrize("path", ["", ".", "model.", ".model", "model..routing"])
def test_a_path_with_an_empty_step_is_an_unknown_setting(path: str) -> None:
    assert refusal({path: 1}).startswith("Unknown setting")


@pytest.mark.parametrize("value", [None, 3, [], {}, UniformRouting, CrossEntropy()])
def test_what_is_no_part_of_the_family_is_refused_with_the_kinds(value: Any) -> None:
    sentence = refusal({"model.routing": value})
    assert sentence.startswith("Unknown routing")
    assert sentence.endswith(f"Known: {KNOWN}.")


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("learning_rat", "'optimiser.learning_rate'"),
        ("model.iterations", "'model.routing.iterations'"),
        ("epochs", "'stopping.epochs'"),
        ("schedule", "'loss.schedule' or 'optimiser.schedule'"),
        ("batch_sise", "'batch_size'"),
        ("optimizer.learning_rate", "'optimiser'"),
    ],
)
def test_a_path_that_is_too_short_gets_the_whole_one(path: str, meant: str) -> None:
    assert f"'. Did you mean {meant}? Known: " in refusal({path: 1})


def test_nothing_is_guessed_where_no_end_is_near() -> None:
    assert "Did you mean" not in refusal({"model.model.x": 1})
