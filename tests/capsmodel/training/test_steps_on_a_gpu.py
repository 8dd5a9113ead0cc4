"""No step of an epoch copies anything from the CPU or waits for the GPU, as far as shapes tell.

Forward and backward passes run on the meta device, as PyTorch's backward pass takes no fake tensors
of a GPU that is not there. Optimisers, which ask for a GPU, run on such fake tensors.
"""

from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from benchmarks import gpu
from capsmodel import TrainingConfig
from capsmodel.augmentation import (
    AUGMENTATIONS,
    Augmentation,
    NoAugmentation,
    Patches,
    Shift,
    Steps,
)
from capsmodel.data import Cifar10, Images, Mnist
from capsmodel.losses import (
    LOSSES,
    MARGIN_SCHEDULES,
    SPREAD_SCHEDULES,
    CrossEntropy,
    Loss,
    MarginLoss,
    Sigmoid,
    SpreadLoss,
)
from capsmodel.models import MODELS, Model, SelfRoutingNet
from capsmodel.optimisers import LEARNING_RATE_SCHEDULES, OPTIMISERS, Adam, Moment, Optimiser
from capsmodel.routing import ROUTINGS, Routing
from capsmodel.settings.parts import kind_of
from capsmodel.training.learner import Learner
from tests.capsmodel.optimisers.test_optimisers import VARIANTS as OPTIMISER_VARIANTS
from tests.capsmodel.small_config import small_config, small_model
from tests.capsmodel.testing.test_model_contracts import SMALL
from tests.capsmodel.testing.test_model_contracts import VARIANTS as MODEL_VARIANTS
from tests.capsmodel.training.step_trace import (
    META,
    SlowOperations,
    learner_elsewhere,
    slow_in_steps,
)

WEIGHTS = tuple(float(number) for number in range(1, 11))
MODELS_TRIED: dict[str, Model] = {
    kind_of(model): model(**SMALL[kind_of(model)]) for model in MODELS
} | MODEL_VARIANTS
LOSSES_TRIED: dict[str, Loss] = {
    "margin": MarginLoss(),
    "spread": SpreadLoss(),
    "cross-entropy": CrossEntropy(),
    "sigmoid": Sigmoid(),
    **{
        f"{loss.kind} with class weights": loss
        for loss in (
            MarginLoss(class_weights=WEIGHTS),
            SpreadLoss(class_weights=WEIGHTS),
            CrossEntropy(class_weights=WEIGHTS),
            Sigmoid(class_weights=WEIGHTS),
        )
    },
    **{
        f"margin, {kind_of(schedule)}": MarginLoss(schedule=schedule())
        for schedule in MARGIN_SCHEDULES
    },
    **{
        f"spread, {kind_of(schedule)}": SpreadLoss(schedule=schedule())
        for schedule in SPREAD_SCHEDULES
    },
}
SMALL_CNN = MODELS_TRIED["cnn"]
AUGMENTATIONS_TRIED: dict[str, Augmentation] = {
    "none": NoAugmentation(),
    "shift": Shift(),
    "patches": Patches(size=24, flip=True),
    "patches, not standardised": Patches(size=24, standardise=False),
    "steps, CIFAR-10": Steps.of_profile("cifar10"),
    "steps, all": Steps(
        padding=2,
        flip=True,
        rotation=10,
        shear=0.1,
        scaling=0.1,
        crop=28,
        brightness=0.1,
        contrast=0.1,
        saturation=0.1,
        mean=(0.5,),
        deviation=(0.2,),
    ),
}


def config_of(**changes: Any) -> TrainingConfig:
    return small_config(**{"data": Mnist(), "batch_size": 3} | changes)


def slow_in_training(config: TrainingConfig, images: Images | None = None) -> list[str]:
    """Return the slow operations in batches, both passes and the norms of gradients."""
    learner = learner_elsewhere(config)

    def step(batch: Images, moment: Moment) -> None:
        learner.differentiate(batch, moment.progress)
        learner.gradient_norms()

    return slow_in_steps(learner, images or images_of(config), step)


def images_of(config: TrainingConfig) -> Images:
    labels = torch.zeros(40, dtype=torch.long, device=META)
    return Images(torch.zeros(40, *config.data.image_shape, device=META), labels)


def in_turn(parts: dict[str, Any], *, nightly: Collection[str]) -> list[Any]:
    """Return the parameters of a test, of which some wait for the night."""
    marks = {name: [pytest.mark.nightly] * (name in nightly) for name in parts}
    return [pytest.param(part, id=name, marks=marks[name]) for name, part in parts.items()]


@pytest.mark.parametrize(
    "model",
    in_turn(
        MODELS_TRIED,
        nightly={"official", "matrices of each place", "kernels of their own"},
    ),
)
def test_no_model_is_slow(model: Model) -> None:
    assert slow_in_training(config_of(model=model)) == []


@pytest.mark.parametrize(
    "routing",
    in_turn(
        gpu.ROUTINGS,
        nightly={
            "dynamic, 1 iteration",
            "dynamic, last gradient",
            "dynamic, exponential squash",
            "dynamic, types compete",
            "leaky, bias",
            "em, normalised",
            "em, last gradient",
        },
    ),
)
def test_no_routing_is_slow(routing: Routing) -> None:
    """In class capsules, and between grids where it takes those."""
    small = SMALL["self_routing_net"] | {"routing": routing, "pose_kind": "matrix"}
    model = SelfRoutingNet(**small) if routing.takes_grids else small_model(routing=routing)
    loss = CrossEntropy() if routing.judged_by_scores else MarginLoss()
    assert slow_in_training(config_of(model=model, loss=loss)) == []


@pytest.mark.parametrize("loss", LOSSES_TRIED.values(), ids=list(LOSSES_TRIED))
def test_no_loss_is_slow(loss: Loss) -> None:
    assert slow_in_training(config_of(loss=loss, model=SMALL_CNN)) == []


@pytest.mark.parametrize(
    "augmentation", AUGMENTATIONS_TRIED.values(), ids=list(AUGMENTATIONS_TRIED)
)
def test_no_augmentation_is_slow(augmentation: Augmentation) -> None:
    config = config_of(data=Cifar10(), augmentation=augmentation, model=SMALL_CNN)
    assert slow_in_training(config) == []


@pytest.mark.parametrize(
    "optimiser",
    [
        *OPTIMISER_VARIANTS.values(),
        *(Adam(schedule=schedule()) for schedule in LEARNING_RATE_SCHEDULES),
    ],
    ids=[
        *OPTIMISER_VARIANTS,
        *(f"adam, {kind_of(schedule)}" for schedule in LEARNING_RATE_SCHEDULES),
    ],
)
def test_no_optimiser_is_slow(optimiser: Optimiser) -> None:
    learner = Learner(config_of(optimiser=optimiser), 0, torch.device("cpu"))
    with FakeTensorMode():
        parameters = [torch.nn.Parameter(torch.zeros(3, 4, device="cuda")) for _ in range(2)]
        learner.parameters, learner.optimiser = tuple(parameters), optimiser.build(parameters)
        with SlowOperations() as slow:
            for step in range(4):
                if step == 1:  # the first makes what an optimiser remembers
                    slow.operations.clear()
                for parameter in parameters:
                    parameter.grad = torch.ones_like(parameter)
                learner.gradient_norms()
                learner.move(Moment(step, 2, 3))
    assert slow.operations == []


@pytest.mark.parametrize(
    ("shipped", "tried"),
    [
        (MODELS, MODELS_TRIED),
        (ROUTINGS, gpu.ROUTINGS),
        (LOSSES, LOSSES_TRIED),
        (AUGMENTATIONS, AUGMENTATIONS_TRIED),
        (OPTIMISERS, OPTIMISER_VARIANTS),
    ],
    ids=["models", "routings", "losses", "augmentations", "optimisers"],
)
def test_nothing_is_left_out(shipped: tuple[type, ...], tried: dict[str, Any]) -> None:
    assert set(shipped) <= {type(part) for part in tried.values()}


class _Faulty(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, lengths: Tensor, fault: Callable[[Tensor], Any]) -> Tensor:
        context.fault = fault
        return 2 * lengths

    @staticmethod
    def backward(context: Any, slopes: Tensor) -> tuple[Tensor, None]:
        return slopes * context.fault(slopes), None


def backward_with(fault: Callable[[Tensor], Any], lengths: Tensor) -> None:
    _Faulty.apply(lengths, fault).sum().backward()


FAULTS: dict[str, Callable[[Tensor], object]] = {
    "item": lambda lengths: lengths.sum() * lengths.sum().item(),
    "branch": lambda lengths: lengths.sum() if lengths.sum() > 0 else -lengths.sum(),
    "host copy": lambda lengths: (lengths * torch.tensor(WEIGHTS, device=lengths.device)).sum(),
    "list of indices": lambda lengths: lengths[:, [0, 2]].sum(),
    "mask": lambda lengths: lengths[lengths > 0.5].sum(),
    "number of the CPU": lambda lengths: lengths.sum() * torch.tensor(2.0),
    "host copy, backward": lambda lengths: backward_with(
        lambda slopes: slopes.new_tensor(WEIGHTS), lengths
    ),
    "item, backward": lambda lengths: backward_with(lambda slopes: slopes.sum().item(), lengths),
    "draw on the CPU": lambda lengths: (lengths * torch.rand(10).to(lengths.device)).sum(),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed(fault: str) -> None:
    """A tensor without values cannot say some of what is asked, which ends the step."""
    lengths = torch.zeros(3, 10, device=META, requires_grad=True)
    with SlowOperations() as slow, suppress(RuntimeError, NotImplementedError):
        FAULTS[fault](lengths)
    assert slow.operations != []
