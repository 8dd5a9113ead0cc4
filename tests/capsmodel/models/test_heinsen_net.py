"""Heinsen's network: its size, its released weights, every routing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from capsmodel.functional.images import with_coordinates
from capsmodel.models import HeinsenNet
from capsmodel.models.heinsen_net import HeinsenNetwork
from capsmodel.routing import ROUTINGS, DynamicRouting
from capsmodel.settings.parts import kind_of
from tests.capsmodel.models.second_step_contract import (
    SecondStepContract,
    SecondStepValuesContract,
)

SMALL: dict[str, Any] = {
    "channels": 5,
    "strides": (1, 2),
    "types": 3,
    "parts": 4,
    "pose_size": 4,
}
State = dict[str, Tensor]


@pytest.mark.parametrize("side", [48, 96])
def test_the_papers_network_has_the_parameters_of_the_released_code(side: int) -> None:
    with torch.device("meta"):
        built = HeinsenNet().build((2, side, side), 5)
    assert sum(parameter.numel() for parameter in built.parameters()) == 271_688
    assert built.parts.size == ((9, 9) if side == 96 else (3, 3))


def test_coordinates_go_from_one_edge_to_the_other() -> None:
    images = torch.rand(2, 1, 3, 5)
    seen = with_coordinates(images)
    assert torch.equal(seen[:, :1], images)
    assert_close(seen[1, 1, :, 4], torch.tensor([-1.0, 0.0, 1.0]))
    assert_close(seen[0, 2, 2], torch.tensor([-1.0, -0.5, 0.0, 0.5, 1.0]))


def released(channels: int, types: int, parts: int, side: int, strides: int) -> State:
    """Return a state dict with the names and shapes of the released code, and any values."""
    generator = torch.Generator().manual_seed(0)
    state: State = {}

    def draw(name: str, *shape: int) -> None:
        state[name] = 0.3 * torch.randn(shape, generator=generator, dtype=torch.float64)

    def block(norm: str, convolution: str, sizes: tuple[int, int], kernel: int) -> None:
        before, after = sizes
        for value in ("weight", "bias", "running_mean", "running_var"):
            draw(f"{norm}.{value}", before)
        state[f"{norm}.running_var"] = state[f"{norm}.running_var"].abs() + 0.1
        state[f"{norm}.num_batches_tracked"] = torch.tensor(7)
        draw(f"{convolution}.weight", after, before, kernel, kernel)
        draw(f"{convolution}.bias", after)

    for place in range(strides):
        before = channels if place else 4
        block(f"convolve.{3 * place}", f"convolve.{3 * place + 1}", (before, channels), 3)
    block("compute_a.0", "compute_a.1", (channels, types), 1)
    block("compute_mu.0", "compute_mu.1", (channels, types * side * side), 1)
    for place, (inputs, outputs) in enumerate(((1, parts), (parts, 5))):
        state[f"routings.{place}.CONST_one"] = torch.tensor(1.0)
        for value in ("W", "B"):
            draw(f"routings.{place}.{value}", inputs, outputs, side, side)
        for value in ("beta_use", "beta_ign"):
            draw(f"routings.{place}.{value}", inputs, outputs)
    return state


THEIRS = released(5, 3, 4, 2, strides=2)
IMAGES = torch.rand(2, 2, 13, 12, generator=torch.Generator().manual_seed(1)).double()


def normalised(state: State, name: str, maps: Tensor) -> Tensor:
    mean, variance, scale, shift = (
        state[f"{name}.{value}"].view(1, -1, 1, 1)
        for value in ("running_mean", "running_var", "weight", "bias")
    )
    return (maps - mean) / (variance + 1e-5).sqrt() * scale + shift


def convolved(state: State, block: tuple[str, str], maps: Tensor, stride: int = 1) -> Tensor:
    norm, convolution = block
    weight, bias = state[f"{convolution}.weight"], state[f"{convolution}.bias"]
    return F.conv2d(normalised(state, norm, maps), weight, bias, stride)


def routed(state: State, place: int, scores: Tensor, poses: Tensor) -> tuple[Tensor, Tensor]:
    """Return scores and poses of one image's parents, child after child, in three rounds."""
    matrices, biases, use, ignore = (
        state[f"routings.{place}.{value}"].expand(len(scores), *[-1] * rest)
        for value, rest in (("W", 3), ("B", 3), ("beta_use", 1), ("beta_ign", 1))
    )
    votes = torch.stack(
        [
            torch.stack([poses[i] @ matrices[i, j] + biases[i, j] for j in range(use.shape[1])])
            for i in range(len(scores))
        ]
    ).flatten(2)
    present = scores.sigmoid().unsqueeze(1)
    shares = torch.full_like(use, 1 / use.shape[1])
    for _ in range(3):
        used = present * shares
        worth = (use * used - ignore * (present - used)).sum(dim=0)
        weights = used / (used.sum(dim=0) + 1e-5)
        centres = (weights.unsqueeze(2) * votes).sum(dim=0)
        squares = (votes - centres).square()
        variances = (weights.unsqueeze(2) * squares).sum(dim=0) + 1e-5
        densities = (-squares / (2 * variances)).sum(dim=2) - variances.sqrt().log().sum(dim=1)
        shares = (F.logsigmoid(worth) + densities).softmax(dim=1)
    side = matrices.shape[-1]
    return worth, centres.unflatten(1, (side, side))


def literally(state: State, images: Tensor) -> tuple[Tensor, Tensor]:
    """Return the scores and the poses of the classes, image after image."""
    rows, columns = (torch.linspace(-1, 1, size).double() for size in images.shape[2:])
    row = rows.view(-1, 1).expand(images.shape[2:])
    column = columns.expand(images.shape[2:])
    maps = torch.cat([images, torch.stack([row, column]).repeat(len(images), 1, 1, 1)], dim=1)
    for place, stride in enumerate((1, 2)):
        block = (f"convolve.{3 * place}", f"convolve.{3 * place + 1}")
        features = convolved(state, block, maps, stride)
        maps = features * features.sigmoid()
    scores = convolved(state, ("compute_a.0", "compute_a.1"), maps).flatten(1)
    poses = convolved(state, ("compute_mu.0", "compute_mu.1"), maps)
    poses = poses.unflatten(1, (-1, 2, 2)).permute(0, 1, 4, 5, 2, 3).flatten(1, 3)
    results = [
        routed(state, 1, *routed(state, 0, *image)) for image in zip(scores, poses, strict=True)
    ]
    all_scores, all_poses = zip(*results, strict=True)
    return torch.stack(all_scores), torch.stack(all_poses)


def network(**changes: Any) -> HeinsenNetwork:
    return HeinsenNet(**(SMALL | changes)).build((2, 13, 12), 5).double()


def saved(state: Any, folder: Path, **options: Any) -> Path:
    path = folder / "weights.pt"
    torch.save(state, path, **options)
    return path


@pytest.mark.parametrize("zipped", [True, False], ids=["new format", "format of 2019"])
def test_released_weights_give_what_the_released_formulae_give(
    tmp_path: Path, *, zipped: bool
) -> None:
    built = network()
    built.load_released(saved(THEIRS, tmp_path, _use_new_zipfile_serialization=zipped))
    outputs = built.eval()(IMAGES)
    scores, poses = literally(THEIRS, IMAGES)
    assert_close(outputs.logits, scores, rtol=1e-10, atol=1e-10)
    assert_close(outputs.lengths, scores.softmax(dim=1), rtol=1e-10, atol=1e-10)
    assert_close(outputs.poses, poses.flatten(2), rtol=1e-10, atol=1e-10)
    assert (scores[0] - scores[1]).abs().max() > 1e-3


def test_the_released_file_is_that_of_the_papers_network(tmp_path: Path) -> None:
    """Names, shapes and numbers of the network at its full size."""
    theirs = {name: value.float() for name, value in released(64, 64, 64, 4, strides=6).items()}
    learned = (".weight", ".bias", ".W", ".B", ".beta_use", ".beta_ign")
    assert (
        sum(parameter.numel() for name, parameter in theirs.items() if name.endswith(learned))
        == 271_688
    )
    built = HeinsenNet().build((2, 96, 96), 5)
    built.load_released(saved(theirs, tmp_path))
    state = built.state_dict()
    assert torch.equal(state["parts.weight"][0, 1, 2, 60], theirs["routings.0.W"][0, 60, 1, 2])
    assert torch.equal(state["classes.bias"][33, 4 * 1 + 2, 4], theirs["routings.1.B"][33, 4, 1, 2])
    assert torch.equal(
        state["backbone.layers.5.norm.running_variance"], theirs["convolve.15.running_var"]
    )


def without_one(state: State) -> Any:
    return {name: value for name, value in state.items() if name != "routings.1.B"}


UNFIT: dict[str, tuple[Callable[[State], Any], str]] = {
    "one is missing": (without_one, r"does not fit the network: it has no 'routings\.1\.B'\.$"),
    "one too many": (
        lambda state: state | {"convolve.6.weight": torch.ones(1)},
        r"does not fit the network: it has 'convolve\.6\.weight' as well\.$",
    ),
    "of another shape": (
        lambda state: state | {"routings.0.W": torch.ones(1, 4, 3, 3)},
        r"'routings\.0\.W' is of shape \[1, 4, 3, 3\], expected \[1, 4, 2, 2\]\.$",
    ),
    "a list": (list, r"does not hold a state dict, but list\.$"),
    "a state dict in another": (
        lambda state: {"model": state},
        r"does not hold a state dict: 'model' is no tensor\.$",
    ),
    "an object": (
        lambda _: SMALL | {"path": Path("x")},
        r"is not a file of weights that PyTorch reads without running what is in it\.$",
    ),
}


@pytest.mark.parametrize("case", UNFIT)
def test_a_file_that_does_not_fit_is_refused_and_changes_nothing(case: str, tmp_path: Path) -> None:
    change, sentence = UNFIT[case]
    built = network()
    before = {name: value.clone() for name, value in built.state_dict().items()}
    with pytest.raises(ValueError, match=sentence):
        built.load_released(saved(change(THEIRS), tmp_path))
    assert all(torch.equal(value, before[name]) for name, value in built.state_dict().items())


@pytest.mark.parametrize(
    "content",
    [b"", b"weights", b"\x80\x02}q", b"PK\x03\x04" + bytes(64)],
    ids=["nothing", "text", "half a pickle", "half an archive"],
)
def test_a_file_of_something_else_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"weights\.pt is not a file of weights that PyTorch"):
        network().load_released(path)


class Harmful:
    """A pickle of it makes a folder when it is loaded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.mkdir, (self.folder,)


@pytest.mark.parametrize("is_archive", [False, True], ids=["format of 2019", "present format"])
def test_what_is_in_a_file_is_not_run(tmp_path: Path, *, is_archive: bool) -> None:
    path, folder = tmp_path / "weights.pt", tmp_path / "made"
    harmful = {"weights": Harmful(folder)}
    torch.save(harmful, path, _use_new_zipfile_serialization=is_archive)
    with pytest.raises(ValueError, match="reads without running what is in it"):
        network().load_released(path)
    assert not folder.exists()
    torch.load(path, weights_only=False)
    assert folder.exists()


def test_weights_are_not_loaded_into_a_network_of_another_routing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"routing 'heinsen', got 'dynamic': build one of"):
        network(routing=DynamicRouting()).load_released(tmp_path / "not_there.pt")


def test_a_file_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        network().load_released(tmp_path / "not_there.pt")


def test_all_capsules_of_images_of_another_size_may_share_the_weights() -> None:
    state = network().state_dict()
    other = HeinsenNet(**SMALL).build((2, 16, 9), 5).double()
    other.load_state_dict(state)
    assert other(torch.rand(1, 2, 16, 9).double()).lengths.shape == (1, 5)


ROUTED = {
    kind_of(routing): HeinsenNet(**SMALL, routing=routing.model_validate({}))
    for routing in ROUTINGS
}


class TestOwnRouting(SecondStepContract):
    @pytest.fixture
    def model(self) -> HeinsenNet:
        return ROUTED["heinsen"]


class TestEachRouting(SecondStepValuesContract):
    @pytest.fixture(params=[name for name in ROUTED if name != "heinsen"])
    def model(self, request: pytest.FixtureRequest) -> HeinsenNet:
        return ROUTED[request.param]
