"""The AdamW optimiser: Adam whose weight decay goes past the moments."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from capsmodel.optimisers.running_moments import RunningMoments
from capsmodel.search_range import Floats


class AdamW(RunningMoments):
    """Adam's steps, each after every weight has lost a share of itself.

    Source: Loshchilov and Hutter 2017, arXiv:1711.05101, algorithm 2.
    Difference: the share is the weight decay times the whole learning rate of the step, in the
    paper times the schedule's multiplier alone: a weight decay here is theirs divided by the
    learning rate.

    Attributes:
        learning_rate: Step size before warm-up and schedule.
        warmup_steps: Steps at the start whose rate is smaller, rising evenly from 0.
        schedule: How the learning rate moves.
        beta1: Decay of the running mean of the gradient.
        beta2: Decay of the running mean of its square.
        epsilon: Added to the root of the latter.
        weight_decay: Share of itself that a weight loses at each step, before the rate.
    """

    kind: Literal["adamw"] = "adamw"
    decays_past_moments: ClassVar[bool] = True
    weight_decay: Annotated[float, Field(ge=0), Floats(1e-4, 1.0, log=True)] = 0.01
