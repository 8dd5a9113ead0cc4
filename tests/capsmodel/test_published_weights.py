"""The page on published weights turns layers in others' layouts into ours, by the lines it shows.

The lines are read from docs/implementations.md; no weights of anyone are needed.
"""

import math
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from capsmodel import losses, models, reconstruction, routing, squash
from capsmodel.functional import exponential_squash
from capsmodel.layers import Capsules, ConvCapsules, Convolution, PrimaryCapsules, Window
from capsmodel.settings.constructed import Constructed
from tests.capsmodel.literal_forms import routed, squashed, with_gradient
from tests.capsmodel.models.test_heinsen_net import released
from tests.capsmodel.routing.routed import seeded, some_votes

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "implementations.md").read_text(encoding="utf-8")
LINES = dict(re.findall(r"^\| `([^`|]+)` \|.*\| `([^`|]*theirs[^`|]*)` \|$", PAGE, re.MULTILINE))
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SIZES = {"1": 1, "in": 6, "out": 3, "in_dim": 4, "out_dim": 2, "edges": 5, "rows": 2, "columns": 2}
LETTERS = dict(zip(SIZES, "aiodperc", strict=True))
MATRICES = [
    "[out, in, out_dim, in_dim]",
    "[out, in, in_dim, out_dim]",
    "[1, in, out, out_dim, in_dim]",
    "[1, in, out, in_dim, out_dim]",
]
PARTS = (losses, models, reconstruction, routing, squash)
CONVOLUTIONAL = ["[1, edges, out, rows, columns]", "[edges, out, rows, columns]"]


def ours(layout: str, theirs: Any, **sizes: int) -> Any:
    """Run the page's line for a layout."""
    return eval(LINES[layout], {"torch": torch}, {"theirs": theirs, **sizes})


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=seeded(seed), dtype=torch.float64)


def test_every_line_of_the_page_is_run_here() -> None:
    others = {
        "[in, in_dim, out * out_dim]",
        "[rows * columns * types, in_dim, out * out_dim]",
        "[types * pose, in, kernel, kernel]",
        "[kernel, kernel, in, types * pose]",
        "elements of [types, in, kernel, kernel]",
        "scrambled list of [some, in, kernel, kernel]",
        "[edges, out * out_dim, in_dim]",
    }
    assert set(LINES) == {*MATRICES, *CONVOLUTIONAL, *others}
    as_they_are = {layout for layout, line in LINES.items() if line == "theirs"}
    assert as_they_are == {"[in, in_dim, out * out_dim]", "[types * pose, in, kernel, kernel]"}


def test_every_setting_of_the_page_can_be_built() -> None:
    tables = PAGE.partition("## Which setting")[2].partition("## What no setting")[0]
    settings = re.findall(r"`([A-Z]\w+(?:\.\w+)?\([^`]*\))`", tables)
    assert len(settings) > 40
    names = {name: part for module in PARTS for name, part in vars(module).items()}
    names["ConvCapsules"] = partial(ConvCapsules, 2, 3, size=(5, 5), kernel_size=3)
    sizes = {"n": 3, "num_routing": 2, "pixels": 784}
    for setting in settings:
        built = eval(setting, names, sizes)
        assert isinstance(built, Constructed | torch.nn.Module), setting


@pytest.mark.parametrize("layout", MATRICES)
def test_matrices_of_class_capsules_give_the_same_capsules(layout: str) -> None:
    axes = layout.strip("[]").split(", ")
    theirs, poses = drawn(*(SIZES[axis] for axis in axes)), some_votes(2, 6, 4)
    letters = "".join(LETTERS[axis] for axis in axes)
    votes = torch.einsum(f"{letters},bid->biop", theirs, poses)
    layer = Capsules(6, 4, 3, 2).double()
    layer.load_state_dict({"weight": ours(layout, theirs)})
    assert_close(layer.votes(poses), votes)
    assert_close(layer(poses).poses, routed(votes))


def test_matrices_with_all_outputs_in_one_axis_are_ours_class_by_class() -> None:
    theirs, poses = drawn(6, 4, 3 * 2), some_votes(2, 6, 4)
    layer = Capsules(6, 4, 3, 2).double()
    layer.load_state_dict({"weight": ours("[in, in_dim, out * out_dim]", theirs)})
    votes = (poses.unsqueeze(2) @ theirs).view(2, 6, 3, 2)
    assert_close(layer.votes(poses), votes)


@pytest.mark.parametrize("layout", CONVOLUTIONAL)
def test_matrices_of_convolutional_capsules_give_the_same_votes(layout: str) -> None:
    axes = layout.strip("[]").split(", ")
    theirs, poses = drawn(*(SIZES[axis] for axis in axes)), drawn(7, 5, 2, 2, seed=1)
    letters = "".join(LETTERS[axis] for axis in axes)
    votes = torch.einsum(f"{letters},ber->beoc", theirs, poses[:, :, 0])
    assert_close(torch.einsum("erco,ber->beoc", ours(layout, theirs), poses[:, :, 0]), votes)


def test_vector_matrices_of_convolutional_capsules_give_the_same_votes() -> None:
    theirs, poses = drawn(5, 3 * 4, 4), drawn(7, 5, 4, seed=1)
    weight = ours("[edges, out * out_dim, in_dim]", theirs, out=3)
    votes = (theirs @ poses.unsqueeze(-1)).view(7, 5, 3, 4)
    assert_close(torch.einsum("eipo,bei->beop", weight, poses), votes)


def primary(weight: Tensor, bias: Tensor, grouping: Any = "channels") -> PrimaryCapsules:
    """Primary capsules of 4 types and 3 elements, on 2 channels."""
    layer = PrimaryCapsules(2, 4, 3, 3, stride=2, grouping=grouping).double()
    layer.load_state_dict({"convolution.weight": weight, "convolution.bias": bias})
    return layer


FEATURES = drawn(2, 2, 7, 5, seed=5)  # of which three by two places see 3 by 3 pixels


def test_a_convolution_for_each_element_gives_the_same_capsules() -> None:
    weights = [drawn(4, 2, 3, 3, seed=seed) for seed in range(3)]
    biases = [drawn(4, seed=seed + 10) for seed in range(3)]
    elements = [
        F.conv2d(FEATURES, weight, bias, stride=2).flatten(1)
        for weight, bias in zip(weights, biases, strict=True)
    ]
    layout = "elements of [types, in, kernel, kernel]"
    bias = torch.stack(biases, dim=1).flatten()
    expected = squashed(torch.stack(elements, dim=2))
    assert_close(primary(ours(layout, weights), bias)(FEATURES), expected)


@pytest.mark.parametrize("channels", [(4, 4, 4), (3, 3, 3, 3)], ids=["elements", "types"])
def test_a_list_that_is_scrambled_gives_the_same_pixels_in_a_row(channels: tuple[int, ...]) -> None:
    weights = [drawn(some, 2, 3, 3, seed=seed) for seed, some in enumerate(channels)]
    biases = [drawn(some, seed=seed + 10) for seed, some in enumerate(channels)]
    maps = [
        F.conv2d(FEATURES, weight, bias, stride=2)
        for weight, bias in zip(weights, biases, strict=True)
    ]
    expected = squashed(torch.stack(maps, dim=1).reshape(2, -1, 3))
    weight = ours("scrambled list of [some, in, kernel, kernel]", weights)
    assert_close(primary(weight, torch.cat(biases), "pixels")(FEATURES), expected)


def test_channels_that_come_last_give_the_same_classes() -> None:
    kernel, bias, matrices = drawn(3, 3, 2, 12), drawn(12), drawn(5, 24, 4, 3, seed=1)

    def literal(features: Tensor) -> Tensor:
        places: list[Tensor] = []
        for row in range(3):
            for column in range(2):
                top, left = 2 * row, 2 * column
                seen = features[:, top : top + 3, left : left + 3]
                places.append(torch.einsum("bhwc,hwcq->bq", seen, kernel) + bias)
        capsules = squashed(torch.stack(places, dim=1).reshape(2, -1, 3))
        return routed(torch.einsum("oipd,bid->biop", matrices, capsules))

    weight = ours("[kernel, kernel, in, types * pose]", kernel)
    by_place = ours("[out, in, out_dim, in_dim]", matrices)
    layout = "[rows * columns * types, in_dim, out * out_dim]"
    classes = Capsules(24, 3, 5, 4).double()
    classes.load_state_dict({"weight": ours(layout, by_place, rows=3, columns=2, types=4)})
    poses = classes(primary(weight, bias)(FEATURES)).poses
    assert_close(poses, literal(FEATURES.permute(0, 2, 3, 1)))
    classes.load_state_dict({"weight": by_place})
    assert (classes(primary(weight, bias)(FEATURES)).poses - poses).abs().max() > 0.01


SHAPES = {
    "conv1.weight": (256, 1, 9, 9),
    "conv1.bias": (256,),
    "primarycaps.conv2d.weight": (256, 256, 9, 9),
    "primarycaps.conv2d.bias": (256,),
    "digitcaps.weight": (10, 1152, 16, 8),
    "decoder.0.weight": (512, 160),
    "decoder.0.bias": (512,),
    "decoder.2.weight": (1024, 512),
    "decoder.2.bias": (1024,),
    "decoder.4.weight": (784, 1024),
    "decoder.4.bias": (784,),
}


def scaled(*shape: int, seed: int) -> Tensor:
    return drawn(*shape, seed=seed) / math.sqrt(math.prod(shape[1:]))


def test_a_whole_network_gives_the_same_lengths_images_and_gradients() -> None:
    theirs = {name: scaled(*shape, seed=n) for n, (name, shape) in enumerate(SHAPES.items())}
    theirs["digitcaps.weight"] = 0.05 * drawn(10, 1152, 16, 8)
    theirs = {name: value.float().double() for name, value in theirs.items()}
    images = torch.rand(2, 1, 28, 28, generator=seeded(1), dtype=torch.float64)

    def primary_capsules(images: Tensor) -> Tensor:
        first = F.conv2d(images, theirs["conv1.weight"], theirs["conv1.bias"]).relu()
        weight, bias = theirs["primarycaps.conv2d.weight"], theirs["primarycaps.conv2d.bias"]
        return squashed(F.conv2d(first, weight, bias, stride=2).reshape(2, 1152, 8))

    def lengths(images: Tensor) -> Tensor:
        matrices = theirs["digitcaps.weight"]
        votes = torch.einsum("oipd,bid->biop", matrices, primary_capsules(images))
        poses.append(routed(votes, detached=True))
        return poses[-1].norm(dim=-1)

    poses: list[Tensor] = []
    block = BLOCKS[0]
    names: dict[str, Any] = {"theirs": theirs}
    exec(block, names)
    network = names["network"].double()
    value, gradient = with_gradient(lengths, images)
    own_value, own_gradient = with_gradient(lambda images: network(images).lengths, images)
    assert_close(own_value, value)
    assert_close(own_gradient, gradient)
    winner = F.one_hot(value.argmax(dim=1), 10).unsqueeze(-1)
    hidden = (poses[0].detach() * winner).flatten(1)
    for layer in (0, 2):
        weight, bias = theirs[f"decoder.{layer}.weight"], theirs[f"decoder.{layer}.bias"]
        hidden = F.linear(hidden, weight, bias).relu()
    expected = F.linear(hidden, theirs["decoder.4.weight"], theirs["decoder.4.bias"]).sigmoid()
    assert_close(network(images).reconstructions.flatten(1), expected)


def test_the_network_of_heinsen_loads_its_released_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = released(64, 64, 64, 4, strides=6)
    torch.save(theirs, tmp_path / "smallNORB_pretrained_model_state_dict.pt")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(BLOCKS[1], names)
    weight = names["network"].state_dict()["classes.router.use"]
    assert_close(weight, theirs["routings.1.beta_use"].float())


class KerasFile(dict[str, Any]):
    """A file of Keras as h5py gives it."""

    attrs: dict[str, Any]

    def __enter__(self) -> "KerasFile":
        return self

    def __exit__(self, *error: object) -> None:
        del error


def keras_layers() -> KerasFile:
    """Return the weights of an Efficient-CapsNet for smallNORB in their names, order and shapes."""
    channels, kernels = (2, 32, 64, 64, 128), (7, 3, 3, 3)
    shapes: dict[str, tuple[int, ...]] = {}
    for layer, kernel in enumerate(kernels):
        few, many = channels[layer : layer + 2]
        shapes[f"conv2d_{layer + 4}/kernel:0"] = (kernel, kernel, few, many)
        shapes[f"conv2d_{layer + 4}/bias:0"] = (many,)
        norm = f"instance_normalization{f'_{layer}' if layer else ''}"
        shapes |= {f"{norm}/gamma:0": (many,), f"{norm}/beta:0": (many,)}
    shapes |= {"conv2d_8/kernel:0": (8, 8, 1, 128), "conv2d_8/bias:0": (128,)}
    shapes |= {"digit_caps/W:0": (5, 16, 8, 16), "digit_caps/b:0": (5, 16, 1)}
    layers = KerasFile(
        {
            name: drawn(*shape, seed=seed).numpy() / 10
            for seed, (name, shape) in enumerate(shapes.items())
        }
    )
    layers.attrs = {"weight_names": [name.encode() for name in shapes]}
    return layers


def efficient_poses(theirs: Any, images: Tensor) -> Tensor:
    """Return the class capsules as the released code computes them, channels last but for F."""
    values = [torch.tensor(value) for value in theirs.values()]
    features = images
    for layer, stride in enumerate((2, 1, 1, 2)):
        kernel, bias, gamma, beta = values[4 * layer : 4 * layer + 4]
        features = F.conv2d(features, kernel.permute(3, 2, 0, 1), bias, stride)
        features = F.leaky_relu(features, 0.3).permute(0, 2, 3, 1)
        variance, mean = torch.var_mean(features, (1, 2), correction=0, keepdim=True)
        features = (features - mean) / (variance + 1e-3).sqrt() * gamma + beta
        features = features.permute(0, 3, 1, 2)
    kernel, bias, matrices, biases = values[16:]
    maps = F.conv2d(features, kernel.permute(3, 2, 0, 1), bias, groups=128)
    votes = torch.einsum(
        "bji,kjiz->bkjz", exponential_squash(maps.permute(0, 2, 3, 1).reshape(-1, 16, 8)), matrices
    )
    logits = torch.einsum("bkij,bkmj->bki", votes, votes).unsqueeze(-1) / 16**0.5
    return exponential_squash((votes * (logits.softmax(dim=1) + biases)).sum(dim=2))


def test_an_efficient_capsnet_has_the_weights_of_its_keras_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    theirs = keras_layers()
    opened = SimpleNamespace(File=lambda _: KerasFile(CapsNet=theirs))
    monkeypatch.setitem(sys.modules, "h5py", opened)
    names: dict[str, Any] = {}
    exec(BLOCKS[2], names)
    images = drawn(2, 2, 48, 48).sigmoid()
    poses = names["network"].double().eval()(images).poses
    expected = efficient_poses(theirs, images)
    assert expected.norm(dim=2).min() > 0.05
    assert_close(poses, expected, rtol=1e-5, atol=1e-6)  # weights are loaded in single precision


@pytest.mark.nightly
def test_graphs_have_operators_that_onnx_lacks_where_the_page_says_so() -> None:
    """In a process of its own: here shapes are checked, which `torch.export` cannot read."""
    lacking = dict(re.findall(r"^\| (routing `\w+`).* \| `([\w.]+)` \|$", PAGE, re.MULTILINE))
    program = (
        "import torch\n"
        "from tools.onnx_exports import cases, exported, operators\n"
        "for name, module, shape in cases():\n"
        "    if name.startswith('routing'):\n"
        "        found = operators(exported(module, torch.rand(3, *shape)))\n"
        "        print(name, *sorted(found & {'prims.digamma', 'aten.digamma', 'aten.rand'}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = {" ".join(line.split()[:2]): line.split()[2:] for line in done.stdout.splitlines()}
    assert {name for name, operators in found.items() if operators} == lacking.keys()
    assert found["routing `random`"] == [lacking["routing `random`"]]
    assert found["routing `variational_bayes`"][0].endswith("digamma")
    assert lacking["routing `variational_bayes`"] == "prims.digamma"


def test_batch_normalisation_stands_before_the_relu_as_in_plain_torch() -> None:
    ours = Convolution(2, 6, Window(3), batch_norm=True).double()
    plain = torch.nn.Sequential(
        torch.nn.Conv2d(2, 6, 3), torch.nn.BatchNorm2d(6), torch.nn.ReLU()
    ).double()
    plain[0].load_state_dict(ours.convolution.state_dict())
    for _ in range(2):
        assert_close(ours(FEATURES), plain(FEATURES))
    assert_close(ours.eval()(FEATURES), plain.eval()(FEATURES))
