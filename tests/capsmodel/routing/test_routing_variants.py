"""Every setting of routing by agreement keeps the laws that a setting can break."""

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
from capsmodel.testing.routing_contract import RoutingValuesContract

VARIANTS: dict[str, Routing] = {
    "one iteration": DynamicRouting(iterations=1),
    "leaky in one iteration": LeakyRouting(iterations=1),
    "bias": DynamicRouting(bias=True),
    "last gradient": DynamicRouting(gradient="last"),
    "exponential": DynamicRouting(squash=ExponentialSquash()),
    "epsilon": DynamicRouting(squash=SabourSquash(epsilon=1e-7)),
    "learned logits": DynamicRouting(initial_logits=LearnedLogits()),
    "rising": DynamicRouting(inverse_temperature=RisingInverseTemperature(final=2.0)),
}
LEARNED: dict[str, Routing] = {
    "uniform with a bias": UniformRouting(bias=True),
    "random with a bias": RandomRouting(bias=True),
    "all of them": LeakyRouting(
        bias=True,
        gradient="last",
        squash=ExponentialSquash(),
        initial_logits=LearnedLogits(),
        inverse_temperature=RisingInverseTemperature(final=2.0),
    ),
}
"""Those with values to be set, saved and restored, which the defaults have not."""


class TestVariants(RoutingValuesContract):
    @pytest.fixture(params=VARIANTS)
    def routing(self, request: pytest.FixtureRequest) -> Routing:
        return VARIANTS[request.param]


class TestLearned(RoutingContract):
    @pytest.fixture(params=LEARNED)
    def routing(self, request: pytest.FixtureRequest) -> Routing:
        return LEARNED[request.param]
