"""Routers of a trained network that can be given shares, and how they are replaced."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from capsmodel.functional.neighbourhood import Neighbourhood
from capsmodel.routing import Routed, Votes
from capsmodel.routing.agreement import AgreementRouter
from capsmodel.routing.controls import RandomRouter, UniformRouter
from capsmodel.routing.em_routing import EMRouter

SharingRouter = AgreementRouter | EMRouter | UniformRouter | RandomRouter


def sharing_routers(network: nn.Module) -> list[tuple[str, SharingRouter]]:
    """Return the routers of a network that can be given shares, by name, the lowest first."""
    return [
        (name, module)
        for name, module in network.named_modules()
        if isinstance(module, SharingRouter)
    ]


def replace_router(network: nn.Module, name: str, router: nn.Module) -> None:
    """Put another router into a network, in place of the one of a name."""
    layer, _, attribute = name.rpartition(".")
    setattr(network.get_submodule(layer), attribute, router)


def totals(
    shares: Float[Tensor, "edges sites out_caps"], around: Neighbourhood
) -> Float[Tensor, "edges sites 1"]:
    """Return at each edge the sum of its child's shares over all parents."""
    return around.sum_over_parents(shares.sum(dim=2)).unsqueeze(2)


class EqualShares(nn.Module):
    """Divides every child equally among all its parents, whatever it votes, in one round."""

    def __init__(self, router: SharingRouter) -> None:
        """Take the router, whose weights make capsules of the shared votes."""
        super().__init__()
        self.router = router

    def forward(self, votes: Votes, generator: torch.Generator | None = None) -> Routed:
        """Return the capsules of equally shared votes; the generator is not used."""
        del generator
        values = votes.values
        sites, edges, out_caps, _ = values.shape
        ones = values.new_ones(edges, sites, out_caps)
        return self.router.share_out(votes, ones / totals(ones, votes.neighbourhood))
