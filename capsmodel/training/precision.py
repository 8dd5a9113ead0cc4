"""The precision in which a training multiplies: in full, or faster with fewer digits."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from capsmodel.config import Precision
from capsmodel.models import Network, Outputs


@contextmanager
def multiplied_in(precision: Precision, device: torch.device) -> Generator[None]:
    """Multiply numbers of single precision in the block as a precision says: in full, or as TF32.

    Only GPUs have TF32. The settings are those of the process, so that both passes of a step have
    to be in the block; they are as before after it.
    """
    if device.type != "cuda":
        yield
        return
    cudnn: Any = torch.backends.cudnn
    backends: tuple[Any, ...] = (torch.backends.cuda.matmul, cudnn.conv)
    before = [backend.fp32_precision for backend in backends]
    for backend in backends:
        backend.fp32_precision = "tf32" if precision == "tf32" else "ieee"
    try:
        yield
    finally:
        for backend, given in zip(backends, before, strict=True):
            backend.fp32_precision = given


def outputs_in(
    precision: Precision,
    network: Network,
    images: Tensor,
    drawn: Tensor | None,
    *,
    generator: torch.Generator,
) -> Outputs:
    """Return a network's outputs for images, in single precision whatever it computes in.

    Args:
        precision: With "bf16", convolutions and matrix products are of that type, as
            `torch.autocast` chooses them; weights stay in single precision.
        network: The network.
        images: Images as the network is given them, [batch channels height width].
        drawn: Classes to draw, as `Network.forward` takes them.
        generator: Of its random numbers.
    """
    if precision != "bf16":
        return network(images, drawn, generator)
    with torch.autocast(images.device.type, torch.bfloat16):
        outputs: Outputs = network(images, drawn, generator)
    fields = {
        name: value.float()
        for name, value in outputs._asdict().items()
        if isinstance(value, Tensor) and value.dtype == torch.bfloat16
    }
    return outputs._replace(**fields)
