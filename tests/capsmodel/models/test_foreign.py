"""Any module as a model: it keeps the laws of every model, and its arguments are settings."""

import math
import random
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from capsmodel import Trained, Training, TrainingConfig, model, num_parameters
from capsmodel.config import num_multiply_adds
from capsmodel.layers import Capsules
from capsmodel.models import ForeignModel, Model, Outputs, PretrainedWeights
from capsmodel.overrides import with_settings
from capsmodel.routing import ROUTINGS, DynamicRouting, Routing
from capsmodel.search_range import Floats, Ints, search_range
from capsmodel.settings.parts import OneOf
from capsmodel.testing import ModelContract
from search_spaces.trial_key import differences
from tests.capsmodel.small_config import small_config

Shape = tuple[int, int, int]


@model
class BatchNormNet(nn.Module):
    """Convolutions with batch normalisation."""

    def __init__(self, image_shape: Shape, num_classes: int, width: int = 4) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(image_shape[0], width, 3, bias=False)
        self.norm = nn.BatchNorm2d(width)
        self.head = nn.Linear(width, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.norm(self.convolution(images)).square().mean(dim=(2, 3)))


@model
class DropoutNet(nn.Module):
    """A hidden layer with dropout."""

    def __init__(
        self,
        image_shape: Shape,
        num_classes: int,
        hidden: Annotated[int, Field(ge=1), Ints(8, 64)] = 16,
        dropout: Annotated[float, Field(ge=0, lt=1), Floats(0.0, 0.7)] = 0.4,
    ) -> None:
        super().__init__()
        self.hidden = nn.Linear(math.prod(image_shape), hidden)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(hidden, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.dropout(self.hidden(images.flatten(1)).tanh()))


@model(returns="lengths", kind="branches")
class BranchingNet(nn.Module):
    """Looks at the values of each image, and draws from NumPy while it is built."""

    def __init__(self, image_shape: Shape, num_classes: int) -> None:
        super().__init__()
        size = math.prod(image_shape)
        drawn = np.random.normal(scale=0.05, size=(num_classes, size))
        self.bright = nn.Parameter(torch.as_tensor(drawn, dtype=torch.float32))
        self.dark = nn.Linear(size, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        logits = [
            0.5 * (F.linear(image, self.bright) + self.dark(image))
            if float(image.mean()) > 0.4
            else 0.5 * (self.dark(image) + image.mean() * self.bright.mean(dim=1))
            for image in images.flatten(1)
        ]
        return torch.stack(logits).sigmoid()


class TestBatchNormNet(ModelContract):
    @pytest.fixture
    def model(self) -> Model:
        return BatchNormNet()


class TestDropoutNet(ModelContract):
    @pytest.fixture
    def model(self) -> Model:
        return DropoutNet()


class TestBranchingNet(ModelContract):
    @pytest.fixture
    def model(self) -> Model:
        return BranchingNet()


@model(returns="outputs")
class OwnLossNet(nn.Module):
    """Reconstructs images; its classes are read off the features, whose gradient stops there."""

    def __init__(self, image_shape: Shape, num_classes: int, code: int = 8) -> None:
        super().__init__()
        size = math.prod(image_shape)
        self.encoder, self.decoder = nn.Linear(size, code), nn.Linear(code, size)
        self.probe = nn.Linear(code, num_classes)

    def forward(self, images: Tensor) -> Outputs:
        logits = self.probe(self.encoder(images.flatten(1)).detach())
        return Outputs(logits.softmax(dim=1), None, logits)

    def training_loss(self, images: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        noise = torch.rand(images.shape, generator=generator)
        drawn = self.decoder(self.encoder((images + 0.1 * noise).flatten(1)))
        logits = self.forward(images).logits
        assert logits is not None
        return F.mse_loss(drawn, images.flatten(1)) + F.cross_entropy(logits, labels)


MODELS = [BatchNormNet(), DropoutNet(), BranchingNet(), OwnLossNet()]


def config(part: ForeignModel, **changes: Any) -> TrainingConfig:
    return small_config(model=part, **changes)


def numbers_of(training: Training) -> list[float]:
    return [n for m in training for n in (m.train_loss, m.validation_loss, m.validation_error)]


@pytest.mark.parametrize("part", MODELS, ids=lambda part: part.kind)
def test_a_training_goes_on_from_its_checkpoint_bit_for_bit(
    part: ForeignModel, tmp_path: Path
) -> None:
    settings, path = config(part), tmp_path / "checkpoint.safetensors"
    unbroken = Training(settings, 3)
    begun = Training(settings, 3)
    first = next(iter(begun))
    begun.save(path)
    torch.rand(7)  # what others draw does not matter
    np.random.rand(5)
    resumed = Training.restore(path, settings, 3)
    whole, rest = numbers_of(unbroken), numbers_of(resumed)
    assert whole[:2] == [first.train_loss, first.validation_loss]
    assert whole[3:] == rest
    at_end = [training.trained().network.state_dict() for training in (unbroken, resumed)]
    assert all(torch.equal(value, at_end[1][name]) for name, value in at_end[0].items())


def test_the_seed_decides_what_numpy_and_python_draw() -> None:
    class Drawn(BranchingNet.module):
        def __init__(self, image_shape: Shape, num_classes: int) -> None:
            super().__init__(image_shape, num_classes)
            self.scale = nn.Parameter(torch.tensor(random.random()))

    network = model(returns="lengths")(Drawn)().build((1, 8, 8), 10)
    states: list[dict[str, Tensor]] = []
    for seed in (0, 0, 1):
        np.random.rand(3)  # what others draw meanwhile does not matter
        random.random()
        network.initialise(seed)
        states.append(network.state_dict())
    for name in ("module.bright", "module.scale"):
        assert torch.equal(states[0][name], states[1][name])
        assert not torch.equal(states[0][name], states[2][name])


def test_the_global_generators_are_as_before() -> None:
    before = torch.get_rng_state(), str(np.random.get_state())
    numbers_of(Training(config(BranchingNet(), precision="bf16"), 0))
    num_parameters(config(DropoutNet()))
    assert torch.equal(torch.get_rng_state(), before[0])
    assert str(np.random.get_state()) == before[1]


def test_a_loss_of_its_own_may_penalise_a_gradient() -> None:
    class Penalised(DropoutNet.module):
        def training_loss(
            self, images: Tensor, labels: Tensor, generator: torch.Generator
        ) -> Tensor:
            del generator
            images = images.clone().requires_grad_()
            loss = F.cross_entropy(self.forward(images), labels)
            (gradient,) = torch.autograd.grad(loss, images, create_graph=True)
            return loss + gradient.square().sum()

    numbers = numbers_of(Training(config(model(Penalised)()), 0))
    assert all(map(math.isfinite, numbers))


def test_a_saved_network_predicts_the_same(tmp_path: Path) -> None:
    training = Training(config(BatchNormNet()), 0)
    numbers_of(training)
    trained, images = training.trained(), training.data.test.images
    trained.save(tmp_path / "weights")
    loaded = Trained.load(tmp_path / "weights", training.config, 0)
    assert torch.equal(loaded.predict(images).lengths, trained.predict(images).lengths)


@pytest.mark.parametrize("part", [BatchNormNet(), OwnLossNet()], ids=lambda part: part.kind)
def test_it_is_exported_as_a_graph(part: ForeignModel) -> None:
    network, images = part.build((1, 8, 8), 10).eval(), torch.rand(4, 1, 8, 8)
    graph = torch.export.export(network, (images,)).module()
    torch.testing.assert_close(graph(images).lengths, network(images).lengths)


def test_arguments_are_settings_with_ranges_and_keys() -> None:
    settings = with_settings(config(DropoutNet()), {"model.hidden": 24})
    assert settings.model == DropoutNet(hidden=24)
    assert differences(settings)["model"] == {"kind": "dropout_net", "hidden": 24}
    assert search_range(DropoutNet, "dropout") == Floats(0.0, 0.7)
    assert num_parameters(settings) == 64 * 24 + 24 + 24 * 10 + 10
    assert num_multiply_adds(settings) == 64 * 24 + 24 * 10
    read = TrainingConfig.model_validate(
        settings.model_dump(mode="json"), context={"parts": (DropoutNet,)}
    )
    assert read == settings
    with pytest.raises(ValueError, match=r"hidden must be an integer at least 1, got 0\."):
        DropoutNet(hidden=0)


def test_a_part_of_capsmodel_is_a_setting() -> None:
    @model(returns="outputs")
    class RoutedNet(nn.Module):
        def __init__(
            self,
            image_shape: Shape,
            num_classes: int,
            routing: Annotated[Routing, OneOf(ROUTINGS)] = DynamicRouting(),  # noqa: B008 - frozen
        ) -> None:
            super().__init__()
            self.capsules = Capsules(
                math.prod(image_shape) // 8, 8, num_classes, 4, routing=routing
            )

        def forward(self, images: Tensor) -> Any:
            return self.capsules(images.flatten(1).unflatten(1, (-1, 8)))

    once = RoutedNet(routing=DynamicRouting(iterations=1))
    assert differences(once) == {"routing": {"kind": "dynamic", "iterations": 1}}
    numbers = [numbers_of(Training(config(part), 0)) for part in (once, RoutedNet())]
    assert numbers[0] != numbers[1]


def test_weights_come_from_a_file_whose_contents_are_in_the_key(tmp_path: Path) -> None:
    @model
    class Backbone(nn.Module):
        def __init__(self, num_classes: int, weights: PretrainedWeights) -> None:
            super().__init__()
            self.body, self.head = nn.Linear(64, 8), nn.Linear(8, num_classes)
            self.body.load_state_dict(torch.load(weights, weights_only=True))

        def forward(self, images: Tensor) -> Tensor:
            return self.head(self.body(images.flatten(1)).tanh())

    path, copy = tmp_path / "body.pt", tmp_path / "copy.pt"
    pretrained = nn.Linear(64, 8)
    torch.save(pretrained.state_dict(), path)
    copy.write_bytes(path.read_bytes())
    part = Backbone(weights=path)
    frozen = Training(config(part, frozen=["body"]), 0)
    numbers_of(frozen)
    body = frozen.trained().network.get_submodule("module.body")
    assert torch.equal(body.get_parameter("weight").cpu(), pretrained.weight)
    keys = [differences(config(Backbone(weights=name))) for name in (path, str(copy))]
    assert keys[0] == keys[1]
    assert str(tmp_path) not in str(keys)
    path.write_bytes(b"other")
    with pytest.raises(ValueError, match=r"has other contents than the sweep was declared with"):
        Training(config(part), 0)
    with pytest.raises(ValueError, match=r"weights file '.*gone' cannot be read"):
        Backbone(weights=tmp_path / "gone")


def test_each_of_several_files_of_weights_is_checked(tmp_path: Path) -> None:
    class Parts(DropoutNet.module):
        def __init__(
            self, image_shape: Shape, num_classes: int, weights: tuple[PretrainedWeights, ...]
        ) -> None:
            super().__init__(image_shape, num_classes)

    files = [tmp_path / "first.pt", tmp_path / "second.pt"]
    for file in files:
        file.write_bytes(b"1")
    part = model(Parts)(weights=files)
    part.build((1, 8, 8), 10)
    files[1].write_bytes(b"2")
    with pytest.raises(ValueError, match=r"second\.pt' has other contents"):
        part.build((1, 8, 8), 10)


def test_a_module_is_decorated_under_another_name() -> None:
    other = model(kind="other")(BatchNormNet.module)
    assert other(width=3).kind == "other"
    assert other.__module__ == __name__


# What cannot be a model.


def made(arguments: str, body: str = "pass", call: str = "return images") -> type[nn.Module]:
    text = (
        f"class Wrong(nn.Module):\n    def __init__(self{arguments}):\n        super().__init__()\n"
        f"        {body}\n    def forward(self, images):\n        {call}\n"
    )
    names: dict[str, Any] = {"nn": nn, "torch": torch, "Tensor": Tensor, "Routing": Routing}
    exec(text, names)
    return names["Wrong"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (", width=4", r"'width' of Wrong has no annotation: write width: int\."),
        (", start: Tensor = torch.zeros(3)", r"annotated with Tensor: settings are int, "),
        (", start: int = torch.zeros(3)", r"has the default tensor\(\[0\., 0\., 0\.\]\), which"),
        (", activation: object = lambda x: x", r"annotated with object"),
        (", widths: list[int] = [1]", r"annotated with list\[int\].* Write tuple\[int, \.\.\.\]\."),
        (", width: int = 'wide'", r"has the default 'wide', which is no value of its annotation"),
        (", *widths: int", r"takes \*widths, which cannot be settings: name each argument\."),
        (", **settings: int", r"takes \*\*settings, which cannot be settings"),
        (", build: int = 1", r"an argument 'build', a name that parts need: rename it\."),
        (", width: 'Unknown' = 1", r"cannot be read \(name 'Unknown' is not defined\): import"),
        (", routing: Routing = None", r"Write Annotated\[Routing, OneOf\(\.\.\.\)\]"),
    ],
)
def test_an_argument_that_cannot_be_a_setting_is_refused(arguments: str, sentence: str) -> None:
    module = made(arguments)
    with pytest.raises(TypeError, match=sentence):
        model(module)


def test_what_is_no_class_of_modules_is_refused() -> None:
    for wrong in (nn.Linear(2, 2), len, dict):
        with pytest.raises(TypeError, match=r"@model takes a class of torch\.nn\.Module, got"):
            model(wrong)  # pyright: ignore[reportArgumentType, reportCallIssue]
    with pytest.raises(TypeError, match=r"Empty has no method forward\(self, images\)"):
        model(type("Empty", (nn.Module,), {}))
    with pytest.raises(TypeError, match=r"The model 'cnn' is one of capsmodel's: rename"):
        model(kind="cnn")(made(""))
    with pytest.raises(TypeError, match=r"is one of logits, lengths, poses, outputs, got 'scores'"):
        model(returns="scores")(made(""))  # pyright: ignore[reportArgumentType, reportCallIssue]
    with pytest.raises(TypeError, match=r"inherit from DropoutNet\.module, and decorate both"):
        type("Larger", (DropoutNet,), {})


@pytest.mark.parametrize(
    ("body", "call", "sentence"),
    [
        ("self.lazy = nn.LazyLinear(10)", "return images", r"makes 'lazy\.weight' in its first"),
        (
            "self.head = nn.Linear(64, 9)",
            "return self.head(images.flatten(1))",
            r"of shape \[\d+, 10\], got \[\d+, 9\]",
        ),
        (
            "self.head = nn.Linear(64, 10)",
            "return self.head(images.flatten(1)), 0",
            r"got a tuple of 2",
        ),
        ("self.head = nn.Linear(64, 10)", "return None", r"'wrong' must return logits, .*got None"),
        (
            "self.head = nn.Linear(64, 10).double()",
            "return images",
            r"'head\.weight' in float64: weights",
        ),
        (
            "self.head = nn.Linear(64, 10)",
            "return torch.randn(len(images), 10)",
            r"does not depend on the network's weights",
        ),
        ("super(Wrong, self).__init__()", "return images", r"write super\(\)\.__init__\(\)"),
    ],
)
def test_a_module_that_cannot_be_trained_is_refused(body: str, call: str, sentence: str) -> None:
    module = made("", body, call)
    if "super(Wrong" in body:
        module.__init__.__globals__["Wrong"] = model(module)  # pyright: ignore[reportFunctionMemberAccess]
    with pytest.raises(ValueError, match=sentence):
        next(iter(Training(config(model(module)(), loss="cross_entropy"), 0)))
