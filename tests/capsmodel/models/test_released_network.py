"""The profile "official" is the network of the authors' released code."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from capsmodel import TrainingConfig
from capsmodel.losses import MarginLoss
from capsmodel.models import CapsNet, Network, Outputs
from capsmodel.overrides import with_settings
from capsmodel.reconstruction import FullyConnectedDecoder
from tests.capsmodel.models.released_network import lengths_and_images
from tests.capsmodel.routing.routed import seeded

SMALL: dict[str, Any] = {
    "conv_channels": 3,
    "conv_kernel": 3,
    "primary_types": 2,
    "primary_dim": 3,
    "primary_kernel": 3,
    "class_dim": 4,
    "reconstruction": FullyConnectedDecoder(hidden=(5, 6)),
}
IMAGES = torch.rand(2, 1, 8, 8, generator=seeded(1), dtype=torch.float64)


def network(seed: int = 0, **changes: Any) -> Network:
    built = CapsNet.of_profile("official", **(SMALL | changes)).build((1, 8, 8), 3)
    built.initialise(seed)
    return built.double()


def num_parameters(model: Any, image_shape: tuple[int, int, int], num_classes: int = 10) -> int:
    with torch.device("meta"):
        built = model.build(image_shape, num_classes)
    return sum(parameter.numel() for parameter in built.parameters())


@pytest.mark.parametrize("seed", [0, 1])
def test_it_gives_what_the_released_code_written_out_in_loops_gives(seed: int) -> None:
    built = network(seed)
    with torch.no_grad():
        for value in built.parameters():  # so that routing and biases have something to do
            value.add_(0.3 * torch.randn(value.shape, generator=seeded(7), dtype=value.dtype))
    outputs = built(IMAGES, None, seeded())
    sizes = (SMALL["primary_types"], SMALL["primary_dim"], SMALL["class_dim"])
    lengths, images = lengths_and_images(built.state_dict(), IMAGES, sizes, kernel=3)
    assert_close(outputs.lengths, lengths, atol=1e-12, rtol=1e-12)
    assert_close(outputs.reconstructions, images, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize(
    ("image_shape", "num_classes", "expected"),
    [
        ((1, 28, 28), 10, 8_215_568 + 160),
        ((1, 36, 36), 10, 11_361_808 + 160),
        ((1, 40, 40), 10, 13_475_648 + 160),
        ((2, 32, 32), 5, 9_327_104 + 80),
    ],
)
def test_it_has_a_bias_for_each_number_of_a_class_capsule_more_than_the_paper(
    image_shape: tuple[int, int, int], num_classes: int, expected: int
) -> None:
    assert num_parameters(CapsNet.of_profile("official"), image_shape, num_classes) == expected


def test_with_the_flags_of_cifar_10_it_has_the_parameters_of_that_network() -> None:
    changes = {
        "conv_padding": "same",
        "primary_padding": "same",
        "primary_types": 64,
        "primary_coupling": "leaky",
        "routing.kind": "leaky",
        "reconstruction": "none",
    }
    model = with_settings(CapsNet.of_profile("official"), changes)
    assert model == CapsNet.official_cifar10()
    assert num_parameters(model, (3, 24, 24)) == 22_476_448


def test_without_a_decoder_it_has_the_published_parameters() -> None:
    model = with_settings(CapsNet.of_profile("official"), {"reconstruction": "none"})
    assert num_parameters(model, (1, 28, 28)) == 6_804_224 + 160


DEVIATIONS = {
    "convolution.convolution.weight": 0.05,
    "primary.convolution.weight": 0.1,
    "capsules.weight": 0.1,
    "decoder.layers.0.weight": 0.1,
    "decoder.layers.1.weight": 0.1,
    "decoder.layers.2.weight": 0.1,
}


@pytest.mark.parametrize("name", DEVIATIONS)
def test_its_weights_begin_truncated_normal(name: str) -> None:
    larger = {"conv_channels": 64, "primary_types": 8, "primary_dim": 8, "class_dim": 16}
    decoder = FullyConnectedDecoder(hidden=(64, 64))
    values = network(reconstruction=decoder, **larger).state_dict()[name]
    deviation = DEVIATIONS[name]
    assert values.abs().max().item() <= 2 * deviation + 1e-7
    # that of a normal distribution cut at two deviations
    assert values.std().item() == pytest.approx(0.8796 * deviation, rel=0.08)
    assert values.mean().item() == pytest.approx(0, abs=0.1 * deviation)


def test_its_biases_begin_at_a_tenth() -> None:
    values = network().state_dict()
    biases = [value for name, value in values.items() if name.endswith("bias")]
    assert len(biases) == 6
    for value in biases:
        assert_close(value, torch.full_like(value, 0.1), atol=1e-8, rtol=0)


def test_each_departure_is_a_setting_of_its_own() -> None:
    official = CapsNet.of_profile("official", **SMALL)
    paper = CapsNet(**SMALL)
    variants = {
        path: with_settings(paper, {path: value})
        for path, value in {
            "primary_coupling": "uniform",
            "initialisation": "truncated",
            "initial_bias": 0.1,
            "routing.bias": True,
        }.items()
    }
    assert len({model.model_dump_json() for model in (paper, official, *variants.values())}) == 6
    lengths = [outputs_of(model).lengths for model in (paper, official, *variants.values())]
    for index, values in enumerate(lengths):
        assert not any(torch.allclose(values, other) for other in lengths[:index])


def outputs_of(model: CapsNet) -> Outputs:
    built = model.build((1, 8, 8), 3)
    built.initialise(0)
    return built.double()(IMAGES, None, seeded())


def ratio(config: TrainingConfig) -> Tensor:
    """That of the reconstruction's part of the loss to that of the margin loss, in one network."""
    built = CapsNet(**SMALL).build((1, 8, 8), 10)
    built.initialise(0)
    outputs, labels = built(IMAGES.float(), None, seeded()), torch.tensor([0, 1])
    margin = config.loss.judge(outputs, labels, 0.5)
    return built.penalty(outputs, IMAGES.float()) / margin


def test_its_reconstruction_weighs_twenty_times_as_much_against_the_margin_loss() -> None:
    paper, official = (
        TrainingConfig.of_profile(f"sabour2017_{profile}") for profile in ("paper", "official")
    )
    assert paper.loss == MarginLoss()
    assert_close(ratio(official) / ratio(paper), torch.tensor(20.0))
