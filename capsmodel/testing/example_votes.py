"""Small layers for the laws of routings."""

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from capsmodel.routing import Fan, Neighbourhood, ProductVotes

BATCH, OUT_CAPS, POSE = 3, 4, 4
_SIDE = 2  # poses are matrices of 2 by 2

LAYERS = {
    "fully connected": Neighbourhood(),
    # strides, and windows that overlap
    "convolutional": Neighbourhood(height=5, width=7, kernel_size=3, stride=2),
}
_TYPES = {"fully connected": 7, "convolutional": 2}


def fan_of(layer: str) -> Fan:
    """Return the sizes of a layer."""
    neighbourhood = LAYERS[layer]
    return Fan(_TYPES[layer] * neighbourhood.window_size, OUT_CAPS, POSE, neighbourhood)


def example_votes(
    layer: str, scale: float = 1.0, dtype: torch.dtype = torch.float64
) -> ProductVotes:
    """Return drawn votes of a layer: a child votes with one pose wherever it is seen.

    Args:
        layer: A name of `LAYERS`.
        scale: Multiplier of the poses.
        dtype: Type of all tensors.
    """
    generator = torch.Generator().manual_seed(1)
    neighbourhood, fan = LAYERS[layer], fan_of(layer)
    places, types = neighbourhood.num_child_places, _TYPES[layer]
    children = scale * _normal(generator, dtype, BATCH, places, types, POSE)
    heights = torch.rand(BATCH, places, types, 1, generator=generator, dtype=dtype)
    edges = neighbourhood.edges(children)
    return ProductVotes(
        neighbourhood.edges(heights).squeeze(-1),
        neighbourhood,
        edges.unflatten(-1, (_SIDE, _SIDE)),
        _normal(generator, dtype, fan.edges, _SIDE, _SIDE, OUT_CAPS),
    )


def images_of(votes: ProductVotes, images: slice) -> ProductVotes:
    """Return the votes in some images of a batch."""
    places = votes.neighbourhood.num_places
    sites = slice(images.start * places, images.stop * places)
    return replace(votes, poses=votes.poses[:, sites], activations=votes.activations[:, sites])


def with_types_in_order(votes: ProductVotes, order: Tensor) -> ProductVotes:
    """Return the votes with the types of children in another order."""
    window = votes.neighbourhood.window_size

    def ordered(values: Tensor) -> Tensor:
        return values.unflatten(0, (window, -1))[:, order].flatten(0, 1)

    return replace(
        votes,
        activations=ordered(votes.activations),
        poses=ordered(votes.poses),
        matrices=ordered(votes.matrices),
    )


def with_outputs_in_order(votes: ProductVotes, order: Tensor) -> ProductVotes:
    """Return the votes with the types of parents in another order."""
    return replace(votes, matrices=votes.matrices[..., order])


def _normal(generator: torch.Generator, dtype: torch.dtype, *shape: int) -> Float[Tensor, "..."]:
    return torch.randn(shape, generator=generator, dtype=dtype)
