"""All chance of a training comes from here: generators that a seed and a purpose decide."""

import hashlib

import torch


def stream(seed: int, *purpose: str) -> torch.Generator:
    """Return a fresh CPU generator that belongs to one purpose of one seed.

    Streams of different purposes are independent, so an arm that draws more for one purpose
    (random routing, augmentation) still sees the same weights and data order as its neighbours.
    The generator lives on the CPU whatever the device, so that devices draw the same numbers.
    """
    digest = hashlib.sha256("/".join((str(seed), *purpose)).encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "little") >> 1)


def or_default(generator: torch.Generator | None) -> torch.Generator:
    """Return a generator, PyTorch's own where none is given: the one that `manual_seed` sets."""
    return torch.default_generator if generator is None else generator
