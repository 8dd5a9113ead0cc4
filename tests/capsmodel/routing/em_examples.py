"""Small layers for EM routing, and its procedure as it is printed: one vote after another."""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from capsmodel.routing import Fan, GivenVotes, Neighbourhood, ProductVotes, Routed
from capsmodel.routing.em_routing import EMRouter, EMRouting

STRIDE_1 = Neighbourhood(height=5, width=4, kernel_size=3, stride=1)
STRIDE_2 = Neighbourhood(height=5, width=7, kernel_size=3, stride=2)
ONE_PLACE = Neighbourhood()


class Layer(NamedTuple):
    """A layer's children and its learned values."""

    neighbourhood: Neighbourhood
    poses: Tensor  # [batch child_places types rows * inner]
    activations: Tensor  # [batch child_places types]
    matrices: Tensor  # [edges inner columns out_caps]
    offsets: Tensor | None  # [edges pose], or with one for each type of parent [edges pose types]
    activation_bias: Tensor
    cost_bias: Tensor

    @classmethod
    def drawn(
        cls,
        neighbourhood: Neighbourhood,
        *,
        types: int = 2,
        out_caps: int = 3,
        batch: int = 2,
        side: int = 2,
        seed: int = 0,
        offset: bool = False,
    ) -> "Layer":
        chance, double = torch.Generator().manual_seed(seed), torch.float64

        def normal(*shape: int) -> Tensor:
            return torch.randn(shape, generator=chance, dtype=double)

        places, edges = neighbourhood.num_child_places, neighbourhood.window_size * types
        return cls(
            neighbourhood,
            normal(batch, places, types, side * side),
            torch.rand((batch, places, types), generator=chance, dtype=double),
            normal(edges, side, side, out_caps),
            normal(edges, side * side) if offset else None,
            normal(out_caps),
            normal(out_caps),
        )

    def to(self, dtype: torch.dtype) -> "Layer":
        return self._make(value.to(dtype) if isinstance(value, Tensor) else value for value in self)

    def with_gradient(self) -> "Layer":
        return self._make(
            value.clone().requires_grad_() if isinstance(value, Tensor) else value for value in self
        )

    def tensors(self) -> list[Tensor]:
        return [value for value in self if isinstance(value, Tensor)]

    def products(self) -> ProductVotes:
        side, offsets = self.matrices.shape[1], self.offsets
        if offsets is not None and offsets.ndim == 2:
            offsets = offsets.unsqueeze(-1)
        return ProductVotes(
            self.neighbourhood.edges(self.activations.unsqueeze(-1)).squeeze(-1),
            self.neighbourhood,
            self.neighbourhood.edges(self.poses).unflatten(2, (side, side)),
            self.matrices,
            offsets,
        )

    def votes_in_full(self) -> GivenVotes:
        products = self.products()
        return GivenVotes(products.activations, products.neighbourhood, products.values)

    def route(self, settings: EMRouting, *, held_in_full: bool = False) -> Routed:
        votes = self.votes_in_full() if held_in_full else self.products()
        return self.router(settings)(votes, None)

    def router(self, settings: EMRouting) -> EMRouter:
        edges, side, _, out_caps = self.matrices.shape
        router = settings.build(Fan(edges, out_caps, side * side, self.neighbourhood))
        # In the place of the parameters, so that what is handed in gets the gradient.
        del router.activation_bias, router.cost_bias
        router.activation_bias, router.cost_bias = self.activation_bias, self.cost_bias  # pyright: ignore
        return router


def results(routed: Routed) -> list[Tensor]:
    assert routed.couplings is not None
    return [routed.poses, routed.activations, routed.couplings.values]


def gradients(routed: Routed, layer: Layer) -> list[Tensor]:
    """Return those of a sum with drawn weights."""
    chance = torch.Generator().manual_seed(9)
    total = torch.zeros((), dtype=routed.poses.dtype)
    for output in routed[:2]:
        weights = torch.randn(output.shape, generator=chance, dtype=torch.float64).to(output)
        total = total + (weights * output).sum()
    return list(torch.autograd.grad(total, layer.tensors()))


def given_votes(*shape: int, activations: Tensor | None = None, seed: int = 0) -> GivenVotes:
    """Return drawn votes of [batch in_caps out_caps pose] for a fully connected layer."""
    chance = torch.Generator().manual_seed(seed)
    votes = torch.randn(shape, generator=chance, dtype=torch.float64)
    if activations is None:
        activations = torch.rand(shape[1], shape[0], generator=chance, dtype=torch.float64)
    return GivenVotes(activations, ONE_PLACE, votes)


Child = tuple[int, int]  # place and type
Parent = tuple[int, int]
Logit = Callable[[Layer, Tensor, Tensor, int, float], Tensor]


class Procedure(NamedTuple):
    """What the printed procedure leaves open, or the authors' code does otherwise.

    Attributes:
        logit: Of the layer, mass, variance, type of parent and inverse temperature.
        competes: Whether two parents compete for a child.
        floor: Added to variances.
        momentum: Of the centres.
        last_gradient: Whether gradients flow through the last round alone.
        starts_at_each_place: Whether the first shares of a child add up to 1 at each place that
            sees it, not over all of them.
    """

    logit: Logit
    competes: Callable[[Parent, Parent], bool] = lambda first, second: True
    floor: float = 1e-4
    momentum: float = 1.0
    last_gradient: bool = False
    starts_at_each_place: bool = False


def route_literally(
    layer: Layer, procedure: Procedure, inverse_temperatures: list[float]
) -> list[Tensor]:
    """Return poses, activations and assignment at each edge, as a router does."""
    images = [_image(layer, procedure, inverse_temperatures, i) for i in range(len(layer.poses))]
    poses, activations, shares = zip(*images, strict=True)
    return [torch.cat(poses), torch.cat(activations), torch.cat(shares, dim=1)]


def _image(
    layer: Layer, procedure: Procedure, inverse_temperatures: list[float], image: int
) -> tuple[Tensor, Tensor, Tensor]:
    edge_of: dict[tuple[Child, Parent], int] = {}
    vote: dict[tuple[Child, Parent], Tensor] = {}
    out_caps, side = layer.matrices.shape[3], layer.matrices.shape[1]
    for edge, child, place in _edges(layer):
        pose = layer.poses[image, child[0], child[1]].view(side, side)
        for j in range(out_caps):
            offset = 0 if layer.offsets is None else layer.offsets[edge]
            vote[child, (place, j)] = (pose @ layer.matrices[edge, :, :, j]).flatten() + offset
            edge_of[child, (place, j)] = edge
    children = {child for child, _ in vote}
    parents = sorted({parent for _, parent in vote})
    of_child = {i: [j for j in parents if (i, j) in vote] for i in children}
    of_parent = {j: [i for i in sorted(children) if (i, j) in vote] for j in parents}
    activation = {i: layer.activations[image, i[0], i[1]] for i in children}
    sharing = {
        (i, j): [k for k in of_child[i] if k[0] == j[0] or not procedure.starts_at_each_place]
        for i, j in vote
    }
    r = {pair: torch.tensor(1 / len(among), dtype=torch.float64) for pair, among in sharing.items()}
    mu = {j: torch.zeros(side * side, dtype=torch.float64) for j in parents}
    variance: dict[Parent, Tensor] = {}
    a: dict[Parent, Tensor] = {}
    for iteration, inverse_temperature in enumerate(inverse_temperatures):
        if iteration:
            p = {(i, j): _density(vote[i, j], mu[j], variance[j]) for i, j in vote}
            r = {
                (i, j): a[j]
                * p[i, j]
                / sum(a[k] * p[i, k] for k in of_child[i] if procedure.competes(j, k))
                for i, j in vote
            }
            if procedure.last_gradient and iteration == len(inverse_temperatures) - 1:
                r = {pair: share.detach() for pair, share in r.items()}
                mu = {j: centre.detach() for j, centre in mu.items()}
        for j in parents:
            mine = of_parent[j]
            ra = torch.stack([r[i, j] * activation[i] for i in mine])
            votes = torch.stack([vote[i, j] for i in mine])
            new = (ra[:, None] * votes).sum(0) / ra.sum()
            mu[j] = procedure.momentum * new + (1 - procedure.momentum) * mu[j]
            spread = (ra[:, None] * (votes - mu[j]).square()).sum(0) / ra.sum()
            variance[j] = spread + procedure.floor
            a[j] = procedure.logit(layer, ra.sum(), variance[j], j[1], inverse_temperature)
            a[j] = a[j].sigmoid()
    places = layer.neighbourhood.num_places
    poses = torch.stack([mu[j] for j in parents]).view(places, out_caps, -1)
    shares = torch.zeros(len(layer.matrices), places, out_caps, dtype=torch.float64)
    for (i, j), share in r.items():
        shares[edge_of[i, j], j[0], j[1]] = share.detach()
    return poses, torch.stack([a[j] for j in parents]).view(places, out_caps), shares


def _edges(layer: Layer) -> Iterator[tuple[int, Child, int]]:
    """Yield each edge's number, its child and the parents' place."""
    of, types = layer.neighbourhood, layer.poses.shape[2]
    for row in range(of.out_height):
        for column in range(of.out_width):
            for y in range(of.kernel_size):
                for x in range(of.kernel_size):
                    seen = (row * of.stride + y) * of.width + column * of.stride + x
                    for i in range(types):
                        edge = (y * of.kernel_size + x) * types + i
                        yield edge, (seen, i), row * of.out_width + column


def _density(vote: Tensor, mu: Tensor, variance: Tensor) -> Tensor:
    height = (2 * math.pi * variance).prod().sqrt().reciprocal()
    return height * (-((vote - mu).square() / (2 * variance)).sum()).exp()
