"""Tables and figures of designs: what each change does."""

from sweeps.aggregation.makers.designs.ablation import make_ablation as make_ablation
from sweeps.aggregation.makers.designs.components import make_components as make_components
from sweeps.aggregation.makers.designs.effects import make_effects as make_effects
