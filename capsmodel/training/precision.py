"""The precision in which a training multiplies: in full, or faster with fewer digits."""

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
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
        for backend, setting in zip(backends, before, strict=True):
            backend.fp32_precision = setting


def computed_in(precision: Precision, device: torch.device) -> AbstractContextManager[Any]:
    """Compute convolutions and matrix products in the block in the type that a precision says."""
    if precision == "bf16":
        return torch.autocast(device.type, torch.bfloat16)
    return nullcontext()


def outputs_in(
    precision: Precision,
    network: Network,
    images: Tensor,
    drawn: Tensor | None,
    *,
    generator: torch.Generator,
    redrawn: Tensor | None = None,
) -> Outputs:
    """Return a network's outputs for images, in single precision whatever it computes in.

    Args:
        precision: With "bf16", convolutions and matrix products are of that type, as
            `torch.autocast` chooses them; weights stay in single precision.
        network: The network.
        images: Images as the network is given them, [batch channels height width].
        drawn: Classes to draw, as `Network.forward` takes them.
        generator: Of its random numbers.
        redrawn: Classes to draw of a network that is not told them; it says first what it believes.
    """
    with computed_in(precision, images.device):
        outputs = _drawn_anew(network, network(images, drawn, generator), redrawn)
    if precision != "bf16" or not isinstance(outputs, Outputs):  # the caller refuses the latter
        return outputs
    fields = {
        name: value.float()
        for name, value in outputs._asdict().items()
        if isinstance(value, Tensor) and value.dtype == torch.bfloat16
    }
    return outputs._replace(**fields)


def _drawn_anew(network: Network, outputs: Any, classes: Tensor | None) -> Any:
    if classes is None or not isinstance(outputs, Outputs) or outputs.poses is None:
        return outputs
    images = network.decode(outputs.poses.clone(), classes)  # beliefs may be a view of them
    return outputs if images is None else outputs._replace(reconstructions=images)
