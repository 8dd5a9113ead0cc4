"""What a number is, what is chosen by, and what parts measure themselves."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import pytest
from jaxtyping import Float, Int
from pydantic import ValidationError
from torch import Tensor

from capsmodel.losses import Loss, MarginLoss
from capsmodel.metrics import (
    BUILT_IN,
    TEST_ERROR,
    VALIDATION_ERROR,
    VALIDATION_LOSS,
    Metric,
    Objective,
    curve_points,
    find_metric,
    non_finite_words,
    trapezoid_weights,
)
from capsmodel.settings.messages import explain
from capsmodel.stopping import FixedEpochs
from capsmodel.training.training import Training, read_history
from tests.capsmodel.small_config import small_config

ACCURACY = Metric(name="validation_accuracy", unit="fraction", direction="larger")


@pytest.mark.parametrize(
    ("value", "text"),
    [("nan", "NaN"), ("inf", "infinite"), ("-inf", "minus infinity")],
)
def test_a_number_that_is_not_finite_is_named_as_it_is(value: str, text: str) -> None:
    assert non_finite_words(float(value)) == text


class Accurate(Loss):
    """The margin loss, which tells the share of the images that are classified rightly."""

    kind: Literal["accurate"] = "accurate"
    epoch_metrics: ClassVar[tuple[Metric, ...]] = (ACCURACY,)

    def loss(
        self,
        lengths: Float[Tensor, "batch classes"],
        labels: Int[Tensor, " batch"],
        progress: float,
    ) -> Float[Tensor, ""]:
        return MarginLoss().loss(lengths, labels, progress)

    def measure(self, beliefs: Any, labels: Any) -> Mapping[str, Any]:
        assert beliefs.shape[0] == len(labels)
        return {"validation_accuracy": (beliefs.argmax(dim=1) == labels).float().mean()}


class Silent(Accurate):
    """Declares what it does not give."""

    kind: Any = "silent"

    def measure(self, beliefs: Any, labels: Any) -> Mapping[str, Any]:
        return {"validation_acuracy": 1.0}


def test_every_built_in_metric_says_which_images_it_is_of() -> None:
    assert [(metric.name, metric.split, metric.moment) for metric in BUILT_IN] == [
        ("train_loss", "train", "epoch"),
        ("validation_loss", "validation", "epoch"),
        ("validation_error", "validation", "epoch"),
        ("test_error", "test", "end"),
    ]


def test_an_extra_test_and_a_number_of_health_are_known_by_how_their_names_begin() -> None:
    familiar = find_metric("test_error.familiar")
    assert familiar is not None
    assert (familiar.split, familiar.unit, familiar.moment) == ("test", "fraction", "end")
    health = find_metric("health.dead_capsules")
    assert health is not None
    assert (health.split, health.direction) == (None, None)
    assert find_metric("validation_accuracy") is None
    assert find_metric("validation_accuracy", [ACCURACY]) == ACCURACY


@pytest.mark.parametrize("name", ["test_error", "test_error.familiar"])
def test_nothing_is_chosen_by_the_test_split(name: str) -> None:
    metric = find_metric(name)
    assert metric is not None
    with pytest.raises(ValueError, match="selection never sees the test split"):
        Objective(metric)


def test_nothing_is_chosen_by_a_number_of_which_neither_end_is_better() -> None:
    with pytest.raises(ValueError, match="neither a small nor a large one"):
        Objective(Metric(name="health.loss_turns", direction=None))


def test_an_objective_sees_its_own_number_alone() -> None:
    numbers = {"validation_error": 0.25, "test_error": 0.5}
    assert Objective(VALIDATION_ERROR).value(numbers) == 0.25
    assert Objective(VALIDATION_LOSS).value(numbers) is None


def test_the_cost_is_small_where_the_value_is_good() -> None:
    assert Objective(VALIDATION_ERROR).cost(0.25) == 0.25
    assert Objective(ACCURACY).cost(0.75) == -0.75


def test_what_a_part_measures_is_told_with_each_epoch_and_kept_in_the_checkpoint(
    tmp_path: Any,
) -> None:
    training = Training(small_config(loss=Accurate(), stopping=FixedEpochs(epochs=2)), seed=0)
    expected = [dict(metrics.metrics) for metrics in training]
    for metrics in training.history:
        assert metrics.metrics["validation_accuracy"] == pytest.approx(1 - metrics.validation_error)
    training.save(tmp_path / "checkpoint.safetensors")
    history = read_history(tmp_path / "checkpoint.safetensors", seed=0)
    assert [dict(metrics.metrics) for metrics in history] == expected


def test_a_part_that_measures_changes_no_other_number() -> None:
    plain, measured = (
        list(Training(small_config(loss=loss, stopping=FixedEpochs(epochs=1)), seed=0))
        for loss in (MarginLoss(), Accurate())
    )
    assert plain[0].validation_loss == measured[0].validation_loss
    assert plain[0].health == measured[0].health
    assert plain[0].metrics == {}


def test_a_part_that_gives_another_metric_than_it_declares_is_named() -> None:
    training = Training(small_config(loss=Silent(), stopping=FixedEpochs(epochs=1)), seed=0)
    with pytest.raises(ValueError, match="Silent measures validation_acuracy and declares"):
        next(iter(training))


@pytest.mark.parametrize(
    ("metric", "sentence"),
    [
        (VALIDATION_ERROR, "is built in"),
        (Metric(name="health.mine"), "is built in"),
        (Metric(name="mine", split="test"), "of the test split"),
        (Metric(name="mine", split="train"), "of the train split"),
        (Metric(name="mine", moment="end"), "of the end"),
        (Metric(name="mine"), "does not say in its name"),
        (Metric(name="validation_Ab"), "does not say in its name"),
    ],
)
def test_a_part_cannot_declare_what_it_is_not_asked_for(
    monkeypatch: pytest.MonkeyPatch, metric: Metric, sentence: str
) -> None:
    monkeypatch.setattr(Accurate, "epoch_metrics", (metric,))
    with pytest.raises(ValueError, match=sentence):
        small_config(loss=Accurate())


def test_what_declares_no_metrics_says_what_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in (("f1",), ACCURACY, "f1"):
        monkeypatch.setattr(Accurate, "epoch_metrics", wrong)
        with pytest.raises(
            ValueError, match=r"epoch_metrics of Accurate must be a tuple of Metric, got .*: write "
        ):
            small_config(loss=Accurate())
    with pytest.raises(ValidationError) as caught:
        Metric(name="f1@0.5")
    assert explain(caught.value) == (
        "name must be a name of letters, digits, _, . and - that begins with a small letter, got "
        "'f1@0.5'."
    )


def test_two_metrics_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Accurate, "epoch_metrics", (ACCURACY, ACCURACY))
    with pytest.raises(ValueError, match="Two parts declare the metric validation_accuracy"):
        small_config(loss=Accurate())


@pytest.mark.parametrize("name", ["", "a b", "9", "../x", "x" * 201])
def test_a_metrics_name_can_be_recorded(name: str) -> None:
    with pytest.raises(ValidationError):
        Metric(name=name)


def test_the_test_error_is_no_number_of_an_epoch() -> None:
    assert TEST_ERROR.moment == "end"


ERROR = Metric(name="error", unit="fraction", split="test", moment="end")


def test_a_curve_is_a_metric_at_each_point() -> None:
    points = curve_points(ERROR, "epsilon", (0, 0.05, 0.3))
    assert [point.name for point in points] == [
        "error.epsilon_0",
        "error.epsilon_0.05",
        "error.epsilon_0.3",
    ]
    assert {point.curve for point in points} == {"error"}
    assert [point.at.value for point in points if point.at] == [0, 0.05, 0.3]
    assert points[1].text == "error, epsilon = 0.05"
    assert all(Metric.model_validate_json(point.model_dump_json()) == point for point in points)


def test_a_metric_without_a_curve_is_written_as_before() -> None:
    assert ERROR.model_dump().keys().isdisjoint({"curve", "at"})


@pytest.mark.parametrize("values", [(), (0,), (0, 0, 1), (1, 0)])
def test_a_curve_without_ascending_points_is_refused(values: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="needs two or more values of pixels, ascending, got"):
        curve_points(ERROR, "pixels", values)


def test_the_mean_height_is_that_of_the_trapezoid() -> None:
    assert trapezoid_weights((0, 1, 3)) == pytest.approx((1 / 6, 1 / 2, 1 / 3))
    assert sum(trapezoid_weights((-30, -10, 0, 30))) == pytest.approx(1)
