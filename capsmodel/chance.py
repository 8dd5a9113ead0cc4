"""Random generators of a training, each decided by a seed and a purpose."""

import hashlib
import random
from collections.abc import Generator, Sequence
from contextlib import contextmanager

import numpy as np
import torch


def stream(seed: int, *purpose: str) -> torch.Generator:
    """Return a new CPU generator for one purpose of one seed.

    Streams of different purposes are independent, so an arm that draws more for one purpose (random
    routing, augmentation) still sees the same weights and data order as other arms. The generator
    is always on the CPU, so all devices draw the same numbers from it.
    """
    digest = hashlib.sha256("/".join((str(seed), *purpose)).encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "little") >> 1)


def of_steps(stream: torch.Generator, device: torch.device) -> torch.Generator:
    """Return the generator that a training's steps draw from; on the CPU it is the stream itself.

    Elsewhere it is a generator of that device, which `reseed` seeds: so no draw is copied from the
    CPU, and the numbers are others than there.
    """
    return stream if device.type == "cpu" else torch.Generator(device)


def reseed(generator: torch.Generator, stream: torch.Generator) -> None:
    """Seed a generator of `of_steps` from its stream, unless it is the stream itself."""
    if generator is not stream:
        generator.manual_seed(int(torch.randint(2**62, (), generator=stream)))


@contextmanager
def global_generators_seeded(seed: int, device: torch.device) -> Generator[None]:
    """Seed the global generators of PyTorch, NumPy and Python in the block; then set them back.

    Args:
        seed: In [0, 2**62).
        device: Whose generator is seeded besides that of the CPU.
    """
    others = (np.random.get_state(), random.getstate())
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.default_generator.manual_seed(seed)
        if devices:
            torch.cuda.manual_seed(seed)
        np.random.seed(seed % 2**32)
        random.seed(seed)
        try:
            yield
        finally:
            np.random.set_state(others[0])
            random.setstate(others[1])


def uniform(
    shape: Sequence[int], generator: torch.Generator | None, dtype: torch.dtype | None = None
) -> torch.Tensor:
    """Return numbers in [0, 1) on a generator's device. None is PyTorch's global CPU generator.

    Those of half precision are the rounded numbers of single precision.

    Raises:
        RuntimeError: If compiled or exported code is given a generator.
    """
    check_not_compiled(generator)
    device = _device_of(generator)
    if dtype in {torch.float16, torch.bfloat16}:  # torch before 2.15 would draw others
        return torch.rand(shape, generator=generator, device=device).to(dtype)
    return torch.rand(shape, generator=generator, dtype=dtype, device=device)


def normal(shape: Sequence[int], generator: torch.Generator | None) -> torch.Tensor:
    """Return standard normal numbers on a generator's device; None is the global CPU generator.

    Raises:
        RuntimeError: If compiled or exported code is given a generator.
    """
    check_not_compiled(generator)
    return torch.randn(shape, generator=generator, device=_device_of(generator))


def _device_of(generator: torch.Generator | None) -> torch.device | str:
    return "cpu" if generator is None else generator.device


def check_not_compiled(generator: torch.Generator | None) -> None:
    """Check that no generator is passed to compiled or exported code.

    Raises:
        RuntimeError: Saying what to do.
    """
    if generator is not None and torch.compiler.is_compiling():
        raise RuntimeError(
            "What is compiled or exported draws from PyTorch's own generator: hand generator=None, "
            "and set the seed by torch.manual_seed."
        )
