"""The error where a trained network routes otherwise than it did in its training."""

import copy
from collections.abc import Callable, Iterator
from typing import Annotated, ClassVar, Literal

import torch
from jaxtyping import Bool, Float
from pydantic import Field, model_validator
from torch import Tensor, nn

from capsmodel.chance import stream, uniform
from capsmodel.data import DataSplits
from capsmodel.evaluation.base import (
    Evaluation,
    Findings,
    UnsuitableNetworkError,
    beliefs_in,
    image_errors,
)
from capsmodel.evaluation.routers import replace_router
from capsmodel.metrics import Metric
from capsmodel.routing import Routed, Votes
from capsmodel.routing.agreement import AgreementRouter
from capsmodel.routing.em_routing import EMRouter
from capsmodel.training.trained import Trained

IteratedRouter = AgreementRouter | EMRouter


class SwappedRouting(Evaluation):
    """The error on the test images when the trained network routes otherwise, weights unchanged.

    It is judged with several numbers of iterations, as a curve (1 shares every vote by the initial
    logits: with those of zero it is uniform routing), and with couplings that know nothing of the
    image: their mean over the validation images, and random ones, where the share that a child
    gives away in that mean is divided among its parents uniformly, by one draw for all images.
    Where classes hardly change, what the network does for an image hardly depends on its routing.

    It is for routings with iterations: by agreement, and EM. Centres of EM have no momentum where
    couplings are given. Source: none.

    Attributes:
        iterations: Points of the curve, ascending: rounds of routing in every layer.
    """

    takes: ClassVar[frozenset[str]] = frozenset({"class", "classes"})
    kind: Literal["swapped_routing"] = "swapped_routing"
    iterations: tuple[Annotated[int, Field(ge=1, le=100)], ...] = (1, 2, 3, 5, 10)

    @model_validator(mode="after")
    def _check_iterations(self) -> "SwappedRouting":
        self.curve("error", "iterations", self.iterations)
        return self

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Errors, and shares of images whose class is not the one of the routing as trained."""
        return (
            *self.curve("error", "iterations", self.iterations),
            *self.curve("changed", "iterations", self.iterations, direction=None),
            self.metric("mean_couplings_error"),
            self.metric("mean_couplings_changed", direction=None),
            self.metric("random_couplings_error"),
            self.metric("random_couplings_changed", direction=None),
        )

    def evaluate(self, trained: Trained, data: DataSplits) -> Findings:
        """Return the errors and changes, and the images that they count.

        Raises:
            ValueError: If the network has no routing with iterations.
        """
        before = beliefs_in(trained, data.test)
        shares = mean_shares(trained, data.validation.take(slice(None)).images)
        drawn = random_shares(shares, stream(trained.seed, "swapped routing"))
        by_image: dict[str, Tensor] = {}
        for n in self.iterations:
            errors, changed = _compared(with_iterations(trained, n), data, before)
            by_image[f"error.iterations_{n}"], by_image[f"changed.iterations_{n}"] = errors, changed
        for name, couplings in (("mean", shares), ("random", drawn)):
            errors, changed = _compared(with_shares(trained, couplings), data, before)
            by_image[f"{name}_couplings_error"], by_image[f"{name}_couplings_changed"] = (
                errors,
                changed,
            )
        return Findings(
            metrics={
                metric.name: by_image[metric.name].double().mean().item() for metric in self.metrics
            },
            images=by_image,
        )


Shares = dict[str, Float[Tensor, "edges places out_caps"]]


def with_iterations(trained: Trained, iterations: int) -> Trained:
    """Return a network that routes in another number of rounds, in every layer.

    Raises:
        ValueError: If it has no routing with iterations.
    """

    def swap(name: str, router: IteratedRouter) -> IteratedRouter:
        del name
        update = {"iterations": iterations}
        if isinstance(router, EMRouter):
            router.settings = router.settings.model_copy(update=update)
        else:
            router.routing = router.routing.model_copy(update=update)
        return router

    return _swapped(trained, swap)


def mean_shares(trained: Trained, images: Float[Tensor, "images channels height width"]) -> Shares:
    """Return the mean couplings of each layer over images.

    Raises:
        ValueError: If the network has no routing with iterations.
    """
    recorders: dict[str, _Recorder] = {}

    def swap(name: str, router: IteratedRouter) -> nn.Module:
        recorders[name] = _Recorder(router)
        return recorders[name]

    _swapped(trained, swap).predict(images)
    return {name: recorder.mean() for name, recorder in recorders.items()}


def random_shares(shares: Shares, generator: torch.Generator) -> Shares:
    """Return random shares, uniform on the simplex. Each child gives away as much as before."""
    drawn: Shares = {}
    for name, values in shares.items():
        weights = -torch.log1p(-uniform(tuple(values.shape), generator)).to(values)
        drawn[name] = values.sum(dim=2, keepdim=True) * weights / weights.sum(dim=2, keepdim=True)
    return drawn


def with_shares(trained: Trained, shares: Shares) -> Trained:
    """Return a network whose children are shared out as given, whatever they vote.

    Args:
        trained: The network.
        shares: Name of a layer's router -> the share of each child that goes to each parent, at
            each of the layer's places.
    """
    return _swapped(trained, lambda name, router: _GivenShares(router, shares[name]))


class _Recorder(nn.Module):
    """Routes as a router does, and adds up the couplings of the images that it sees.

    It is no `Router`, which would draw its weights anew when it is built.
    """

    def __init__(self, router: IteratedRouter) -> None:
        super().__init__()
        self.router = router
        self._total: Tensor | None = None
        self._num_images = 0

    def forward(self, votes: Votes, generator: torch.Generator | None = None) -> Routed:
        """Return the capsules as the router does."""
        routed = self.router(votes, generator)
        assert routed.couplings is not None
        places = votes.neighbourhood.num_places
        by_image = routed.couplings.values.double().unflatten(1, (-1, places))
        total = by_image.sum(dim=1)
        self._total = total if self._total is None else self._total + total
        self._num_images += by_image.shape[1]
        return routed

    def mean(self) -> Float[Tensor, "edges places out_caps"]:
        """Return the mean over the images."""
        assert self._total is not None
        return (self._total / self._num_images).float()


class _GivenShares(nn.Module):
    """Shares children out as given, with a router's weights."""

    def __init__(self, router: IteratedRouter, shares: Tensor) -> None:
        super().__init__()
        self.router = router
        self.shares = shares

    def forward(self, votes: Votes, generator: torch.Generator | None = None) -> Routed:
        """Return the capsules of the votes in the given shares."""
        del generator
        places = votes.neighbourhood.num_places
        num_images = votes.activations.shape[1] // places
        return self.router.share_out(votes, self.shares.repeat(1, num_images, 1))


def _swapped(trained: Trained, swap: Callable[[str, IteratedRouter], nn.Module]) -> Trained:
    """Return a copy of a network with other routers; layers are called by their routers' names.

    Raises:
        ValueError: If it has no routing with iterations.
    """
    network = copy.deepcopy(trained.network)
    routers = [*_routers_in(network)]
    if not routers:
        raise UnsuitableNetworkError(
            f"swapped_routing is for routings with iterations, such as dynamic, leaky and em, got "
            f"the model '{trained.config.model.kind}' without one."
        )
    for name, router in routers:
        replace_router(network, name, swap(name, router))
    return trained.with_network(network)


def _routers_in(network: nn.Module) -> Iterator[tuple[str, IteratedRouter]]:
    for name, module in network.named_modules():
        if isinstance(module, AgreementRouter | EMRouter):
            yield name, module


def _compared(
    swapped: Trained, data: DataSplits, before: Float[Tensor, "images classes"]
) -> tuple[Float[Tensor, " images"], Bool[Tensor, " images"]]:
    """Return the error of each test image, and whether its answer differs from the beliefs."""
    task, labels = swapped.config.data.task, data.test.labels
    beliefs = beliefs_in(swapped, data.test)
    is_other = task.answers(beliefs, labels) != task.answers(before, labels)
    return image_errors(swapped, beliefs, labels), is_other.reshape(len(labels), -1).any(1).cpu()
