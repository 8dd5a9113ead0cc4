"""Residual blocks with projected shortcuts, and the published network that is made of them."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from capsmodel.layers import Backbone, ConvCapsules, Convolution, ResidualBlock, Window
from capsmodel.routing import InvertedAttentionRouting


def test_a_projected_shortcut_adds_a_normalised_convolution_of_one_pixel() -> None:
    block = ResidualBlock(3, 5, 2, shortcut="projected").eval()
    images = torch.rand(2, 3, 7, 6, generator=torch.Generator().manual_seed(0))
    scale = (1 + 1e-5) ** -0.5  # of the running statistics at first
    first, second, projection = (
        getattr(block, name).convolution.weight for name in ("first", "second", "projection")
    )
    inner = F.relu(F.conv2d(images, first, None, 2, 1) * scale)
    inner = F.conv2d(inner, second, None, 1, 1) * scale
    skipped = F.conv2d(images, projection, None, 2) * scale
    assert_close(block(images), F.relu(inner + skipped))


def test_the_layers_of_the_inverted_attention_network_have_its_published_parameters() -> None:
    """Tsai and others 2020, CIFAR-10, 1,828,817: https://arxiv.org/abs/2002.04764."""
    routing = InvertedAttentionRouting()
    with torch.device("meta"):
        backbone = Backbone(
            [
                Convolution(3, 64, Window(3, 1, 1), batch_norm=True, bias=False),
                *(ResidualBlock(64, 64, shortcut="projected") for _ in range(3)),
                ResidualBlock(64, 128, 2, shortcut="projected"),
                *(ResidualBlock(128, 128, shortcut="projected") for _ in range(3)),
            ]
        )
        layers = [
            backbone,
            nn.Conv2d(128, 32 * 16, 1, bias=False),
            nn.LayerNorm(16),
            ConvCapsules(32, 32, (16, 16), 3, stride=2, routing=routing),
            ConvCapsules(32, 32, (7, 7), 3, routing=routing),
            ConvCapsules(32 * 25, 10, (1, 1), 1, routing=routing),
        ]
    numbers = [sum(parameter.numel() for parameter in layer.parameters()) for layer in layers]
    assert numbers[0] == 1_340_224
    assert sum(numbers) == 1_828_817
    assert backbone.positions(32) == 16
