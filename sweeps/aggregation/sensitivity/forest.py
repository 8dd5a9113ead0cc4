"""Functional ANOVA of forests: how much of their predictions each pair of columns explains.

A tree is a step function on the unit cube, of one box a leaf. Its variance over the cube splits
exactly into what each column explains alone, what each pair explains besides, and so on.

Source: Hutter, Hoos, Leyton-Brown, An Efficient Approach for Assessing Hyperparameter Importance,
    ICML 2014, section 3. Trees come from scikit-learn.
Difference: sums over leaves give all pairs at once.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Boxes:
    """The leaves of one tree.

    Attributes:
        low: Where each begins, by column.
        high: Where it ends.
        values: The tree's prediction there.
    """

    low: Float[np.ndarray, "leaves columns"]
    high: Float[np.ndarray, "leaves columns"]
    values: Float[np.ndarray, " leaves"]

    @cached_property
    def widths(self) -> Float[np.ndarray, "leaves columns"]:
        """How much of each column they cover."""
        return self.high - self.low

    @cached_property
    def volumes(self) -> Float[np.ndarray, " leaves"]:
        """How much of the cube they cover; in sum 1."""
        return self.widths.prod(axis=1)

    @cached_property
    def centred(self) -> Float[np.ndarray, " leaves"]:
        """The values beyond their mean over the cube."""
        return self.values - self.volumes @ self.values


def leaves(estimator: Any) -> Boxes:
    """Return the boxes of a fitted tree of scikit-learn, whose columns lie between 0 and 1."""
    tree = estimator.tree_
    left, right, split = tree.children_left, tree.children_right, tree.feature
    threshold = tree.threshold
    low, high = (
        np.zeros((tree.node_count, tree.n_features)),
        np.ones((tree.node_count, tree.n_features)),
    )
    nodes = np.zeros(1, dtype=np.int64)
    while len(nodes := nodes[left[nodes] >= 0]):
        below, above, at = left[nodes], right[nodes], split[nodes]
        low[below] = low[above] = low[nodes]
        high[below] = high[above] = high[nodes]
        high[below, at] = low[above, at] = threshold[nodes]
        nodes = np.concatenate([below, above])
    is_leaf = left < 0
    return Boxes(low[is_leaf], high[is_leaf], tree.value[is_leaf, 0, 0])


def pair_surfaces(
    trees: Iterable[Boxes], num_cells: int
) -> Float[np.ndarray, "columns cells columns cells"]:
    """Return what each pair of columns explains beyond both alone, as the mean of the trees.

    Each column is cut into equal cells; entry `[i, a, j, b]` is the mean of the interaction where
    column i lies in cell a and column j in cell b.
    """
    edges = np.linspace(0, 1, num_cells + 1)
    inside, weights = list[Any](), list[Any]()
    for boxes in trees:
        ends = np.minimum(boxes.high[..., None], edges[1:])
        covered = np.clip(ends - np.maximum(boxes.low[..., None], edges[:-1]), 0, None)
        inside.append(num_cells * covered / boxes.widths[..., None])
        weights.append(boxes.centred * boxes.volumes)
    rows = np.concatenate(inside)
    num_columns = rows.shape[1]
    flat = rows.reshape(len(rows), -1)
    together = flat.T @ (flat * (np.concatenate(weights) / len(weights))[:, None])
    joint = together.reshape(num_columns, num_cells, num_columns, num_cells)
    return (
        joint
        - joint.mean(axis=3, keepdims=True)
        - joint.mean(axis=1, keepdims=True)
        + joint.mean(axis=(1, 3), keepdims=True)
    )
