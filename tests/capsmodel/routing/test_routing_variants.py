"""Every setting of routing by agreement keeps the contract."""

import pytest

from capsmodel.routing import (
    DynamicRouting,
    LeakyRouting,
    LearnedLogits,
    RandomRouting,
    RisingInverseTemperature,
    Routing,
    UniformRouting,
)
from capsmodel.squash import ExponentialSquash, SabourSquash
from capsmodel.testing import RoutingContract

VARIANTS: dict[str, Routing] = {
    "one iteration": DynamicRouting(iterations=1),
    "leaky in one iteration": LeakyRouting(iterations=1),
    "bias": DynamicRouting(bias=True),
    "uniform with a bias": UniformRouting(bias=True),
    "random with a bias": RandomRouting(bias=True),
    "last gradient": DynamicRouting(gradient="last"),
    "exponential": DynamicRouting(squash=ExponentialSquash()),
    "epsilon": DynamicRouting(squash=SabourSquash(epsilon=1e-7)),
    "learned logits": DynamicRouting(initial_logits=LearnedLogits()),
    "rising": DynamicRouting(inverse_temperature=RisingInverseTemperature(final=2.0)),
    "all of them": LeakyRouting(
        bias=True,
        gradient="last",
        squash=ExponentialSquash(),
        initial_logits=LearnedLogits(),
        inverse_temperature=RisingInverseTemperature(final=2.0),
    ),
}


class TestVariants(RoutingContract):
    @pytest.fixture(params=VARIANTS)
    def routing(self, request: pytest.FixtureRequest) -> Routing:
        return VARIANTS[request.param]
