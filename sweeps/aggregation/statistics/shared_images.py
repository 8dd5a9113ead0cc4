"""Data sets that show the same images: what images add to a mean over them does not average out."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sweeps.aggregation.statistics.two_way import TwoWay


def with_shared_images(ways: Sequence[TwoWay], images_of: Sequence[Sequence[str]]) -> list[TwoWay]:
    """Return differences whose squared errors add up as if images shared by data sets erred alike.

    The error of a mean over data sets of the same images lies between that of independent ones,
    whose squared errors add up, and that of images which differ alike on each, whose errors do.
    The latter bounds it, so variances over images are enlarged within each group of data sets that
    are linked by common images: from v to v (sum of sqrt(v))^2 / (sum of v).

    Args:
        ways: The differences on each data set, all of one shape.
        images_of: For each of them, names of the data sets whose images it shows.
    """
    enlarged = list(ways)
    for places in (group for group in linked_places(images_of) if len(group) > 1):
        errors = np.stack([np.sqrt(ways[place].over_images) for place in places])
        total = (errors**2).sum(axis=0)
        factor = np.where(total > 0, errors.sum(axis=0) ** 2 / np.where(total > 0, total, 1), 1.0)
        for place in places:
            way = ways[place]
            enlarged[place] = replace(
                way,
                over_images=np.asarray(way.over_images * factor),
                largest=np.asarray(way.largest * factor),
            )
    return enlarged


def linked_places(images_of: Sequence[Sequence[str]]) -> list[list[int]]:
    """Return places of data sets in groups that are linked by common images."""
    groups: list[tuple[set[str], list[int]]] = []
    for place, names in enumerate(images_of):
        linked = [group for group in groups if group[0] & {*names}]
        joined = ({*names}.union(*(group[0] for group in linked)), [place])
        for group in linked:
            joined[1].extend(group[1])
            groups.remove(group)
        groups.append(joined)
    return [sorted(places) for _, places in groups]
