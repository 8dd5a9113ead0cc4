"""A step that is recorded once and replayed is the step that is taken operation by operation.

A CUDA graph keeps every operation with its numbers. So does the recorder of these tests, on the
CPU: what a graph would keep for ever, it keeps.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, ClassVar, Literal

import pytest
import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from capsmodel import Training, TrainingConfig
from capsmodel.augmentation import Shift
from capsmodel.data import Digits
from capsmodel.losses import (
    LinearMargins,
    LinearSpread,
    Loss,
    MarginLoss,
    SigmoidMargins,
    SigmoidSpread,
    SpreadLoss,
)
from capsmodel.models import MatrixCapsNet
from capsmodel.optimisers import SGD, AdamW, CosineRate, ExponentialRate
from capsmodel.routing import RandomRouting
from capsmodel.stopping import FixedEpochs
from capsmodel.training import captured
from capsmodel.training.captured import CapturedSteps, StepInTensors, Taken, take_step
from capsmodel.training.learner import Learner
from tests.capsmodel.small_config import small_config, small_model
from tests.capsmodel.testing.test_model_contracts import SMALL, VARIANTS

CPU = torch.device("cpu")


def small_matrices() -> MatrixCapsNet:
    return MatrixCapsNet(**SMALL["matrix_capsnet"] | {"second_types": 0, "first_stride": 1})


CONFIGS: dict[str, dict[str, Any]] = {
    "as small as it gets": {},
    "margins that move evenly": {"loss": MarginLoss(schedule=LinearMargins())},
    "margins on a sigmoid": {"loss": MarginLoss(schedule=SigmoidMargins())},
    "spread that moves evenly": {"loss": SpreadLoss(schedule=LinearSpread())},
    "spread on a sigmoid": {"loss": SpreadLoss(schedule=SigmoidSpread())},
    "class weights": {"loss": MarginLoss(class_weights=tuple(0.5 + n for n in range(10)))},
    "draws": {"model": small_model(routing=RandomRouting()), "augmentation": Shift()},
    "batch norm and dropout": {"model": VARIANTS["all options"]},
    "matrix capsules": {"model": small_matrices()},
    "adamw, cosine and warm-up": {"optimiser": AdamW(schedule=CosineRate(), warmup_steps=5)},
    "sgd, exponential": {"optimiser": SGD(schedule=ExponentialRate(every_steps=3))},
}  # fmt: skip


class Recorder(TorchDispatchMode):
    """Records operations with their numbers; replays them on the tensors as they are then."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, Any, Any, Any]] = []

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        returned = function(*args, **(kwargs or {}))
        self.calls.append((function, args, kwargs or {}, returned))
        return returned

    def replay(self, kept: Taken) -> None:
        """Do all operations again, and give what is kept of the first time the values of now."""
        now: dict[int, Tensor] = {}

        def as_now(value: Any) -> Any:
            return now.get(id(value), value) if isinstance(value, Tensor) else value

        with torch.no_grad():
            for function, args, kwargs, returned in self.calls:
                again = function(*tree_map(as_now, args), **tree_map(as_now, kwargs))
                pairs = zip(tree_leaves(returned), tree_leaves(again), strict=True)
                now |= {
                    id(recorded): recomputed
                    for recorded, recomputed in pairs
                    if isinstance(recorded, Tensor)
                }
            for tensor in kept:
                tensor.copy_(as_now(tensor))


def of(config: dict[str, Any]) -> TrainingConfig:
    settings = {"data": Digits(fraction=0.1), "batch_size": 10, "stopping": FixedEpochs(epochs=2)}
    return small_config(**settings | config)


def eager(learner: Learner) -> Callable[..., Taken]:
    return lambda *arguments: take_step(learner, *arguments)


def epoch_of(config: TrainingConfig, step_of: Callable[[Learner], Any]) -> list[Tensor]:
    """Return the losses and norms of an epoch, and the weights after it."""
    learner = Learner(config, 0, CPU)
    train = Training(config, 0).data.train
    step = step_of(learner)
    assert len(train) % config.batch_size > 0
    told: list[Tensor] = []
    for batch, moment in learner.batches(train, 0):
        told += step(batch, moment)
    return [*told, *(parameter.detach().clone() for parameter in learner.parameters)]


class GraphOnTheCpu:
    """Stands for `torch.cuda.CUDAGraph`: what is captured is not done, and is done by `replay`."""

    steps: ClassVar[CapturedSteps]
    num_replays: ClassVar[int] = 0

    def __init__(self) -> None:
        self.recorder = Recorder()

    def register_generator_state(self, generator: torch.Generator) -> None:
        assert generator is self.steps.learner.drawn_from

    @contextmanager
    def capture(self) -> Generator[None]:
        learner = self.steps.learner
        held = [*learner.parameters, *learner.network.buffers()]
        held += [value for state in learner.optimiser.state.values() for value in state.values()]
        before, chance = (
            [tensor.detach().clone() for tensor in held],
            learner.drawn_from.get_state(),
        )
        with self.recorder:
            yield
        with torch.no_grad():
            for tensor, value in zip(held, before, strict=True):
                tensor.copy_(value)
        learner.drawn_from.set_state(chance)

    def replay(self) -> None:
        """Do all again; tensors of the capture get the values of now, as those of a graph do."""
        GraphOnTheCpu.num_replays += 1
        self.recorder.replay(vars(self.steps)["_taken"])


@pytest.fixture
def _graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GraphOnTheCpu, "num_replays", 0)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", GraphOnTheCpu)
    monkeypatch.setattr(torch.cuda, "graph", GraphOnTheCpu.capture)
    monkeypatch.setattr(captured, "_step_on_another_stream", StepInTensors.take)


def capturing(learner: Learner) -> CapturedSteps:
    steps = GraphOnTheCpu.steps = CapturedSteps(learner)
    vars(steps)["_is_possible"] = True
    return steps


@pytest.mark.parametrize("config", CONFIGS.values(), ids=list(CONFIGS))
@pytest.mark.usefixtures("_graphs")
def test_replayed_steps_are_the_steps_to_the_last_bit(config: dict[str, Any]) -> None:
    """The smaller last batch among them."""
    expected, replayed = epoch_of(of(config), eager), epoch_of(of(config), capturing)
    assert GraphOnTheCpu.num_replays > 3
    assert all(
        torch.equal(actual, reference) for actual, reference in zip(replayed, expected, strict=True)
    )


class LossOfNumbers(Loss):
    """A loss that makes a number of Python of the training's progress."""

    kind: Literal["numbers"] = "numbers"

    def loss(
        self,
        lengths: Float[Tensor, "batch classes"],
        labels: Shaped[Tensor, "batch ..."],
        progress: Any,
    ) -> Float[Tensor, ""]:
        return (1 + float(progress)) * lengths.square().sum()


@pytest.mark.usefixtures("_graphs")
def test_a_number_that_a_graph_would_keep_is_noticed() -> None:
    config = of({}).model_copy(update={"loss": LossOfNumbers()})
    expected, replayed = epoch_of(config, eager), epoch_of(config, capturing)
    assert not all(
        torch.equal(actual, reference) for actual, reference in zip(replayed, expected, strict=True)
    )


@pytest.mark.usefixtures("_graphs")
def test_a_step_that_cannot_be_captured_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said once."""

    @contextmanager
    def refused(_: GraphOnTheCpu) -> Generator[None]:
        raise RuntimeError("operation not permitted when stream is capturing\nand more")
        yield

    monkeypatch.setattr(torch.cuda, "graph", refused)
    with pytest.warns(UserWarning, match="operation by operation: operation not perm") as said:
        replayed = epoch_of(of({}), capturing)
    assert len(said) == 1
    expected = epoch_of(of({}), eager)
    assert all(
        torch.equal(actual, reference) for actual, reference in zip(replayed, expected, strict=True)
    )


def test_on_the_cpu_a_training_with_graphs_is_one_without() -> None:
    config = of(CONFIGS["draws"])
    plain, graphs = Training(config, 0), Training(config, 0, cuda_graph=True)
    pairs = zip(plain, graphs, strict=True)
    assert all(
        plain_epoch.train_loss == graph_epoch.train_loss for plain_epoch, graph_epoch in pairs
    )
