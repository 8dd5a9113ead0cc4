import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from capsmodel import EpochMetrics, Training, TrainingConfig, build_model
from capsmodel.chance import stream
from capsmodel.data import Digits
from capsmodel.losses import CrossEntropy, MarginLoss
from capsmodel.models import CapsNet, MatrixCapsNet, Network
from capsmodel.models.base import recomputed
from capsmodel.models.capsnet import CapsuleNetwork
from capsmodel.routing import ROUTINGS, EMRouting, RandomRouting, Routing
from capsmodel.stopping import FixedEpochs
from tests.capsmodel.small_config import small_config, small_model

WEIGHT = torch.linspace(-1, 1, 12).view(3, 4)
INPUT = torch.linspace(0.1, 2, 6).view(2, 3)


def chancy(rows: Tensor, weight: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return two tensors that depend on inputs and chance, and keep much for the gradient."""
    mask = torch.rand(rows.shape[0], 4, generator=generator)
    hidden = ((rows @ weight) * mask).tanh()
    noise = torch.randn(4, generator=generator)
    return (hidden * noise).sigmoid(), hidden.square().sum()


def plain(
    function: Callable[..., tuple[Tensor, Tensor]], *inputs: Tensor, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    return function(*inputs, generator)


def everything(call: Callable[..., tuple[Tensor, Tensor]], backwards: int = 1) -> list[Tensor]:
    """Return results, gradients, and the generator's state after forward and after backward."""
    inputs = [INPUT.clone().requires_grad_(), WEIGHT.clone().requires_grad_()]
    generator = stream(3, "test")
    results = call(chancy, *inputs, generator=generator)
    between = generator.get_state()
    torch.rand(5, generator=generator)  # what others draw before the backward pass
    for _ in range(backwards):
        (results[0].sum() + results[1]).backward(retain_graph=True)
    gradients = [leaf.grad for leaf in inputs if leaf.grad is not None]
    return [*results, *gradients, between, generator.get_state()]


@pytest.mark.parametrize("backwards", [1, 2])
def test_results_gradients_and_generators_are_those_of_a_plain_call(backwards: int) -> None:
    ours, theirs = (everything(call, backwards) for call in (recomputed, plain))
    assert len(ours) == len(theirs) == 6
    assert all(torch.equal(actual, expected) for actual, expected in zip(ours, theirs, strict=True))


def test_the_function_is_called_once_more_for_the_gradient_alone() -> None:
    states: list[Tensor] = []

    def recorded(rows: Tensor, generator: torch.Generator) -> Tensor:
        states.append(generator.get_state())
        return (rows * torch.rand(3, generator=generator)).exp()

    generator = stream(0, "test")
    with torch.no_grad():
        recomputed(recorded, INPUT.clone().requires_grad_(), generator=generator)
    assert len(states) == 1
    result = recomputed(recorded, INPUT.clone().requires_grad_(), generator=generator)
    result.sum().backward()
    assert len(states) == 3
    assert torch.equal(states[1], states[2])
    assert not torch.equal(states[0], states[1])


def test_it_works_without_gradients() -> None:
    with torch.inference_mode():
        ours, theirs = (
            call(chancy, INPUT, WEIGHT, generator=stream(3, "test")) for call in (recomputed, plain)
        )
    assert torch.equal(ours[0], theirs[0])


def test_the_global_generator_does_not_move() -> None:
    before = torch.get_rng_state()
    everything(recomputed)
    assert torch.equal(torch.get_rng_state(), before)


# In a training.


def finished(training: Training, folder: Path) -> tuple[list[EpochMetrics], dict[str, Tensor]]:
    for _ in training:
        pass
    training.save(folder / "finished")
    history = [dataclasses.replace(metrics, duration_seconds=0.0) for metrics in training.history]
    return history, load_file(folder / "finished")


def same(first: tuple[Any, dict[str, Tensor]], second: tuple[Any, dict[str, Tensor]]) -> bool:
    (history, tensors), (other_history, others) = first, second
    assert tensors.keys() == others.keys()
    return history == other_history and all(torch.equal(tensors[n], others[n]) for n in tensors)


def config_of(routing: Routing) -> TrainingConfig:
    loss = CrossEntropy() if routing.judged_by_scores else MarginLoss()
    return few_images(model=small_model(routing=routing), loss=loss)


def few_images(**changes: Any) -> TrainingConfig:
    """Return a training of two epochs with two steps each, the second of a smaller batch."""
    data = Digits(fraction=0.2)
    return small_config(data=data, stopping=FixedEpochs(epochs=2), **changes)


def matrix_config(routing: Routing) -> TrainingConfig:
    """Return a training of two layers of capsules."""
    types = dict.fromkeys(("primary_types", "first_types"), 2)
    model = MatrixCapsNet(
        conv_channels=4, conv_kernel=3, conv_stride=1, second_types=0, routing=routing, **types
    )
    return few_images(model=model)


@pytest.mark.parametrize(
    "config",
    # in two layers the default, and one that draws in each
    [
        *(config_of(routing()) for routing in ROUTINGS),
        *map(matrix_config, (EMRouting(), RandomRouting())),
    ],
    ids=lambda config: f"{config.model.kind}-{config.model.routing.kind}",
)
def test_a_training_with_checkpointing_is_one_without_to_the_last_bit(
    tmp_path: Path, config: TrainingConfig
) -> None:
    ours = finished(Training(config, seed=1, checkpointing=True), tmp_path)
    assert same(ours, finished(Training(config, seed=1), tmp_path))


@pytest.mark.parametrize("before", [False, True])
def test_a_training_may_go_on_with_checkpointing_or_without(
    tmp_path: Path, *, before: bool
) -> None:
    config = config_of(RandomRouting())
    unbroken = finished(Training(config, seed=1), tmp_path)
    broken = Training(config, seed=1, checkpointing=before)
    next(iter(broken))
    broken.save(tmp_path / "checkpoint")
    path = tmp_path / "checkpoint"
    restored = Training.restore(path, config, seed=1, checkpointing=not before)
    assert same(finished(restored, tmp_path), unbroken)


class CountingCapsNet(CapsNet):
    kind: Literal["counting"] = "counting"  # pyright: ignore[reportIncompatibleVariableOverride]
    calls: ClassVar[list[None]] = []

    def build(self, image_shape: tuple[int, int, int], num_classes: int) -> CapsuleNetwork:
        network = super().build(image_shape, num_classes)
        network.capsules.register_forward_pre_hook(lambda *_: self.calls.append(None))
        return network


def test_each_step_computes_the_capsules_twice_where_a_training_is_told_so(
    tmp_path: Path,
) -> None:
    settings = small_model().model_dump(mode="json") | {"kind": "counting"}
    config = small_config(model=CountingCapsNet.model_validate(settings))

    def calls_of_an_epoch(training: Training) -> int:
        CountingCapsNet.calls.clear()
        next(iter(training))
        return len(CountingCapsNet.calls)

    steps, evaluations = 7, 1
    first = Training(config, seed=0, checkpointing=True)
    assert calls_of_an_epoch(first) == 2 * steps + evaluations
    first.save(tmp_path / "checkpoint")
    for checkpointing in (True, False):
        path = tmp_path / "checkpoint"
        restored = Training.restore(path, config, seed=0, checkpointing=checkpointing)
        assert calls_of_an_epoch(restored) == (1 + checkpointing) * steps + evaluations


def kept_bytes(network: Network) -> int:
    """Return the memory of all that a forward pass keeps for the gradient, parameters apart."""
    parameters = {parameter.data_ptr() for parameter in network.parameters()}
    saved_sizes: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        memory = tensor.untyped_storage()
        if memory.data_ptr() not in parameters:
            saved_sizes[memory.data_ptr()] = memory.nbytes()
        return tensor

    images, labels = torch.rand(32, 1, 8, 8), torch.zeros(32, dtype=torch.long)
    with saved_tensors_hooks(pack, lambda tensor: tensor):
        outputs = network(images, labels, stream(0, "routing"))
    assert outputs.lengths.requires_grad
    return sum(saved_sizes.values())


@pytest.mark.parametrize("hidden", [(), (10, 10)], ids=["one layer", "three layers"])
def test_checkpointing_keeps_no_votes_and_no_shares_of_them(hidden: tuple[int, ...]) -> None:
    model = small_model(hidden_capsules=hidden, hidden_dim=4, hidden_batch_norm=True)
    network = build_model(small_config(model=model)).to_empty(device="cpu")
    network.initialise(0)
    without = kept_bytes(network)
    network.checkpointing = True
    inputs = sum((8, *hidden))
    votes = 32 * inputs * 10 * 4 * 4  # images, inputs, outputs, pose, bytes of a number
    shares = 2 * 32 * inputs * 10 * 4  # of the two rounds that share by agreement
    assert kept_bytes(network) <= without - votes - shares


def test_checkpointing_computes_hidden_layers_anew_and_counts_each_batch_once(
    tmp_path: Path,
) -> None:
    model = small_model(hidden_capsules=(6, 6), hidden_batch_norm=True, hidden_skip=True)
    config = few_images(model=model)
    ours = finished(Training(config, seed=1, checkpointing=True), tmp_path)
    assert same(ours, finished(Training(config, seed=1), tmp_path))
