"""Routings: how the votes of lower capsules become higher ones."""

from capsmodel.functional import Couplings as Couplings
from capsmodel.functional import Neighbourhood as Neighbourhood
from capsmodel.functional import Routed as Routed
from capsmodel.functional.votes import GivenVotes as GivenVotes
from capsmodel.functional.votes import LinearVotes as LinearVotes
from capsmodel.functional.votes import ProductVotes as ProductVotes
from capsmodel.functional.votes import Votes as Votes
from capsmodel.routing.agreement import INITIAL_LOGITS as INITIAL_LOGITS
from capsmodel.routing.agreement import AgreementRouting as AgreementRouting
from capsmodel.routing.agreement import DynamicRouting as DynamicRouting
from capsmodel.routing.agreement import InitialLogits as InitialLogits
from capsmodel.routing.agreement import LeakyRouting as LeakyRouting
from capsmodel.routing.agreement import LearnedLogits as LearnedLogits
from capsmodel.routing.agreement import NormalLogits as NormalLogits
from capsmodel.routing.agreement import ZeroLogits as ZeroLogits
from capsmodel.routing.base import Fan as Fan
from capsmodel.routing.base import Router as Router
from capsmodel.routing.base import Routing as Routing
from capsmodel.routing.base import RoutingFacts as RoutingFacts
from capsmodel.routing.base import VectorRouting as VectorRouting
from capsmodel.routing.controls import RandomRouting as RandomRouting
from capsmodel.routing.controls import UniformRouting as UniformRouting
from capsmodel.routing.em_routing import EMRouting as EMRouting
from capsmodel.routing.function import FunctionRouter as FunctionRouter
from capsmodel.routing.function import FunctionRouting as FunctionRouting
from capsmodel.routing.heinsen_routing import HeinsenRouting as HeinsenRouting
from capsmodel.routing.inverse_temperature import INVERSE_TEMPERATURES as INVERSE_TEMPERATURES
from capsmodel.routing.inverse_temperature import (
    ConstantInverseTemperature as ConstantInverseTemperature,
)
from capsmodel.routing.inverse_temperature import InverseTemperature as InverseTemperature
from capsmodel.routing.inverse_temperature import (
    RisingInverseTemperature as RisingInverseTemperature,
)
from capsmodel.routing.inverted_attention import (
    InvertedAttentionRouting as InvertedAttentionRouting,
)
from capsmodel.routing.self_attention import SelfAttentionRouting as SelfAttentionRouting
from capsmodel.routing.self_routing import SelfRouting as SelfRouting
from capsmodel.routing.variational_bayes import (
    VariationalBayesRouting as VariationalBayesRouting,
)

ROUTINGS = (
    DynamicRouting,
    LeakyRouting,
    UniformRouting,
    RandomRouting,
    EMRouting,
    SelfAttentionRouting,
    InvertedAttentionRouting,
    SelfRouting,
    HeinsenRouting,
    VariationalBayesRouting,
)
