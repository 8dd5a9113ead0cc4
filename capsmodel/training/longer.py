"""Whether a longer training begins as a shorter one does, to the last bit."""

from capsmodel.config import TrainingConfig
from capsmodel.optimisers import Moment
from capsmodel.settings.parts import is_built_in
from capsmodel.training.learning_rates import own_rates

_NUM_SAMPLED = 100


def of_length(config: TrainingConfig, num_epochs: int) -> TrainingConfig:
    """Return the settings with another number of epochs."""
    length = {config.stopping.length_setting: num_epochs}
    return config.model_copy(update={"stopping": config.stopping.model_copy(update=length)})


def what_follows_length(config: TrainingConfig, shorter: int, steps_per_epoch: int) -> str:
    """Return what differs between a training and a shorter one of the same settings.

    Only what has happened by the end of the shorter one counts. Where nothing differs, the longer
    one may go on from there.

    Args:
        config: Settings of the longer training.
        shorter: Epochs of the shorter one.
        steps_per_epoch: Steps of each epoch.

    Returns:
        The first part that differs, or may differ, with its reason; "" if none does.
    """
    longer = config.stopping.num_epochs
    if shorter == longer:
        return ""
    if not is_built_in(type(config.stopping)):
        return (
            f"the stopping rule '{config.stopping.kind}' may decide otherwise in a longer training"
        )
    if config.loss.follows_progress:
        return f"the loss '{config.loss.kind}' follows the share of the training that is done"
    if not _has_same_rates(config, shorter, steps_per_epoch):
        return "the learning rate follows the length of the training"
    return ""


def _has_same_rates(config: TrainingConfig, shorter: int, steps_per_epoch: int) -> bool:
    """Return whether the learning rates of the steps that both have are equal as floats.

    Those of the package follow the length from the first epoch on or never, so some steps tell.
    """
    longer, rate_at = config.stopping.num_epochs, config.optimiser.learning_rate_at
    num_steps = steps_per_epoch * min(shorter, longer)
    stride = 1 if own_rates(config) else max(1, num_steps // _NUM_SAMPLED)
    return all(
        rate_at(Moment(step, steps_per_epoch, shorter))
        == rate_at(Moment(step, steps_per_epoch, longer))
        for step in (*range(0, num_steps, stride), num_steps - 1)
    )
