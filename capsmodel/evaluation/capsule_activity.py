"""Which capsules of a layer respond and learn, and whether their routing looks at the image."""

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor, nn

from capsmodel.chance import stream, uniform
from capsmodel.data import DataSplits, Images
from capsmodel.evaluation.base import Evaluation, Findings, UnsuitableNetworkError
from capsmodel.evaluation.layer_activity import DEAD, LayerActivity, Moved
from capsmodel.evaluation.routers import (
    SharingRouter,
    replace_router,
    sharing_routers,
    totals,
)
from capsmodel.evaluation.shifted_test_error import shifted
from capsmodel.layers import Capsules, ConvCapsules, PrimaryCapsules
from capsmodel.layers.capsule_grid import GridPrimaryCapsules
from capsmodel.metrics import Metric
from capsmodel.routing import Routed, Votes
from capsmodel.training.trained import Trained

_BATCH = 64  # fixed, so that sums do not depend on it
_SEED = 0  # of random routing, the same for all trials
_DEAD_AT_START = 0.01
_STARVING = 1e-3  # of the median gradient of the layer's types


class CapsuleActivity(Evaluation):
    """Which capsules of a layer respond and learn, and whether routing looks at the image.

    It looks at the capsules of one layer below the classes, and at the shares in which the routing
    above them divides each among its parents; the shares of a child are scaled to add up to 1.

    - `dead`: the share of capsules whose length, or activation, is below a threshold in every
      image, as a curve over the threshold;
    - `active`: the share of capsules with a length of 0.1 or more in an image;
    - `starving`: the share of types of capsules whose weights have a gradient below 0.001 of the
      median type's, each the mean norm over images of the gradient of the training's loss at its
      end, without reconstruction; types that are dead (0.01) in the untrained network do not count;
    - `dynamics`: the standard deviation of a share over the images in which the child is active,
      mean over all pairs of child and parent: 0 where shares never change, sqrt(J - 1) / J where
      each image has one parent of J by chance. Uniform routing has 0 by construction;
    - `polarisation`: 1 - entropy of a child's shares / ln J, mean over active children: 0 where all
      J parents get the same, 1 where one gets all;
    - `single_parent`: the share of active children of which one parent gets half or more;
    - `length_spread`: the standard deviation of a capsule's length over all whole shifts of an
      image, over its standard deviation over images, both pooled over capsules: 0 where lengths do
      not depend on the place.

    The same figures follow for the network with random routing, `random_routing_`, in which the
    total that a child gives away is divided uniformly by a draw for each image, and for a network
    freshly initialised with the trial's seed, `untrained_`.

    Source: none; the questions are those of Mitterreiter, Koch, Giesen and Laue 2023,
    arXiv:2301.01583.

    Attributes:
        layer: Name of the layer: "primary", or in a network with more layers of capsules the name
            of another one below the classes, such as "first" or "hidden.layers.0".
        pixels: The largest shift of `length_spread`, down or up and to the right or left.
        num_images: The most test images that are looked at, the first ones.
    """

    takes: ClassVar[frozenset[str]] = frozenset({"class", "classes"})
    kind: Literal["capsule_activity"] = "capsule_activity"
    layer: str = "primary"
    pixels: Annotated[int, Field(ge=1, le=16)] = 1
    num_images: Annotated[int, Field(ge=2)] = 1000

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The figures of the network, with random routing, and untrained."""
        points: list[Metric] = []
        for prefix in _PREFIXES:
            points += self.curve(f"{prefix}dead", "threshold", DEAD, direction=None)
            points += [self.metric(f"{prefix}{name}", direction=None) for name in _SHARES]
            points += [
                self.metric(f"{prefix}{name}", unit=None, direction=None) for name in _NUMBERS
            ]
        return tuple(points)

    @property
    def primary(self) -> str:
        """None: the figures describe networks, and none of them should be small or large."""
        return ""

    @property
    def most_images(self) -> int | None:
        """As many as the settings say."""
        return self.num_images

    def evaluate(self, trained: Trained, data: DataSplits) -> Findings:
        """Return the figures, and those that are means over images by image.

        Raises:
            UnsuitableNetworkError: If the network has no such layer, or another routing above it.
        """
        seen = _seen_layer(trained, self.layer)
        split = self.images_of(data)
        networks = dict(
            zip(
                _PREFIXES,
                (trained, with_random_routing(trained), trained.as_initialised()),
                strict=True,
            )
        )
        activity = {
            prefix: self._activity(network, seen, split) for prefix, network in networks.items()
        }
        is_alive = ~seen.by_type(activity["untrained_"].is_dead(_DEAD_AT_START)).all(dim=1)
        numbers: dict[str, float] = {}
        images: dict[str, Tensor] = {}
        notes: list[str] = []
        for prefix, network in networks.items():
            layer_activity = activity[prefix]
            starving = is_starving(gradient_norms(network, seen.name, split)) & is_alive
            numbers |= {
                f"{prefix}dead.threshold_{at:g}": layer_activity.share_dead(at) for at in DEAD
            }
            numbers[f"{prefix}starving"] = starving.double().mean().item()
            numbers[f"{prefix}dynamics"] = layer_activity.dynamics()
            numbers[f"{prefix}length_spread"] = layer_activity.length_spread()
            by_image = {f"{prefix}{name}": row for name, row in layer_activity.by_image().items()}
            numbers |= {name: row.mean().item() for name, row in by_image.items()}
            images |= by_image
            notes += _without_active(prefix, layer_activity)
        metrics = {metric.name: numbers[metric.name] for metric in self.metrics}
        return Findings(metrics=metrics, images=images, left_out=tuple(notes))

    def _activity(self, trained: Trained, seen: "_SeenLayer", split: Images) -> LayerActivity:
        """Return the activity added up over all images and shifts."""
        activity = LayerActivity()
        reach = range(-self.pixels, self.pixels + 1)
        shifts = [(0, 0), *((a, b) for a in reach for b in reach if a or b)]
        records: list[Moved] = []

        def record(router: nn.Module, arguments: tuple[Any, ...], routed: Routed) -> None:
            del router
            assert routed.couplings is not None
            records.append(Moved(arguments[0].activations.detach(), routed.couplings))

        hook = trained.network.get_submodule(seen.router).register_forward_hook(record)
        try:
            for start in range(0, len(split), _BATCH):
                batch = split.take(slice(start, start + _BATCH))
                records.clear()
                draw_for(trained.network, range(start, start + len(batch)))
                for down, right in shifts:
                    with torch.no_grad():
                        trained.outputs(shifted(batch.images, down, right))
                activity.add(records)
        finally:
            hook.remove()
        return activity


_PREFIXES = ("", "random_routing_", "untrained_")
_SHARES = ("active", "starving", "single_parent")
_NUMBERS = ("dynamics", "polarisation", "length_spread")


def _without_active(prefix: str, layer_activity: LayerActivity) -> Iterator[str]:
    network = {"": "As trained", "random_routing_": "With random routing"}.get(prefix, "Untrained")
    if idle := int((layer_activity.by_image()["active"] == 0).sum()):
        yield (
            f"{network}, no capsule of the layer is active in {idle} of "
            f"{layer_activity.num_images} images, whose polarisation and single parents count as 0."
        )
    if not layer_activity.has_dynamics:
        yield f"{network}, no capsule of the layer is active in two images: its dynamics are 0."


@dataclass(frozen=True)
class _SeenLayer:
    """A layer of capsules, and the router that divides them among their parents.

    Attributes:
        name: The layer's.
        router: The router's.
        types: Types of capsules.
        is_by_type: Whether all edges of one type stand before all of the next.
    """

    name: str
    router: str
    types: int
    is_by_type: bool

    def by_type(self, values: Bool[Tensor, "edges places"]) -> Bool[Tensor, "types edges_of_type"]:
        """Return values of edges type by type."""
        if self.is_by_type:
            return values.unflatten(0, (self.types, -1)).flatten(1)
        return values.unflatten(0, (-1, self.types)).transpose(0, 1).flatten(1)


def _seen_layer(trained: Trained, name: str) -> _SeenLayer:
    """Return a layer of capsules below the classes.

    Raises:
        UnsuitableNetworkError: If no layer has the name, or its routing cannot take given shares.
    """
    network, model = trained.network, trained.config.model.kind
    routers = [name for name, _ in sharing_routers(network)]
    makers = ["primary", *(router.rpartition(".")[0] for router in routers[:-1])]
    if not routers or not isinstance(
        getattr(network, "primary", None), PrimaryCapsules | GridPrimaryCapsules
    ):
        raise UnsuitableNetworkError(
            f"capsule_activity is for capsules under the routings dynamic, leaky, uniform, random "
            f"and em, got the model '{model}' without."
        )
    if name not in makers:
        raise UnsuitableNetworkError(
            f"capsule_activity looks at the layer '{name}', got the model '{model}', whose layers "
            f"of capsules below the classes are: {', '.join(makers)}."
        )
    layer, router = network.get_submodule(name), routers[makers.index(name)]
    if isinstance(layer, PrimaryCapsules):
        if layer.grouping == "pixels":
            raise UnsuitableNetworkError(
                "capsule_activity is for capsules of several types, got primary capsules with the "
                "grouping 'pixels', which have none."
            )
        return _SeenLayer(name, router, layer.out_types, is_by_type=True)
    if isinstance(layer, GridPrimaryCapsules):
        return _SeenLayer(name, router, layer.out_types, is_by_type=False)
    if isinstance(layer, Capsules):
        return _SeenLayer(name, router, layer.out_caps, is_by_type=True)
    assert isinstance(layer, ConvCapsules)
    return _SeenLayer(name, router, layer.weight.shape[-1], is_by_type=False)


def with_random_routing(trained: Trained) -> Trained:
    """Return a copy of the network that divides every child by chance, anew for each image."""
    network = copy.deepcopy(trained.network)
    for name, router in sharing_routers(network):
        replace_router(network, name, _RandomShares(name, router))
    return trained.with_network(network)


class _RandomShares(nn.Module):
    """Divides what each child gives away uniformly among its parents, by a draw for each image.

    Attributes:
        indices: Numbers of the images of the next batch in their split, which decide the draws.
    """

    def __init__(self, name: str, router: SharingRouter) -> None:
        super().__init__()
        self.router = router
        self.indices = range(0)
        self._name = name

    def forward(self, votes: Votes, generator: torch.Generator | None = None) -> Routed:
        """Return the capsules of the votes in drawn shares."""
        with torch.no_grad():
            couplings = self.router(votes, generator).couplings
        around = votes.neighbourhood
        edges, sites, out_caps = couplings.values.shape
        shape = (edges, sites // len(self.indices), out_caps)
        draws = [
            uniform(shape, stream(_SEED, "capsule activity", self._name, str(index)))
            for index in self.indices
        ]
        weights = -torch.log1p(-torch.cat(draws, dim=1)).to(couplings.values)
        scale = totals(couplings.values, around) / totals(weights, around)
        return self.router.share_out(votes, weights * scale)


def draw_for(network: nn.Module, indices: range) -> None:
    """Say which images the next batch has, where a network divides children by chance."""
    for module in network.modules():
        if isinstance(module, _RandomShares):
            module.indices = indices


def gradient_norms(trained: Trained, layer: str, split: Images) -> Float[Tensor, " types"]:
    """Return the mean norm over images of the gradient of the weights of each type of capsules."""
    module = trained.network.get_submodule(layer)
    total = torch.zeros((), dtype=torch.float64)
    for index in range(len(split)):
        image = split.take(slice(index, index + 1))
        draw_for(trained.network, range(index, index + 1))
        with torch.enable_grad():
            loss = trained.config.loss.judge(trained.outputs(image.images), image.labels, 1.0)
        parameters = [
            parameter for name, parameter in module.named_parameters() if "router" not in name
        ]
        gradients = torch.autograd.grad(loss, parameters)
        total = total + torch.linalg.vector_norm(_by_type(module, gradients), dim=1)
    return total / len(split)


def _by_type(module: nn.Module, gradients: Iterable[Tensor]) -> Float[Tensor, "types numbers"]:
    """Return the gradients of a layer's weights, those of each type in a row, on the CPU."""
    rows: list[Tensor] = []
    for values in gradients:
        if isinstance(module, ConvCapsules):
            rows.append(values.movedim(-1, 0).flatten(1))
            continue
        if isinstance(module, Capsules):
            rows.append(values.unflatten(-1, module.out_shape).movedim(-2, 0).flatten(1))
            continue
        assert isinstance(module, PrimaryCapsules | GridPrimaryCapsules)
        num_poses = module.out_types * module.pose_dim
        rows.append(values[:num_poses].reshape(module.out_types, -1))
        if len(values) > num_poses:  # the logits of activations
            rows.append(values[num_poses:].reshape(module.out_types, -1))
    return torch.cat(rows, dim=1).double().cpu()


def is_starving(norms: Float[Tensor, " types"]) -> Bool[Tensor, " types"]:
    """Return which types have a gradient far below the median type's."""
    return norms < _STARVING * norms.median()
