"""Capsules as functions of tensors: no settings and no modules."""

from typing import Any

from capsmodel.functional.agreement import dynamic_routing as dynamic_routing
from capsmodel.functional.agreement import leaky_routing as leaky_routing
from capsmodel.functional.controls import random_routing as random_routing
from capsmodel.functional.controls import uniform_routing as uniform_routing
from capsmodel.functional.differentiation import (
    gradient_through_all_rounds as gradient_through_all_rounds,
)
from capsmodel.functional.differentiation import plain_autograd as plain_autograd
from capsmodel.functional.em import em_routing as em_routing
from capsmodel.functional.em import (
    rising_inverse_temperature as rising_inverse_temperature,
)
from capsmodel.functional.grid_routing import grid_routing as grid_routing
from capsmodel.functional.heinsen import heinsen_routing as heinsen_routing
from capsmodel.functional.inverted_attention import (
    inverted_attention_routing as inverted_attention_routing,
)
from capsmodel.functional.labels import one_hot as one_hot
from capsmodel.functional.losses import Margins as Margins
from capsmodel.functional.losses import margin_loss as margin_loss
from capsmodel.functional.losses import sigmoid_loss as sigmoid_loss
from capsmodel.functional.losses import spread_loss as spread_loss
from capsmodel.functional.neighbourhood import Neighbourhood as Neighbourhood
from capsmodel.functional.poses import exponential_squash as exponential_squash
from capsmodel.functional.poses import keep_class as keep_class
from capsmodel.functional.poses import lengths as lengths
from capsmodel.functional.poses import squash as squash
from capsmodel.functional.poses import squash_with_epsilon as squash_with_epsilon
from capsmodel.functional.self_attention import self_attention_routing as self_attention_routing
from capsmodel.functional.self_routing import self_routing as self_routing
from capsmodel.functional.variational_bayes import (
    variational_bayes_routing as variational_bayes_routing,
)
from capsmodel.functional.votes import Couplings as Couplings
from capsmodel.functional.votes import Routed as Routed

_REMOVED = {"AgreementOptions": "dynamic_routing", "EMOptions": "em_routing"}


def __getattr__(name: str) -> Any:
    if name in _REMOVED:
        raise ImportError(
            f"capsmodel.functional has no {name} any more: give {_REMOVED[name]} its options as "
            f"keyword arguments."
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
