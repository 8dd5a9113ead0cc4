"""Whether the learning rates of a user's optimiser or schedule can train a network."""

import math
from numbers import Real
from typing import Any

from capsmodel.config import TrainingConfig
from capsmodel.optimisers import Moment
from capsmodel.settings.measures import parts_in
from capsmodel.settings.parts import Part, is_built_in
from capsmodel.training.untouched import own_part_of

_MOST_STEPS = 5000  # that are asked for, spread evenly over longer trainings


def own_rates(config: TrainingConfig) -> tuple[Part, ...]:
    """Return the parts of the user's that learning rates are computed by."""
    parts = (config.optimiser, *parts_in(config.optimiser))
    return tuple(part for part in parts if not is_built_in(type(part)))


def check_learning_rates(config: TrainingConfig, num_images: int) -> None:
    """Check the learning rates of a whole training where a part of the user's computes them.

    Args:
        config: The training's settings.
        num_images: Of the training split.

    Raises:
        ValueError: If one is below 0 or no finite number, or all are 0.
    """
    if not own_rates(config):
        return
    per_epoch, num_epochs = math.ceil(num_images / config.batch_size), config.stopping.num_epochs
    num_steps = per_epoch * num_epochs
    stride = math.ceil(num_steps / _MOST_STEPS)
    start = f"The learning rate of {own_part_of(config.optimiser).described()} is"
    largest = 0.0
    for step in (*range(0, num_steps - 1, stride), num_steps - 1):
        rate: Any = config.optimiser.learning_rate_at(Moment(step, per_epoch, num_epochs))
        if not isinstance(rate, Real) or not 0 <= float(rate) < math.inf:
            given = f"{float(rate):.3g}" if isinstance(rate, Real) else f"{rate!r:.80}"
            raise ValueError(
                f"{start} {given} at step {step + 1} of {num_steps:,}: it must be a finite number, "
                f"and not below 0, which would raise the loss."
            )
        largest = max(largest, float(rate))
    if not largest:
        raise ValueError(
            f"{start} 0 at each of {num_steps:,} steps: no weight will move. Return a number above "
            f"0."
        )
