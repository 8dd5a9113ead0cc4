"""The Adam optimiser."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from capsmodel.optimisers.running_moments import RunningMoments
from capsmodel.search_range import Floats


class Adam(RunningMoments):
    """Steps scaled by running moments of the gradient.

    Source: Kingma and Ba 2014, arXiv:1412.6980, algorithm 1.
    Difference: none. They have no weight decay; it is that of the released code of Hinton, Sabour
    and Frosst 2018, which sets 2e-7: the gradient of half its multiple of all squared weights
    enters both moments. Theirs is of kernels and matrices alone, ours of all parameters. No loss
    that is reported holds that sum.

    Attributes:
        learning_rate: Step size before warm-up and schedule.
        warmup_steps: Steps at the start whose rate is smaller, rising evenly from 0.
        schedule: How the learning rate moves.
        beta1: Decay of the running mean of the gradient.
        beta2: Decay of the running mean of its square.
        epsilon: Added to the root of the latter.
        weight_decay: What each weight adds to its gradient, as a multiple of itself.
    """

    kind: Literal["adam"] = "adam"
    decays_past_moments: ClassVar[bool] = False
    weight_decay: Annotated[float, Field(ge=0), Floats(1e-8, 1e-3, log=True)] = 0.0
