"""Whether a network's beliefs in an image are the same whatever other images are in its batch."""

import torch
from torch import Tensor

from capsmodel.config import TrainingConfig
from capsmodel.settings.measures import parts_in
from capsmodel.settings.parts import Part, is_built_in
from capsmodel.training.trained import Trained

_ROUNDING = 1e-3  # relative: matrix products of other sizes add in another order


def own_judges(config: TrainingConfig) -> tuple[Part, ...]:
    """Return the parts of the user's that beliefs are computed by."""
    parts = (config.augmentation, config.model, *parts_in(config.model))
    return tuple(part for part in parts if not is_built_in(type(part)))


def check_batch_independence(trained: Trained, images: Tensor, num_at_once: int) -> None:
    """Check that beliefs in images are the same where fewer images are judged at once.

    A network that draws random numbers outside training is not compared: it draws others then.

    Args:
        trained: A network with parts of the user's.
        images: As in the data set.
        num_at_once: How many of them, the first ones, are judged apart from the others.

    Raises:
        ValueError: If they are not, naming the parts of the user's.
    """
    with torch.inference_mode():
        whole, drawn_anew = (trained.outputs(images, chance).lengths for chance in (0, 1))
        fewer = trained.outputs(images[:num_at_once], 0).lengths
    if not torch.equal(whole, drawn_anew):
        return
    difference = (whole[:num_at_once] - fewer).abs().amax()
    if not difference <= _ROUNDING * whole.abs().amax():  # NaN is neither
        named = " or ".join(part.described() for part in own_judges(trained.config))
        raise ValueError(
            f"The beliefs in an image depend on the other images in the batch: where fewer are "
            f"judged at once they differ by {float(difference):.2g}. Look in {named} for mean(0), "
            f"std(0) and whatever else joins images, the first axis: each must be judged alone."
        )
