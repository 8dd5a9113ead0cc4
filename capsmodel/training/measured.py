"""The epoch metrics that a training's parts measure themselves."""

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from capsmodel.config import TrainingConfig
from capsmodel.settings.measures import parts_in


@torch.inference_mode()
def measured(
    config: TrainingConfig,
    beliefs: Float[Tensor, "images classes"],
    labels: Integer[Tensor, " images"],
) -> dict[str, Float[Tensor, ""]]:
    """Return what the parts say of the validation images: name of a metric -> its value.

    Args:
        config: The training's settings.
        beliefs: In each class, of each validation image.
        labels: The true classes.

    Raises:
        ValueError: In one sentence, if a part gives other metrics than it declares.
    """
    numbers: dict[str, Float[Tensor, ""]] = {}
    for part in parts_in(config):
        declared = [metric.name for metric in part.epoch_metrics]
        if not declared:
            continue
        given = part.measure(beliefs, labels)
        if set(given) != set(declared):
            raise ValueError(
                f"{type(part).__name__} measures {', '.join(given) or 'nothing'} and declares "
                f"{', '.join(declared)}: its epoch_metrics and measure must agree."
            )
        for name in declared:
            value = torch.as_tensor(given[name], dtype=torch.float32, device=beliefs.device)
            numbers[name] = value.reshape(())
    return numbers
