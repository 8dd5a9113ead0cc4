"""What a network is judged by, out of reach of the user's parts that are judged with it."""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from capsmodel.config import TrainingConfig
from capsmodel.models import Outputs
from capsmodel.settings.measures import parts_in
from capsmodel.settings.parts import Part, is_built_in

_ROUNDING = 2**-6  # that lengths may leave [0, 1] by: bfloat16 has 1.0078 after 1
HandedAndBefore = tuple[Tensor, Tensor]


def refuse_writing(part: Part, **values: HandedAndBefore) -> None:
    """Refuse a part that has written to something that it was handed. It waits for a GPU.

    Args:
        part: Only one of the user's is looked at.
        values: Name -> the tensor that it was handed, and what that was before.

    Raises:
        ValueError: Naming the part and the tensor.
    """
    if is_built_in(type(part)):
        return
    for name, (handed, before) in values.items():
        is_alike = handed.shape == before.shape
        if not is_alike or not torch.equal(handed.nan_to_num(), before.nan_to_num()):
            described = part.described()
            raise ValueError(
                f"{described[0].upper()}{described[1:]} writes to the {name} that it is handed "
                f"outside training: compute a new tensor, or change {name}.clone()."
            )


def state_of(network: nn.Module) -> dict[str, Tensor]:
    """Return a copy of each weight and buffer of a network, those that no file keeps too."""
    return {name: value.detach().clone() for name, value in _state(network).items()}


def now_and_before(network: nn.Module, before: Mapping[str, Tensor]) -> dict[str, HandedAndBefore]:
    """Return pairs of the network's present weights and buffers and the copies of `state_of`."""
    now = _state(network)
    return {name: (now[name], value) for name, value in before.items() if name in now}


def _state(network: nn.Module) -> dict[str, Tensor]:
    return dict(network.named_parameters()) | dict(network.named_buffers())


def tensors_of(handed: Outputs, before: Outputs) -> dict[str, HandedAndBefore]:
    """Return each output tensor that a part was handed, with its earlier copy."""
    pairs = {name: (value, getattr(before, name)) for name, value in handed._asdict().items()}
    return {name: pair for name, pair in pairs.items() if isinstance(pair[0], Tensor)}


def own_part_of(part: Part) -> Part:
    """Return a part or, where it is capsmodel's, the first of the user's in it; itself if none."""
    own = (each for each in (part, *parts_in(part)) if not is_built_in(type(each)))
    return next(own, part)


def copied_outputs(outputs: Outputs) -> Outputs:
    """Return a network's outputs in memory of their own."""
    couplings = {
        layer: of_layer._replace(
            **{field: v.clone() for field, v in of_layer._asdict().items() if isinstance(v, Tensor)}
        )
        for layer, of_layer in outputs.couplings.items()
    }
    fields: dict[str, Any] = {
        name: value.clone()
        for name, value in outputs._asdict().items()
        if isinstance(value, Tensor)
    }
    return outputs._replace(**fields, couplings=couplings)


def check_lengths(config: TrainingConfig, lengths: Float[Tensor, "images classes"]) -> None:
    """Check that beliefs are in [0, 1], as `Outputs` declares them.

    Raises:
        ValueError: Naming the model, or a part of the user's in it, and what it returns.
    """
    finite = lengths[lengths.isfinite()]
    if not finite.numel():
        return
    low, high = float(finite.min()), float(finite.max())
    if low < -_ROUNDING or high > 1 + _ROUNDING:
        part = own_part_of(config.model)
        returns = "returns" if part is config.model else "gives capsules of"
        remedy = "return logits as `logits` and their softmax as `lengths`, or squash the capsules"
        if part is not config.model:
            remedy = "squash the capsules that it returns"
        raise ValueError(
            f"T{part.described()[1:]} {returns} lengths from {low:.3g} to {high:.3g}, and beliefs "
            f"are in [0, 1]: {remedy}."
        )
