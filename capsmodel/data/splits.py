"""Splits that keep the share of each class and depend only on a seed."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache


def hold_out(labels: Sequence[int], num_held_out: int, seed: str) -> tuple[list[int], list[int]]:
    """Return the remaining and the held-out indices, both ascending, with the class proportions.

    The order within a class comes from hashes, not from a library's random numbers, so the split
    stays the same with every version of every library.

    Args:
        labels: The class of each example.
        num_held_out: Number of images to hold out, fewer than there are.
        seed: Seed of the split.
    """
    assert 0 <= num_held_out < len(labels)
    members: dict[int, list[int]] = {label: [] for label in sorted(set(labels))}
    for index, label in enumerate(labels):
        members[label].append(index)
    counts = _proportional([len(indices) for indices in members.values()], num_held_out)
    held_out: set[int] = set()
    for indices, count in zip(members.values(), counts, strict=True):
        held_out.update(shuffled(tuple(indices), seed)[:count])
    return [index for index in range(len(labels)) if index not in held_out], sorted(held_out)


def fraction_of(
    indices: Sequence[int], labels: Sequence[int], fraction: float, seed: str
) -> list[int]:
    """Return a fraction of some examples, ascending; the number is rounded class by class.

    With the same seed a smaller fraction is a part of a larger one.

    Args:
        indices: The examples to choose among.
        labels: The class of each example, also of those not among them.
        fraction: The share, in (0, 1].
        seed: Seed of the selection.
    """
    members: dict[int, list[int]] = {}
    for index in indices:
        members.setdefault(labels[index], []).append(index)
    chosen: list[int] = []
    for of_class in members.values():
        chosen += shuffled(tuple(of_class), seed)[: round(fraction * len(of_class))]
    return sorted(chosen)


def _proportional(sizes: Sequence[int], total: int) -> list[int]:
    """Return whole counts with the given total, by largest remainder."""
    shares = [size * total for size in sizes]
    counts = [share // sum(sizes) for share in shares]
    remainders = [-(share % sum(sizes)) for share in shares]
    by_remainder = sorted(range(len(sizes)), key=lambda place: (remainders[place], place))
    for place in by_remainder[: total - sum(counts)]:
        counts[place] += 1
    return counts


@lru_cache(maxsize=64)  # a training asks once a split, and hashes of 60,000 images take 0.1 s
def shuffled(indices: tuple[int, ...], seed: str) -> list[int]:
    """Return the indices in an order that depends on the seed, but on no library's chance."""
    return sorted(indices, key=lambda index: hashlib.sha256(f"{seed}/{index}".encode()).digest())


_DRAW_BYTES = 4
_DRAW_BITS = 24  # of a number in single precision


def hashed_draws(seed: str, num: int) -> list[float]:
    """Return numbers in [0, 1) that depend on the seed, but on no library's chance.

    Args:
        seed: Seed of them.
        num: How many, at most 8.
    """
    digest = hashlib.sha256(seed.encode()).digest()
    starts = range(0, _DRAW_BYTES * num, _DRAW_BYTES)
    draws = (int.from_bytes(digest[start : start + _DRAW_BYTES], "big") for start in starts)
    return [(draw >> (8 * _DRAW_BYTES - _DRAW_BITS)) / 2**_DRAW_BITS for draw in draws]
