"""Tables and figures of searches: what was found, and what matters."""

from sweeps.aggregation.makers.searches.confirmation import make_confirmation as make_confirmation
from sweeps.aggregation.makers.searches.front import make_front as make_front
from sweeps.aggregation.makers.searches.sensitivity import make_sensitivity as make_sensitivity
from sweeps.aggregation.makers.searches.sensitivity import (
    sensitivity_headline as sensitivity_headline,
)
