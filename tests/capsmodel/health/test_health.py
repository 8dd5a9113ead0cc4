"""Numbers and alarms of trainings that are sound, and of some that are not."""

import math
import re
from itertools import product
from typing import Any, ClassVar, Literal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Float
from torch import Tensor

from capsmodel import EpochMetrics, Training, TrainingConfig, build_model
from capsmodel.data import Digits
from capsmodel.health import (
    belief_metrics,
    gradient_metrics,
    largest_gradients,
    loss_metrics,
    routing_metrics,
    vanished_gradients,
    warnings_of,
)
from capsmodel.losses import CrossEntropy, Loss, MarginLoss, SpreadLoss
from capsmodel.models import MODELS, ConvNet, HeinsenNet
from capsmodel.optimisers import Adam
from capsmodel.reconstruction import NoReconstruction
from capsmodel.routing import (
    Couplings,
    DynamicRouting,
    EMRouting,
    Neighbourhood,
    RandomRouting,
    Routing,
    UniformRouting,
    VectorRouting,
)
from capsmodel.settings.parts import kind_of
from capsmodel.stopping import FixedEpochs
from capsmodel.training import learner
from capsmodel.training.learner import Learner
from tests.capsmodel.small_config import small_config, small_model

LABELS = torch.arange(10).repeat(18)


def finished(**changes: Any) -> Training:
    training = Training(small_config(**changes), seed=0)
    for _ in training:
        pass
    return training


def numbers(figures: dict[str, Tensor]) -> dict[str, float]:
    return {name: round(float(value), 6) for name, value in figures.items()}


def test_an_evaluation_tells_the_routing_of_its_first_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = small_config()
    splits = config.data.load("cpu").validation
    assert len(splits) == 180
    network = Learner(config, 0, torch.device("cpu"))
    alone = [
        numbers(dict(network.evaluate(splits.take(slice(*ends)), 0.0).routing))
        for ends in ((0, 100), (100, 180))
    ]
    monkeypatch.setattr(learner, "EVALUATION_BATCH_SIZE", 100)
    assert numbers(dict(network.evaluate(splits, 0.0).routing)) == alone[0] != alone[1]


def test_the_norms_of_an_epochs_gradients_give_their_mean_and_maximum() -> None:
    figures = numbers(gradient_metrics(torch.tensor([1.0, 2.0, 6.0])))
    assert figures == {"gradient_norm": 3, "gradient_norm_max": 6}


def test_a_norm_that_is_not_finite_is_told() -> None:
    figures = numbers(gradient_metrics(torch.tensor([1.0, math.nan])))
    assert all(math.isnan(value) for value in figures.values())


def test_a_class_is_dead_or_saturated_where_it_is_so_in_all_images() -> None:
    beliefs = torch.tensor([[0.01, 0.01, 0.99, 0.5], [0.04, 0.90, 0.96, 0.99]])
    assert numbers(belief_metrics(beliefs)) == {
        "dead_capsules": 0.25,
        "saturated_capsules": 0.25,
        "low_beliefs": 0.375,
        "high_beliefs": 0.375,
    }


WINDOWS = [Neighbourhood(), Neighbourhood(4, 5, 3, 1), Neighbourhood(5, 5, 3, 2)]


def some_couplings(around: Neighbourhood, kind: str, num_images: int = 2) -> Couplings:
    edges, sites, out_caps = 2 * around.window_size, num_images * around.num_places, 3
    if kind == "random":
        values = torch.rand(edges, sites, out_caps, generator=torch.Generator().manual_seed(0))
    elif kind == "uniform":
        values = torch.full((edges, sites, out_caps), 0.1)
    else:
        values = torch.zeros(edges, sites, out_caps)
        values[..., 1] = 1.0
    return Couplings(values, around)


def by_hand(couplings: Couplings, num_images: int = 2) -> tuple[float, float]:
    """Return mean entropy and distance, child by child, from the windows' places."""
    around, values = couplings.neighbourhood, couplings.values
    shares: dict[tuple[int, int, int, int], list[float]] = {}
    rows, columns = range(around.out_height), range(around.out_width)
    window = range(around.kernel_size)
    for image, row, column, i, j, kind in product(
        range(num_images), rows, columns, window, window, range(2)
    ):
        child = (image, row * around.stride + i, column * around.stride + j, kind)
        site = (image * around.out_height + row) * around.out_width + column
        edge = (i * around.kernel_size + j) * 2 + kind
        shares.setdefault(child, []).extend(values[edge, site].tolist())
    entropies: list[float] = []
    distances: list[float] = []
    for shares_of_child in shares.values():
        parts = [share / sum(shares_of_child) for share in shares_of_child]
        entropy = -sum(part * math.log(part) for part in parts if part > 0)
        entropies.append(entropy / math.log(len(parts)))
        distances.append(sum(abs(part - 1 / len(parts)) for part in parts) / 2)
    return sum(entropies) / len(entropies), sum(distances) / len(distances)


@pytest.mark.parametrize("around", WINDOWS)
@pytest.mark.parametrize("kind", ["random", "uniform", "one type"])
def test_routing_figures_are_means_over_children_of_all_their_parents(
    around: Neighbourhood, kind: str
) -> None:
    couplings = some_couplings(around, kind)
    entropy, distance = by_hand(couplings)
    figures = routing_metrics({"capsules": couplings}, num_images=2)
    assert float(figures["routing_entropy.capsules"]) == pytest.approx(entropy, abs=1e-5)
    assert float(figures["routing_distance.capsules"]) == pytest.approx(distance, abs=1e-5)


@pytest.mark.parametrize("around", WINDOWS)
def test_couplings_that_are_all_alike_are_even(around: Neighbourhood) -> None:
    figures = numbers(routing_metrics({"a": some_couplings(around, "uniform")}, num_images=2))
    assert figures == {"routing_entropy.a": 1, "routing_distance.a": 0}


def test_couplings_to_one_parent_have_no_entropy() -> None:
    couplings = some_couplings(Neighbourhood(), "one type")
    figures = numbers(routing_metrics({"a": couplings}, num_images=2))
    assert figures == {"routing_entropy.a": 0, "routing_distance.a": round(2 / 3, 6)}


def test_children_without_couplings_do_not_count() -> None:
    couplings = some_couplings(Neighbourhood(), "one type")
    couplings.values[0] = 0
    figures = numbers(routing_metrics({"a": couplings}, num_images=2))
    assert figures["routing_distance.a"] == round(2 / 3, 6)
    couplings.values[:] = 0
    assert set(numbers(routing_metrics({"a": couplings}, num_images=2)).values()) == {0}


def test_only_the_first_images_couplings_are_looked_at() -> None:
    couplings = some_couplings(WINDOWS[1], "random", num_images=40)
    places = WINDOWS[1].num_places
    spoilt = Couplings(couplings.values.clone(), WINDOWS[1])
    spoilt.values[:, 32 * places :] = math.nan
    first, second = (
        numbers(routing_metrics({"a": values}, num_images=40)) for values in (couplings, spoilt)
    )
    assert first == second


@given(st.lists(st.floats(0.1, 10), min_size=8, max_size=30))
def test_the_movement_of_a_loss_is_that_of_its_last_epochs(losses: list[float]) -> None:
    figures = loss_metrics(losses)
    assert figures == loss_metrics([9.0, *losses])
    assert 0 <= figures["loss_turns"] <= 1
    assert figures["loss_swing"] >= 0


def test_a_loss_moves_smoothly_or_back_and_forth() -> None:
    assert loss_metrics([8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0])["loss_turns"] == 0
    assert loss_metrics([1.0, 3.0] * 4) == {"loss_turns": 1, "loss_swing": 1}


@pytest.mark.parametrize("losses", [[1.0] * 7, [0.0] * 8, [1.0] * 7 + [math.nan]])
def test_a_loss_that_is_short_or_no_number_has_no_movement(losses: list[float]) -> None:
    assert loss_metrics(losses) == {}


def test_an_epoch_tells_all_numbers() -> None:
    (metrics,) = finished(stopping=FixedEpochs(epochs=1)).history
    assert list(metrics.health) == [
        "gradient_norm",
        "gradient_norm_max",
        "class_loss",
        "dead_capsules",
        "saturated_capsules",
        "low_beliefs",
        "high_beliefs",
        "routing_entropy.capsules",
        "routing_distance.capsules",
    ]
    assert 0 < metrics.health["gradient_norm"] <= metrics.health["gradient_norm_max"]
    assert 0.5 < metrics.health["routing_entropy.capsules"] < 1


def test_the_norm_is_that_of_the_gradient_of_all_parameters() -> None:
    config = small_config(batch_size=2000, stopping=FixedEpochs(epochs=1))
    (metrics,) = Training(config, seed=0)
    network, train = build_model(config).to_empty(device="cpu"), config.data.load("cpu").train
    network.initialise(0)
    outputs = network(train.images, train.labels, torch.Generator())
    loss = config.loss.judge(outputs, train.labels, 0.0) + network.penalty(outputs, train.images)
    gradients = torch.autograd.grad(loss, tuple(network.parameters()))
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    assert metrics.health["gradient_norm"] == pytest.approx(float(flat.norm()), rel=1e-4)


def test_the_loss_of_the_classes_leaves_out_what_the_model_adds() -> None:
    epoch = finished(stopping=FixedEpochs(epochs=1)).history[0]
    assert epoch.health["class_loss"] < epoch.validation_loss
    model = small_model(reconstruction=NoReconstruction())
    bare = finished(model=model, stopping=FixedEpochs(epochs=1)).history[0]
    assert bare.health["class_loss"] == bare.validation_loss


class Fixed(VectorRouting):
    """Capsules whose lengths are all the same number, whatever the votes are."""

    kind: Literal["fixed"] = "fixed"
    is_symmetric: ClassVar[bool] = True
    length: float

    def route(
        self,
        votes: Float[Tensor, "batch in_caps out_caps pose"],
        *,
        generator: torch.Generator | None,
    ) -> Float[Tensor, "batch out_caps pose"]:
        poses = 0 * votes.sum(dim=1)
        return poses + self.length / math.sqrt(poses.shape[-1])


@pytest.mark.parametrize(
    ("length", "loss", "ending"),
    [
        (0, MarginLoss(), "0.81, its value where every belief is 0: all class capsules are dead"),
        (1, MarginLoss(), "3.645, its value where every belief is 1: all class capsules are sat"),
        (0.5, SpreadLoss(), "7.29, its value where every belief is the same: the network does"),
        (0.5, CrossEntropy(), "2.303, its value where every belief is the same"),
    ],
)
def test_a_loss_that_is_stuck_at_a_closed_form_is_named(
    length: float, loss: Any, ending: str
) -> None:
    model = small_model(routing=Fixed(length=length), reconstruction=NoReconstruction())
    nothing_learnt, stuck = finished(loss=loss, model=model).warnings()
    assert stuck.startswith("The loss of the classes stays at ")
    assert ending in stuck
    assert nothing_learnt == (
        "The gradient stays at exactly zero though the loss is not: nothing is learnt."
    )


def test_a_training_too_slow_to_move_is_named() -> None:
    (warning,) = finished(optimiser=Adam(learning_rate=1e-9)).warnings()
    assert warning.startswith("No weight has moved from its initial value beyond rounding")


def test_a_learning_rate_that_is_too_large_saturates_some_classes_and_kills_others() -> None:
    dead, saturated, *_ = finished(optimiser=Adam(learning_rate=10)).warnings()
    assert re.fullmatch(
        r"[2-9] of 10 class capsules are dead: the belief in them stays below 0\.05 in all "
        r"validation images\.",
        dead,
    )
    assert re.match(
        r"[2-9] of 10 class capsules are saturated: the belief in them stays above 0\.95",
        saturated,
    )


def test_a_network_that_guesses_is_named() -> None:
    model = ConvNet(conv_channels=(8,), conv_kernel=3, hidden=(16,))
    changes = {"optimiser": Adam(learning_rate=3), "stopping": FixedEpochs(epochs=10)}
    (warning,) = finished(model=model, loss=CrossEntropy(), **changes).warnings()
    assert warning == "The validation error stays at that of guessing, 90 %."


@pytest.mark.parametrize("loss", [MarginLoss(), SpreadLoss(), CrossEntropy()])
@pytest.mark.parametrize(("error", "is_guessing"), [(0.1, True), (0.3, True), (0.02, False)])
def test_guessing_is_measured_by_the_most_frequent_class(
    loss: Loss, error: float, is_guessing: bool
) -> None:
    one_in_ten = (LABELS == 0).long()
    epochs = [EpochMetrics(number, 0.3, 0.3, error, 1.0) for number in (1, 2, 3)]
    config = TrainingConfig(data=Digits(), loss=loss)
    warnings = warnings_of(config, one_in_ten, epochs)
    guessing = ("The validation error stays at that of guessing, 10 %.",)
    assert warnings == guessing * is_guessing


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"loss": SpreadLoss()},
        {"model": ConvNet(conv_channels=(8,), conv_kernel=3, hidden=(16,)), "loss": CrossEntropy()},
        pytest.param({"loss": CrossEntropy()}, marks=pytest.mark.nightly),
        pytest.param({"model": small_model(routing=RandomRouting())}, marks=pytest.mark.nightly),
    ],
)
def test_a_training_that_learns_is_sound(changes: dict[str, Any]) -> None:
    training = finished(stopping=FixedEpochs(epochs=10), batch_size=100, **changes)
    assert training.history[-1].validation_error < 0.5
    assert training.warnings() == ()


DEEP: dict[str, Any] = {"hidden_capsules": (16, 16), "reconstruction": NoReconstruction()}


def after_an_epoch(**changes: Any) -> Training:
    training = Training(small_config(model=small_model(**DEEP, **changes)), seed=0)
    next(iter(training))
    return training


@pytest.mark.parametrize("routing", [DynamicRouting(), UniformRouting()])
def test_layers_that_no_gradient_reaches_are_named_after_the_first_epoch(routing: Routing) -> None:
    training = after_an_epoch(routing=routing)
    assert training.warnings() == (
        "The gradient of the first layers (convolution, primary, hidden, capsules) is nearly zero "
        "in every step, so that they do not learn: a bias of the routing, connections that skip "
        "capsule layers, best with batch normalisation, or EM routing help.",
    )
    assert training.history[0].health["vanished_gradient.hidden"] < 1e-10


@pytest.mark.parametrize(
    "changes",
    [
        {"routing": DynamicRouting(bias=True)},
        {"hidden_skip": True},
        {"hidden_skip": True, "hidden_batch_norm": True},
        {"routing": EMRouting()},
    ],
)
def test_what_the_sentence_proposes_lets_the_gradient_through(changes: dict[str, Any]) -> None:
    assert after_an_epoch(**changes).warnings() == ()


FEW_CHANNELS: dict[str, dict[str, Any]] = {
    "capsnet": {"conv_channels": 32, "primary_types": 4, "reconstruction": "none"},
    "deepcaps": {"conv_channels": 16, "types": 4},
    "matrix_capsnet": {"primary_types": 8, "first_types": 8, "second_types": 8},
    "inverted_attention_net": {"channels": 16, "types": 8},
    "homogeneous_capsnet": {"conv_channels": (8, 12, 16), "branches": (1, 3)},
    "heinsen_net": {"channels": 16, "strides": (1, 2, 1, 2), "types": 8, "parts": 8},
    "cnn": {"conv_channels": (32, 32, 16)},
}


@pytest.mark.parametrize("model", MODELS, ids=kind_of)
def test_no_model_of_the_package_starts_without_a_gradient(model: Any) -> None:
    changes: dict[str, Any] = {
        "data": Digits(fraction=0.06, padding=10),
        "stopping": FixedEpochs(epochs=1),
    }
    small = model(**FEW_CHANNELS.get(kind_of(model), {}))
    if isinstance(small, HeinsenNet):
        changes["loss"] = CrossEntropy()
    training = finished(model=small, **changes)
    assert not [name for name in training.history[0].health if name.startswith("vanished")]
    assert training.warnings() == ()


def vanished(gradients: dict[str, float]) -> list[str]:
    names = vanished_gradients(gradients)
    return [name.removeprefix("vanished_gradient.") for name in names]


def test_only_the_first_layers_count_and_only_where_they_are_nearly_zero() -> None:
    assert vanished({"a": 1e-11, "b": 0.0, "c": 1e-9, "d": 0.0}) == ["a", "b"]
    assert vanished({"a": 1e-9, "b": 0.0}) == []
    assert vanished({"a": math.nan, "b": 0.0}) == []


def test_a_layers_gradient_is_the_root_mean_square_of_its_numbers_at_its_largest() -> None:
    first, second = torch.tensor([3.0, 4.0, 6.0]), torch.tensor([0.0, 0.0, 8.0])
    largest = largest_gradients([first, second], {"a": [20, 5], "b": [4]})
    assert numbers(largest) == {"a": 1.0, "b": 4.0}
    assert largest_gradients([first, second[:2]], {"a": [20, 5], "b": [4]}) == {}


def test_one_layer_without_a_gradient_is_one() -> None:
    (warning,) = warned([0.5, 0.4], **{"vanished_gradient.convolution": 0.0})
    assert warning.startswith("The gradient of the first layer (convolution) is nearly zero in ev")
    assert "so that it does not learn" in warning


def test_a_gradient_of_zero_is_no_alarm_where_the_loss_has_fallen_to_it() -> None:
    assert warned([0.5, 0.4, 0.0], **{"vanished_gradient.convolution": 0.0}) == ()


def history(losses: list[float], **health: float) -> tuple[EpochMetrics, ...]:
    return tuple(
        EpochMetrics(number, loss, loss, 0.2, health=health | loss_metrics(losses[:number]))
        for number, loss in enumerate(losses, start=1)
    )


def warned(losses: list[float], **health: float) -> tuple[str, ...]:
    return warnings_of(TrainingConfig(), LABELS, history(losses, **health))


def test_a_loss_that_goes_up_and_down_without_falling_is_named() -> None:
    (warning,) = warned([1.0, 0.6, 0.4] + [0.5, 0.7] * 4)
    assert warning == (
        "The training loss oscillates: over the last 8 epochs it went up and down by 33 % an "
        "epoch and did not fall."
    )


@pytest.mark.parametrize(
    "losses",
    [
        [1.0, 0.6] + [0.5, 0.52] * 4,  # little
        [1.0, 0.9, 1.0, 0.8, 0.9, 0.6, 0.7, 0.4, 0.5, 0.3],  # falling
        [1.0, 0.5] + [0.05, 0.07] * 4,  # where it has learnt
        [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0],  # rising all along
        [0.5, 0.7] * 3,  # too short to say
    ],
)
def test_a_loss_that_falls_or_hardly_moves_or_is_low_does_not_oscillate(
    losses: list[float],
) -> None:
    assert warned(losses) == ()


def test_one_class_that_is_dead_is_one() -> None:
    (warning,) = warned([0.5, 0.4, 0.3], dead_capsules=0.1)
    assert warning.startswith("1 of 10 class capsules is dead: the belief in it stays below 0.05")


def test_two_epochs_are_too_few_for_a_warning() -> None:
    assert warned([0.81, 0.81], dead_capsules=1.0, class_loss=0.81) == ()


def test_an_epoch_of_an_older_checkpoint_has_no_numbers_and_no_warning() -> None:
    assert warned([0.5] * 9) == ()
