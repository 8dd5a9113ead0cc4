"""How capsmodel does on a GPU: agreement with the CPU, steps, epochs, trials at once, MNIST.

    CAPSWEEP_DATA=... python -m benchmarks.gpu [PART ...] [--into FOLDER] [--device cuda]

Parts, all by default: agreement, steps, epoch, graph, trials, mnist. Each takes at most 8 minutes
on a recent GPU. A part that is started again resumes: every measurement is a line of
FOLDER/results.jsonl, and `mnist` saves its network every five epochs. FOLDER/report.md is written
from all lines. It needs capsmodel alone, and MNIST's files for `epoch` and `mnist`.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from benchmarks.literal_forms import LiteralCapsules, make_literal
from capsmodel import Training, TrainingConfig
from capsmodel.augmentation import Shift
from capsmodel.config import num_parameters
from capsmodel.data import Mnist
from capsmodel.layers import (
    Backbone,
    CapsuleCell,
    Capsules,
    Classifier,
    ConvCapsules,
    Convolution,
    ConvolutionStack,
    Decoder,
    GridPrimaryCapsules,
    HomogeneousCapsules,
    NormalisedStack,
    PreNormConvolution,
    PreNormPrimaryCapsules,
    PrimaryCapsules,
    ResidualBlock,
    RoutedGrid,
    Window,
)
from capsmodel.layers.capsule_grid import CapsuleGrid
from capsmodel.losses import CrossEntropy, Loss, MarginLoss, Sigmoid, SigmoidMargins, SpreadLoss
from capsmodel.models import (
    CapsNet,
    ConvNet,
    DeepCaps,
    EfficientCapsNet,
    HeinsenNet,
    HomogeneousCapsNet,
    InvertedAttentionNet,
    MatrixCapsNet,
    Model,
    Network,
    SelfRoutingNet,
)
from capsmodel.reconstruction import FullyConnectedDecoder
from capsmodel.routing import (
    DynamicRouting,
    EMRouting,
    HeinsenRouting,
    InvertedAttentionRouting,
    LeakyRouting,
    LearnedLogits,
    NormalLogits,
    RandomRouting,
    Routing,
    SelfAttentionRouting,
    SelfRouting,
    UniformRouting,
    VariationalBayesRouting,
)
from capsmodel.squash import ExponentialSquash
from capsmodel.stopping import FixedEpochs

PRECISIONS = ("fp32", "TF32", "bf16")
LIMITS = {"double": 1e-10, "single": 2e-4}
"""Largest relative difference from the CPU in the same precision that counts as agreement."""
_TYPES = {"double": torch.float64, "single": torch.float32}

ROUTINGS: dict[str, Routing] = {
    "dynamic": DynamicRouting(),
    "dynamic, 1 iteration": DynamicRouting(iterations=1),
    "dynamic, 5 iterations and bias": DynamicRouting(iterations=5, bias=True),
    "dynamic, last gradient": DynamicRouting(gradient="last"),
    "dynamic, learned logits": DynamicRouting(initial_logits=LearnedLogits()),
    "dynamic, normal logits": DynamicRouting(initial_logits=NormalLogits()),
    "dynamic, exponential squash": DynamicRouting(squash=ExponentialSquash()),
    "dynamic, children compete": DynamicRouting(competition="children"),
    "dynamic, types compete": DynamicRouting(competition="types"),
    "leaky": LeakyRouting(),
    "leaky, bias": LeakyRouting(bias=True),
    "uniform": UniformRouting(),
    "random": RandomRouting(),
    "em": EMRouting(),
    "em, official": EMRouting.of_profile("official"),
    "em, normalised": EMRouting.of_profile("normalised"),
    "em, last gradient": EMRouting(gradient="last"),
    "heinsen": HeinsenRouting(),
    "inverted_attention": InvertedAttentionRouting(iterations=3),
    "self_routing": SelfRouting(),
    "variational_bayes": VariationalBayesRouting(),
    "self_attention": SelfAttentionRouting(),
}
LOSSES: dict[str, Loss] = {
    "margin": MarginLoss(),
    "margin, official": MarginLoss.of_profile("official"),
    "margin, moving": MarginLoss(schedule=SigmoidMargins()),
    "margin, class weights": MarginLoss(class_weights=tuple(range(1, 11))),
    "spread": SpreadLoss(),
    "sigmoid": Sigmoid(),
    "cross_entropy": CrossEntropy(),
}
MODELS: dict[str, tuple[Model, int]] = {  # and the side of its images
    "capsnet": (CapsNet(), 28),
    "capsnet, official": (CapsNet.of_profile("official"), 28),
    "capsnet, leaky and batch norm": (CapsNet(routing=LeakyRouting(), batch_norm=True), 28),
    "matrix_capsnet, small": (
        MatrixCapsNet(conv_channels=64, primary_types=8, first_types=16, second_types=16),
        32,
    ),
    "matrix_capsnet, official": (
        MatrixCapsNet.of_profile("official", primary_types=8, first_types=8, second_types=8),
        32,
    ),
    "matrix_capsnet, variational Bayes": (MatrixCapsNet.variational_bayes(), 32),
    "efficient_capsnet": (EfficientCapsNet(), 28),
    "efficient_capsnet, instances": (
        EfficientCapsNet(conv_stride=(1, 1, 1, 2), norm="instance", primary_kernel=9),
        28,
    ),
    "deepcaps, official": (
        DeepCaps.of_profile(
            "official", conv_channels=32, types=8, reconstruction=FullyConnectedDecoder()
        ),
        32,
    ),
    "self_routing_net": (SelfRoutingNet(depth=2), 32),
    "self_routing_net, small": (
        SelfRoutingNet(
            backbone="small",
            channels=64,
            types=8,
            depth=2,
            pose_kind="matrix",
            routing=EMRouting(),
        ),
        32,
    ),
    "self_routing_net, linear": (SelfRoutingNet(backbone="conv", head="linear"), 32),
    "inverted_attention_net": (InvertedAttentionNet(channels=16, types=8), 32),
    "homogeneous_capsnet": (HomogeneousCapsNet(branch_weights="ones"), 28),
    "heinsen_net": (HeinsenNet(types=16, parts=16), 48),
    "cnn": (ConvNet(conv_channels=(64, 64), dropout=0.0), 28),
}


@dataclass(frozen=True)
class Scale:
    """How much is measured.

    Attributes:
        batch: Images a step.
        channels: Feature maps of the first convolution.
        types: Types of primary capsules.
        rounds: Rounds over the contenders, of which the median is taken.
        steps: Steps a round.
        seconds: How long trials train at once.
        trials: How many at once.
        fraction: Share of MNIST.
        epochs: Of the long training.
        timed_epochs: Of the timed one, the first of which warms up.
        precisions: How single precision is multiplied in steps.
    """

    batch: int = 128
    channels: int = 256
    types: int = 32
    rounds: int = 7
    steps: int = 20
    seconds: float = 8.0
    trials: tuple[int, ...] = (1, 2, 4, 8, 16)
    fraction: float = 1.0
    epochs: int = 50
    timed_epochs: int = 5
    precisions: tuple[str, ...] = PRECISIONS


TINY = Scale(
    batch=4, channels=8, types=2, rounds=1, steps=1, seconds=0.2, trials=(1, 2), fraction=0.005,
    epochs=2, timed_epochs=2, precisions=("fp32", "bf16"),
)  # fmt: skip


class Results:
    """Measurements in a file, one JSON line each, so that what is there is not measured again."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.path = folder / "results.jsonl"

    def lines(self, part: str) -> list[dict[str, Any]]:
        """Return the measurements of a part, in the order in which they were made."""
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        return [line for line in map(json.loads, text.splitlines()) if line["part"] == part]

    def has(self, part: str, name: str) -> bool:
        return any(line["name"] == name for line in self.lines(part))

    def add(self, part: str, name: str, **figures: Any) -> None:
        line = {"part": part, "name": name, **figures}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)


def set_precision(precision: str) -> None:
    """Set how single precision is multiplied from now on: in full, or as TF32."""
    mode = "tf32" if precision == "TF32" else "ieee"
    torch.backends.cuda.matmul.fp32_precision = mode
    torch.backends.cudnn.conv.fp32_precision = mode  # pyright: ignore[reportAttributeAccessIssue]


def autocast(precision: str, device: torch.device) -> AbstractContextManager[Any]:
    """Return the context of a forward pass."""
    return torch.autocast(device.type, torch.bfloat16) if precision == "bf16" else nullcontext()


# agreement


class Case(NamedTuple):
    """Something to compute on two devices.

    Attributes:
        module: Holds the weights, set, in double precision on the CPU.
        inputs: In double precision on the CPU; all have gradients.
        call: Returns the outputs of module, inputs and device.
    """

    module: nn.Module
    inputs: tuple[Tensor, ...]
    call: Callable[..., Sequence[Tensor]]


def cases(scale: Scale) -> Iterator[tuple[str, Callable[[], Case]]]:
    """Yield the name of each thing that is compared, and what builds it."""
    for name, routing in ROUTINGS.items():
        yield f"capsules, {name}", partial(capsules_case, routing)
        for stride in (1, 2) if routing.takes_grids else ():
            yield (
                f"convolutional capsules, stride {stride}, {name}",
                partial(conv_capsules_case, routing, stride),
            )
        yield f"class capsules of all places, {name}", partial(all_places_case, routing)
    for name, build in layer_cases().items():
        yield name, build
    for name, loss in LOSSES.items():
        yield f"loss {name}", partial(loss_case, loss)
    for name, (model, side) in MODELS.items():
        if isinstance(model, CapsNet):
            sizes = {"conv_channels": scale.channels, "primary_types": scale.types}
            yield f"model {name}", partial(model_case, model.model_copy(update=sizes), side)
        else:
            yield f"model {name}", partial(model_case, model, side)


def capsules_case(routing: Routing) -> Case:
    def call(layer: Capsules, poses: Tensor) -> Sequence[Tensor]:
        return layer(poses, seeded(2))[:2]

    return Case(set_up(Capsules(72, 8, 10, 16, routing=routing)), (0.3 * normal(6, 72, 8),), call)


def conv_capsules_case(routing: Routing, stride: int) -> Case:
    return grid_case(ConvCapsules(4, 5, (5, 6), 3, routing=routing, stride=stride), places=30)


def all_places_case(routing: Routing) -> Case:
    return grid_case(ConvCapsules(4, 5, (3, 2), "all", routing=routing), places=6)


def grid_case(layer: ConvCapsules, places: int) -> Case:
    def call(layer: ConvCapsules, poses: Tensor, activations: Tensor) -> Sequence[Tensor]:
        return layer(CapsuleGrid(poses, activations), seeded(2))[:2]

    return Case(set_up(layer), (normal(3, places, 4, 16), uniform(3, places, 4)), call)


def layer_cases() -> dict[str, Callable[[], Case]]:
    """Return the layers without routing: name -> what builds the case."""

    def returned(layer: nn.Module, *inputs: Tensor) -> Sequence[Tensor]:
        value = layer(*inputs)
        return (value,) if isinstance(value, Tensor) else value

    def case(build: Callable[[], nn.Module], *shape: int) -> Callable[[], Case]:
        return lambda: Case(set_up(build()), (normal(*shape),), returned)

    shape = (4, 6, 12, 11)
    return {
        "convolution": case(
            lambda: Convolution(6, 8, Window.of(3, 2, "same"), batch_norm=True), *shape
        ),
        "convolution stack": case(lambda: ConvolutionStack((6, 8, 4), 3, 2), *shape),
        "primary capsules": case(lambda: PrimaryCapsules(6, 4, 8, 5, stride=2), *shape),
        "primary capsules, leaky": case(
            lambda: PrimaryCapsules(6, 4, 8, 5, coupling="leaky", grouping="pixels"), *shape
        ),
        "grid of primary capsules": case(lambda: GridPrimaryCapsules(6, 4, 16), *shape),
        "grid of squashed capsules": case(
            lambda: GridPrimaryCapsules(6, 4, 16, with_activations=False), *shape
        ),
        "cell of capsule maps": case(lambda: CapsuleCell(6, 4, 8), *shape),
        "cell of capsule maps, routed": case(
            lambda: CapsuleCell(6, 4, 8, RoutedGrid(4, 8, 4, 8)), *shape
        ),
        "residual blocks": case(
            lambda: Backbone(
                [ResidualBlock(6, 8, 2), ResidualBlock(8, 12, 2, shortcut="projected")]
            ),
            *shape,
        ),
        "grid of normalised capsules": case(
            lambda: GridPrimaryCapsules(6, 4, 16, window=Window(3, 1, 1), batch_norm=True), *shape
        ),
        "grid of capsules normalised by type": case(
            lambda: GridPrimaryCapsules(6, 4, 16, type_norm=True), *shape
        ),
        "grid of normalised poses": case(
            lambda: GridPrimaryCapsules(6, 4, 16, with_activations=False, pose_norm=True), *shape
        ),
        "convolution of normalised maps": case(
            lambda: PreNormConvolution(6, 8, Window(3, 2)), *shape
        ),
        "grid of capsules of normalised maps": case(
            lambda: PreNormPrimaryCapsules(6, 4, 16), *shape
        ),
        "normalised convolutions": case(lambda: NormalisedStack((6, 8, 4), 3, (1, 2)), *shape),
        "normalised instances": case(
            lambda: NormalisedStack((6, 8, 4), (3, 2), norm="instance"), *shape
        ),
        "homogeneous capsules": case(lambda: HomogeneousCapsules(40, 10, 16), 5, 40, 16),
        "decoder": case(lambda: Decoder(160, (32, 64), (1, 9, 9)), 5, 160),
        "classifier": case(lambda: Classifier(40, (32,), 10, 0.0), 5, 40),
    }


def loss_case(loss: Loss) -> Case:
    def call(_: nn.Module, lengths: Tensor) -> Sequence[Tensor]:
        return [loss.loss(lengths, classes(12).to(lengths.device), 0.4).unsqueeze(0)]

    return Case(nn.Identity(), (uniform(12, 10),), call)


def model_case(model: Model, side: int) -> Case:
    loss = SpreadLoss() if isinstance(model, MatrixCapsNet) else MarginLoss()

    def call(network: Network, images: Tensor) -> Sequence[Tensor]:
        labels = classes(4).to(images.device)
        outputs = network(images, labels, seeded(2))
        total = loss.judge(outputs, labels, 0.5) + network.penalty(outputs, images)
        drawn = outputs.reconstructions
        return [outputs.lengths, total.unsqueeze(0), *(() if drawn is None else (drawn,))]

    network = model.build((1, side, side), 10)
    network.initialise(0)
    return Case(network.double(), (uniform(4, 1, side, side),), call)


def set_up(layer: Any) -> nn.Module:
    layer.initialise(seeded(3))
    return layer.double()


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(*shape: int) -> Tensor:
    return torch.randn(shape, generator=seeded(1), dtype=torch.float64)


def uniform(*shape: int) -> Tensor:
    return torch.rand(shape, generator=seeded(1), dtype=torch.float64)


def classes(count: int) -> Tensor:
    return torch.arange(count) * 3 % 10


class Numbers(NamedTuple):
    """Values and gradients of a case, on the CPU in double precision."""

    values: list[Tensor]
    gradients: list[Tensor]


def computed(case: Case, device: torch.device, dtype: torch.dtype) -> Numbers:
    """Return the numbers of a case on a device."""
    module = deepcopy(case.module).to(device, dtype)
    inputs = [value.to(device, dtype).requires_grad_() for value in case.inputs]
    outputs = case.call(module, *inputs)
    total = torch.stack([output.sin().square().sum() for output in outputs]).sum()
    learned = [*inputs, *module.parameters()]
    # what is not used has a gradient of zero
    gradients = torch.autograd.grad(total, learned, allow_unused=True, materialize_grads=True)
    return Numbers(
        *([tensor.detach().cpu().double() for tensor in each] for each in (outputs, gradients))
    )


def difference(actual: Numbers, expected: Numbers) -> float:
    """Return the largest relative difference of an output or gradient, NaN if any is NaN.

    A tensor next to nothing beside the largest one, such as the gradient of a bias before a batch
    normalisation, is taken relative to that.
    """
    differences: list[float] = []
    for numbers, others in zip(actual, expected, strict=True):
        least = 1e-3 * max(float(tensor.norm()) for tensor in others)
        for tensor, other in zip(numbers, others, strict=True):
            differences.append(float((tensor - other).norm()) / max(float(other.norm()), least))
    return max(differences) if all(value == value for value in differences) else float("nan")


def agreement(results: Results, device: torch.device, scale: Scale) -> None:
    """Compare every layer, routing, loss and model with the CPU, in double and single precision."""
    set_precision("fp32")
    cpu = torch.device("cpu")
    for name, build in cases(scale):
        if results.has("agreement", name):
            continue
        case = build()
        expected = {kind: computed(case, cpu, dtype) for kind, dtype in _TYPES.items()}
        figures = {
            kind: difference(computed(case, device, dtype), expected[kind])
            for kind, dtype in _TYPES.items()
        }
        agrees = all(figures[kind] <= limit for kind, limit in LIMITS.items())
        rounding = difference(expected["single"], expected["double"])
        results.add("agreement", name, agrees=agrees, **figures, rounding=rounding)


# steps


def layer_step(form: str, precision: str, device: torch.device, scale: Scale) -> Callable[[], None]:
    """Return a step of the class capsules of the paper alone, to inputs and weights."""
    in_caps = 36 * scale.types
    layer: nn.Module = (
        LiteralCapsules(in_caps, 8, 10, 16)
        if form == "literal"
        else set_up(Capsules(in_caps, 8, 10, 16)).float()
    )
    layer.to(device)
    inputs = (0.3 * normal(scale.batch, in_caps, 8)).float().to(device).requires_grad_()

    def step() -> None:
        layer.zero_grad(set_to_none=True)
        inputs.grad = None
        with autocast(precision, device):
            total = layer(inputs).poses.square().sum()
        total.backward()

    return step


def network_step(
    model: Model, form: str, precision: str, device: torch.device, batch: int, side: int
) -> Callable[[], None]:
    """Return a whole step of training: forward, loss, backward, Adam."""
    network = model.build((1, side, side), 10)
    network.initialise(0)
    if form == "literal":
        make_literal(network)
    network.to(device)
    is_graph = form == "graph"
    optimiser = torch.optim.Adam(network.parameters(), fused=True, capturable=is_graph)
    images = uniform(batch, 1, side, side).float().to(device)
    labels = classes(batch).to(device)
    loss = SpreadLoss() if isinstance(model, MatrixCapsNet) else MarginLoss()

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        with autocast(precision, device):
            outputs = network(images, labels)
            total = loss.judge(outputs, labels, 0.5) + network.penalty(outputs, images)
        total.backward()
        optimiser.step()

    return step


class CapturedStep:
    """A step as a CUDA graph, captured once and replayed; it keeps the tensors of the step."""

    def __init__(self, step: Callable[[], None]) -> None:
        self.step = step
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            step()

    def __call__(self) -> None:
        self.graph.replay()


def step_builders(
    device: torch.device, scale: Scale
) -> dict[str, Callable[[str, str], Callable[[], None]]]:
    """Return the workloads: title -> what builds a step of form and precision."""
    capsnet = CapsNet(conv_channels=scale.channels, primary_types=scale.types)
    types = min(16, 4 * scale.types)
    matrices = MatrixCapsNet(
        conv_channels=64, primary_types=8, first_types=types, second_types=types
    )

    def network_steps(
        model: Model, side: int, batch: int
    ) -> Callable[[str, str], Callable[[], None]]:
        return lambda form, precision: network_step(model, form, precision, device, batch, side)

    batch, half = scale.batch, scale.batch // 2
    return {
        f"class capsules, {36 * scale.types} to 10, batch {batch}": lambda form, precision: (
            layer_step(form, precision, device, scale)
        ),
        f"CapsNet, batch {batch}": network_steps(capsnet, 28, batch),
        f"small CapsNet, batch {half}": network_steps(small_model(), 28, half),
        f"matrix capsules with EM, batch {half}": network_steps(matrices, 32, half),
    }


def small_model() -> CapsNet:
    """Return a network as people sweep it: most of a card stays idle."""
    return CapsNet(
        conv_channels=32, primary_types=8, reconstruction=FullyConnectedDecoder(hidden=(128,))
    )


def steps(results: Results, device: torch.device, scale: Scale) -> None:
    """Time steps of each workload by each form in each precision, in turn."""
    forms = ("ours", "graph", "literal") if device.type == "cuda" else ("ours", "literal")
    for title, build in step_builders(device, scale).items():
        for precision in scale.precisions:
            name = f"{title}, {precision}"
            if results.has("steps", name):
                continue
            set_precision(precision)
            contenders: dict[str, Callable[[], object]] = {}
            figures: dict[str, Any] = {}
            for form in forms:
                try:
                    step = build(form, precision)
                    figures[f"{form} MiB"] = peak_of(step, device)
                    contenders[form] = CapturedStep(step) if form == "graph" else step
                except RuntimeError as error:
                    figures[f"{form} failed"] = str(error).splitlines()[0]
            figures |= timed(contenders, device, scale)
            results.add("steps", name, **figures)
            contenders.clear()
            release(device)


def peak_of(step: Callable[[], object], device: torch.device) -> float:
    """Return the most MiB of the device that a step holds, after two to warm up."""
    if device.type != "cuda":
        step()
        return 0.0
    release(device)
    torch.cuda.reset_peak_memory_stats(device)
    for _ in range(3):
        step()
    torch.cuda.synchronize(device)
    return torch.cuda.max_memory_allocated(device) / 2**20


def release(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.empty_cache()


def timed(
    contenders: dict[str, Callable[[], object]], device: torch.device, scale: Scale
) -> dict[str, list[float]]:
    """Return milliseconds a step of each contender: least, median and largest of the rounds."""
    rounds: dict[str, list[float]] = {form: [] for form in contenders}
    for number in range(scale.rounds + 1):
        for form, step in contenders.items():
            synchronise(device)
            start = time.perf_counter()
            for _ in range(scale.steps):
                step()
            synchronise(device)
            taken = 1000 * (time.perf_counter() - start) / scale.steps
            if number:  # the first one warms up
                rounds[form].append(taken)
    return {
        form: [min(taken), statistics.median(taken), max(taken)] for form, taken in rounds.items()
    }


def synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


# epochs of MNIST


def mnist_config(profile: str, epochs: int, scale: Scale) -> TrainingConfig:
    """Return the training of a published profile on MNIST, images moved by up to two pixels."""
    model = CapsNet.of_profile(profile, conv_channels=scale.channels, primary_types=scale.types)
    config = TrainingConfig.of_profile(
        f"sabour2017_{profile}",
        data=Mnist(fraction=scale.fraction),
        augmentation=Shift(pixels=2),
        stopping=FixedEpochs(epochs=epochs),
        batch_size=scale.batch,
    )
    return config.model_copy(update={"model": model})


def epoch(results: Results, device: torch.device, scale: Scale) -> None:
    """Time epochs of the paper's training as `Training` runs them, validation included."""
    for precision in PRECISIONS[:2]:
        if results.has("epoch", precision):
            continue
        set_precision(precision)
        training = Training(mnist_config("paper", scale.timed_epochs, scale), 0, device)
        seconds = [metrics.duration_seconds for metrics in training]
        num_images = len(training.data.train)
        results.add("epoch", precision, images=num_images, first=seconds[0], seconds=seconds[1:])


def graph(results: Results, device: torch.device, scale: Scale) -> None:
    """Time trainings whose steps are CUDA graphs, beside the same ones operation by operation."""
    set_precision("TF32")
    paper = mnist_config("paper", scale.timed_epochs, scale)
    small = paper.model_copy(update={"model": small_model(), "batch_size": scale.batch // 2})
    for title, config in (("paper's network", paper), ("small network", small)):
        for form in ("eager", "graph"):
            name = f"{title}, {form}"
            if results.has("graph", name):
                continue
            training = Training(config, 0, device, cuda_graph=form == "graph")
            epochs = list(training)
            results.add(
                "graph",
                name,
                seconds=[metrics.duration_seconds for metrics in epochs[1:]],
                losses=[metrics.train_loss for metrics in epochs],
            )


def mnist(results: Results, device: torch.device, scale: Scale) -> None:
    """Train both profiles to the end; the test split is looked at once."""
    set_precision("TF32")
    for profile in ("paper", "official"):
        if results.has("mnist", profile):
            continue
        config = mnist_config(profile, scale.epochs, scale)
        saved = results.folder / f"mnist_{profile}.safetensors"
        training = (
            Training.restore(saved, config, 0, device)
            if saved.exists()
            else Training(config, 0, device)
        )
        for metrics in training:
            if metrics.epoch % 5 == 0 or training.is_done:
                training.save(saved)
                print(profile, metrics.epoch, metrics.validation_error, flush=True)
        test = training.test()
        num_wrong = int((test.predictions != test.labels).sum())
        results.add(
            "mnist",
            profile,
            epochs=scale.epochs,
            parameters=num_parameters(config),
            wrong=num_wrong,
            images=len(test.labels),
            interval=wilson(num_wrong, len(test.labels)),
            seconds=sum(metrics.duration_seconds for metrics in training.history),
            validation_error=training.history[-1].validation_error,
        )
        saved.unlink()


def wilson(wrong: int, images: int) -> list[float]:
    """Return the 95 % interval of a share, after Wilson 1927."""
    z = 1.96
    middle = (wrong + z**2 / 2) / (images + z**2)
    half = z / (images + z**2) * (wrong * (images - wrong) / images + z**2 / 4) ** 0.5
    return [middle - half, middle + half]


# trials at once


def trials(results: Results, device: torch.device, scale: Scale) -> None:
    """Count the steps of 1 to 16 processes that train a small network on one device at once."""
    for count in scale.trials:
        name = f"{count} at once"
        if results.has("trials", name):
            continue
        command = [sys.executable, "-m", "benchmarks.gpu", "--serve", device.type]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "SECONDS": str(scale.seconds)}
        if scale is TINY:
            environment["TINY"] = "1"
        processes = [
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
            )
            for _ in range(count)
        ]
        for process in processes:  # until all are warm
            assert process.stdout
            process.stdout.readline()
        for process in processes:
            assert process.stdin
            process.stdin.write("go\n")
            process.stdin.flush()
        answers = [json.loads(process.communicate()[0]) for process in processes]
        results.add(
            "trials",
            name,
            batch=scale.batch // 2,
            steps_per_second=sum(answer["steps"] / answer["seconds"] for answer in answers),
            mib_each=max(answer["mib"] for answer in answers),
        )


def serve(device: torch.device) -> None:
    """Train a small network from the first line of the input on, for some seconds."""
    scale = TINY if "TINY" in os.environ else Scale()
    torch.set_num_threads(1)
    set_precision("fp32")
    step = network_step(small_model(), "ours", "fp32", device, scale.batch // 2, 28)
    for _ in range(3):
        step()
    synchronise(device)
    print("warm", flush=True)
    sys.stdin.readline()
    start, count, end = time.perf_counter(), 0, float(os.environ["SECONDS"])
    while time.perf_counter() - start < end:
        for _ in range(scale.steps):
            step()
        synchronise(device)
        count += scale.steps
    mib = torch.cuda.max_memory_reserved() / 2**20 if device.type == "cuda" else 0.0
    print(json.dumps({"steps": count, "seconds": time.perf_counter() - start, "mib": mib}))


# report

PARTS: dict[str, Callable[[Results, torch.device, Scale], None]] = {
    "agreement": agreement,
    "steps": steps,
    "epoch": epoch,
    "graph": graph,
    "trials": trials,
    "mnist": mnist,
}


def record_machine(results: Results, device: torch.device) -> None:
    """Record what the measurements are made on."""
    card = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    machine = (
        f"{card}; {os.cpu_count()} cores beside it; {platform.system()}; PyTorch "
        f"{torch.__version__}, Python {platform.python_version()}"
    )
    if not results.has("machine", machine):
        results.add("machine", machine)


def report(results: Results) -> str:
    """Return all measurements that exist as Markdown."""
    lines = [
        "# capsmodel on a GPU",
        "",
        *(f"- {line['name']}" for line in results.lines("machine")),
        *agreement_lines(results.lines("agreement")),
        *steps_lines(results.lines("steps")),
        *epoch_lines(results.lines("epoch")),
        *graph_lines(results.lines("graph")),
        *trials_lines(results.lines("trials")),
        *mnist_lines(results.lines("mnist")),
    ]
    return "\n".join(lines) + "\n"


def agreement_lines(records: list[dict[str, Any]]) -> list[str]:
    if not records:
        return []
    bad = [line["name"] for line in records if not line["agrees"]]
    columns = ("double", "single", "rounding")
    rows = [
        f"| {line['name']} | " + " | ".join(f"{line[column]:.0e}" for column in columns) + " |"
        for line in records
    ]
    return [
        "",
        "## Agreement with the CPU",
        "",
        f"{len(records) - len(bad)} of {len(records)} agree: the largest relative difference of an "
        "output or gradient from the CPU's is at most 1e-10 in double and 2e-4 in full single "
        "precision. The last column is the CPU's single precision against its double; routings "
        "that draw draw other numbers there." + (f" Not: {'; '.join(bad)}." if bad else ""),
        "",
        "| case | double | single | rounding of single |",
        "| :--- | ---: | ---: | ---: |",
        *rows,
    ]


def steps_lines(records: list[dict[str, Any]]) -> list[str]:
    if not records:
        return []
    rows: list[str] = []
    for line in records:
        cells = [line["name"]]
        for form in ("ours", "graph", "literal"):
            times = line.get(form)
            cells.append(f"{times[1]:.2f} ({times[0]:.2f} to {times[2]:.2f})" if times else "-")
        ours, literal = line.get("ours"), line.get("literal")
        cells.append(f"{literal[1] / ours[1]:.1f}" if ours and literal else "-")
        cells.append(f"{line.get('ours MiB', 0):.0f} / {line.get('literal MiB', 0):.0f}")
        rows.append(f"| {' | '.join(cells)} |")
    return [
        "",
        "## Steps of training",
        "",
        "Milliseconds on the wall, median (least to largest) of the rounds, contenders in turn. A "
        "CUDA graph is the whole step, captured once and replayed. Literal: einsum, softmax and "
        "automatic differentiation for vectors; for EM, votes held in full.",
        "",
        "| step | ours | ours as a CUDA graph | literal | literal / ours | MiB ours / literal |",
        "| :--- | ---: | ---: | ---: | ---: | ---: |",
        *rows,
    ]


def epoch_lines(records: list[dict[str, Any]]) -> list[str]:
    if not records:
        return []
    rows = [
        f"| {line['name']} | {line['images']:,} | {line['first']:.2f} "
        f"| {statistics.median(line['seconds']):.2f} |"
        for line in records
    ]
    return [
        "",
        "## An epoch of MNIST",
        "",
        "The paper's network and images moved by up to two pixels, validation included.",
        "",
        "| precision | images | first epoch s | median of the next s |",
        "| :--- | ---: | ---: | ---: |",
        *rows,
    ]


def graph_lines(records: list[dict[str, Any]]) -> list[str]:
    if not records:
        return []
    rows = [
        f"| {line['name']} | {statistics.median(line['seconds']):.2f} "
        f"| {', '.join(f'{loss:.6f}' for loss in line['losses'])} |"
        for line in records
    ]
    return [
        "",
        "## Trainings with steps as CUDA graphs",
        "",
        "`Training(cuda_graph=True)` beside the same training without; the losses should agree to "
        "about four digits, as the learning rate is in single precision in a graph.",
        "",
        "| training | median of the epochs after the first s | training losses |",
        "| :--- | ---: | :--- |",
        *rows,
    ]


def trials_lines(records: list[dict[str, Any]]) -> list[str]:
    if not records:
        return []
    alone = records[0]["steps_per_second"]
    rows = [
        f"| {line['name']} | {line['steps_per_second']:.0f} "
        f"| {line['steps_per_second'] / alone:.2f} | {line['mib_each']:.0f} |"
        for line in records
    ]
    return [
        "",
        "## Trials of a small network on one card at once",
        "",
        f"A process each, batches of {records[0]['batch']}.",
        "",
        "| trials | steps a second together | times one trial | MiB reserved by each |",
        "| :--- | ---: | ---: | ---: |",
        *rows,
    ]


def mnist_lines(records: list[dict[str, Any]]) -> list[str]:
    if not records:
        return []
    rows = [
        f"| {line['name']} | {line['parameters']:,} | {line['epochs']} "
        f"| {100 * line['wrong'] / line['images']:.2f} "
        f"| {100 * line['interval'][0]:.2f} to {100 * line['interval'][1]:.2f} "
        f"| {line['seconds']:.0f} |"
        for line in records
    ]
    return [
        "",
        "## MNIST",
        "",
        "One seed each, so nothing can be said of the difference between the profiles. The "
        "interval is that of the test images alone.",
        "",
        "| profile | parameters | epochs | test error % | 95 % interval | seconds |",
        "| :--- | ---: | ---: | ---: | ---: | ---: |",
        *rows,
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts and write the report; 1 if anything does not agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--into", type=Path, default=Path("gpu_results"))
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--tiny", action="store_true", help="only to see that it runs")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.serve:
        serve(torch.device(options.serve))
        return 0
    if unknown := [part for part in options.parts if part not in PARTS]:
        parser.error(f"there is no part '{unknown[0]}': choose from {', '.join(PARTS)}.")
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error(
            "PyTorch sees no GPU here: run this where there is one, or add --device cpu --tiny."
        )
    if not options.tiny and options.device == "cpu":
        parser.error("on a CPU this takes hours: add --tiny to see that it runs.")
    device, results = torch.device(options.device), Results(options.into)
    record_machine(results, device)
    for part in options.parts or PARTS:
        try:
            PARTS[part](results, device, TINY if options.tiny else Scale())
        except ValueError as error:  # as where MNIST is neither there nor can be downloaded
            parser.error(str(error))
        (results.folder / "report.md").write_text(report(results), encoding="utf-8")
    print(report(results))
    return 0 if all(line["agrees"] for line in results.lines("agreement")) else 1


if __name__ == "__main__":
    sys.exit(main())
