"""An ill training has an alarm from its first epoch on, and few validation images give none."""

import math
from typing import Any, ClassVar, Literal

import pytest
import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from capsmodel import EpochMetrics, Training, TrainingConfig
from capsmodel.data import Digits
from capsmodel.health import loss_metrics, warnings_of
from capsmodel.losses import Loss, MarginLoss, SpreadLoss
from capsmodel.optimisers import SGD
from capsmodel.optimisers.adam import RunningMoments
from capsmodel.reconstruction import NoReconstruction
from capsmodel.stopping import FixedEpochs
from tests.capsmodel.small_config import small_config, small_model

UNMOVED = "No weight has moved from its initial value"
NO_LOSS = "Loss and gradient are exactly zero from the first step on"
NO_GRADIENT = "The gradient stays at exactly zero though the loss is not"
BARE = small_model(reconstruction=NoReconstruction())
NORMALISED = small_model(hidden_capsules=(4,), hidden_skip=True, hidden_batch_norm=True)


class Still(torch.optim.Adam):
    def step(self, closure: Any = None) -> Any:
        """Move nothing."""


class NeverStepped(RunningMoments):
    kind: Literal["never_stepped"] = "never_stepped"
    decays_past_moments: ClassVar[bool] = False

    def build(self, parameters: Any) -> torch.optim.Optimizer:
        assert all(isinstance(parameter, nn.Parameter) for parameter in parameters)
        return Still(parameters, lr=self.learning_rate)


class ScaledLoss(Loss):
    """The margin loss times a factor, and a number added."""

    kind: Literal["scaled"] = "scaled"
    factor: float
    offset: float = 0.0

    def loss(
        self,
        lengths: Float[Tensor, "batch classes"],
        labels: Shaped[Tensor, "batch ..."],
        progress: float,
    ) -> Float[Tensor, ""]:
        return self.factor * MarginLoss().loss(lengths, labels, progress) + self.offset


ILL: dict[str, tuple[str, dict[str, Any]]] = {
    "an optimiser that is never stepped": (UNMOVED, {"optimiser": NeverStepped()}),
    "a loss times 0": (NO_LOSS, {"loss": ScaledLoss(factor=0), "model": BARE}),
    "a rate too small for single precision": (UNMOVED, {"optimiser": SGD(learning_rate=1e-30)}),
    "never stepped, with a schedule and running means": (
        UNMOVED,
        {"optimiser": NeverStepped(), "loss": SpreadLoss(), "model": NORMALISED},
    ),
    "a loss that is one number": (
        NO_GRADIENT,
        {"loss": ScaledLoss(factor=0, offset=1), "model": BARE},
    ),
}


@pytest.mark.parametrize(("alarm", "changes"), ILL.values(), ids=ILL)
def test_what_learns_nothing_is_named_after_the_first_epoch(
    alarm: str, changes: dict[str, Any]
) -> None:
    data = Digits(fraction=0.1)
    training = Training(small_config(data=data, **{"batch_size": 40} | changes), seed=0)
    next(iter(training))
    (sentence,) = training.warnings()
    assert sentence.startswith(alarm)


def test_a_wrong_sign_has_an_alarm() -> None:
    changes: dict[str, Any] = {"loss": ScaledLoss(factor=-1), "stopping": FixedEpochs(epochs=4)}
    training = Training(small_config(data=Digits(fraction=0.2), batch_size=20, **changes), seed=0)
    assert [*training]
    assert any("class capsules are dead" in sentence for sentence in training.warnings())


def test_a_loss_with_the_wrong_sign_that_is_stuck_is_named() -> None:
    config = TrainingConfig(data=Digits(), loss=ScaledLoss(factor=-1))
    history = [EpochMetrics(n, -0.8, -0.8, 0.9, health={"class_loss": -0.81}) for n in (1, 2, 3)]
    (sentence,) = warnings_of(config, torch.arange(10).repeat(9), history)
    assert "its value where every belief is 0" in sentence


def learnt(error: float, **health: float) -> list[EpochMetrics]:
    losses = (0.5, 0.3, 0.1)
    return [EpochMetrics(n, loss, loss, error, health=health) for n, loss in enumerate(losses, 1)]


def of_classes(*counts: int) -> Tensor:
    return torch.tensor([label for label, count in enumerate(counts) for _ in range(count)])


FEW: dict[str, tuple[Tensor, dict[str, Any]]] = {
    "a class without an image": (of_classes(*[4] * 9), {"error": 0.05, "dead_capsules": 0.1}),
    "classes of one and two images": (
        of_classes(*[20] * 8, 1, 2),
        {"error": 0.02, "dead_capsules": 0.2},
    ),
    "the rare class of a few images": (of_classes(19, 1), {"error": 0.05}),
    "a rare class in 60 images": (of_classes(57, 3), {"error": 0.05}),
}


@pytest.mark.parametrize(("labels", "numbers"), FEW.values(), ids=FEW)
def test_too_few_images_to_say_give_no_alarm(labels: Tensor, numbers: dict[str, Any]) -> None:
    assert warnings_of(TrainingConfig(data=Digits()), labels, learnt(**numbers)) == ()


@pytest.mark.parametrize("missing", [0, 1])
def test_as_many_dead_classes_as_are_not_explained_by_few_images_are_named(missing: int) -> None:
    labels = of_classes(*[20] * (10 - missing))
    (sentence,) = warnings_of(TrainingConfig(), labels, learnt(0.3, dead_capsules=0.3))
    assert sentence.startswith(f"{3 - missing} of 10 class capsules are dead")


@pytest.mark.parametrize(("loss", "is_judged"), [(MarginLoss(), True), (SpreadLoss(), False)])
def test_a_loss_that_its_schedule_moves_does_not_oscillate(loss: Loss, is_judged: bool) -> None:
    losses = [1.0, 0.6, 0.4] + [0.5, 0.7] * 4
    history = [
        EpochMetrics(n, losses[n - 1], 0.4, 0.2, health=loss_metrics(losses[:n]))
        for n in range(1, 12)
    ]
    config = TrainingConfig(loss=loss, stopping=FixedEpochs(epochs=11))
    warnings = warnings_of(config, torch.arange(10).repeat(18), history)
    assert [text[:17] for text in warnings] == ["The training loss"] * is_judged


def test_no_layer_of_a_training_that_learns_is_called_unmoved() -> None:
    training = Training(small_config(stopping=FixedEpochs(epochs=1)), seed=0)
    assert [*training]
    assert training.warnings() == ()
    assert math.isfinite(training.history[0].train_loss)


def test_alarms_draw_nothing_from_the_global_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    training = Training(small_config(data=Digits(), stopping=FixedEpochs(epochs=1)), seed=0)
    next(iter(training))
    network = type(training.trained().network)
    initialise = network.initialise

    def drawing(self: Any, seed: int) -> None:
        torch.rand(1)  # as a user's model may
        initialise(self, seed)

    monkeypatch.setattr(network, "initialise", drawing)
    before = torch.random.get_rng_state()
    training.warnings()
    assert torch.equal(torch.random.get_rng_state(), before)
