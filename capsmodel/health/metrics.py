"""Metrics of a training's health: pure functions of values that the training computes anyway."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise, takewhile

import torch
from jaxtyping import Float
from torch import Tensor

from capsmodel.routing import Couplings

LOW_BELIEF, HIGH_BELIEF = 0.05, 0.95
WINDOW = 8
"""Epochs that the movement of the loss is judged by."""

VANISHED = "vanished_gradient."

_NEARLY_ZERO = 1e-10  # a hundredth of Adam's epsilon, below which even Adam hardly moves a weight
_FEWEST_STEPS = 2  # in the first, weights that start at zero let no gradient through
_MOST_IMAGES = 32  # of those whose couplings are looked at: in a large layer they take gigabytes


def gradient_metrics(norms: Float[Tensor, " steps"]) -> dict[str, Tensor]:
    """Return mean and maximum of the norms of an epoch's gradients."""
    return {"gradient_norm": norms.mean(), "gradient_norm_max": norms.max()}


def largest_gradients(
    norms: Sequence[Float[Tensor, " _"]], sizes: Mapping[str, Sequence[int]]
) -> dict[str, Float[Tensor, ""]]:
    """Return the largest root mean square of each layer's gradient in any of some steps.

    Args:
        norms: Of each step, the norm of the gradient of each parameter that has one.
        sizes: Layers -> the sizes of these parameters, in their order.
    """
    layers = [name for name, of_layer in sizes.items() for _ in of_layer]
    if len(norms) < _FEWEST_STEPS or any(len(of_step) != len(layers) for of_step in norms):
        return {}  # not all steps had a gradient of the same parameters
    by_step = torch.stack(list(norms))
    largest: dict[str, Float[Tensor, ""]] = {}
    for name, of_layer in sizes.items():
        places = [place for place, layer in enumerate(layers) if layer == name]
        norm = torch.linalg.vector_norm(by_step[:, places], dim=1).max()
        largest[name] = norm / math.sqrt(sum(of_layer))
    return largest


def vanished_gradients(largest: Mapping[str, float]) -> dict[str, float]:
    """Return the metrics of the first layers whose gradient is nearly zero in all steps.

    Args:
        largest: Layers, first to last -> what `largest_gradients` says of each.
    """
    vanished = takewhile(lambda layer: largest[layer] < _NEARLY_ZERO, largest)
    return {f"{VANISHED}{layer}": largest[layer] for layer in vanished}


def belief_metrics(beliefs: Float[Tensor, "images classes"]) -> dict[str, Tensor]:
    """Return the shares of beliefs, and of classes in all images, that are low and high.

    A sound network recognises some images of each class, so no class has a low, or a high, belief
    in all images. Most single beliefs are low, as each image has one class.
    """
    low, high = beliefs < LOW_BELIEF, beliefs > HIGH_BELIEF
    return {
        "dead_capsules": low.all(dim=0).float().mean(),
        "saturated_capsules": high.all(dim=0).float().mean(),
        "low_beliefs": low.float().mean(),
        "high_beliefs": high.float().mean(),
    }


def routing_metrics(couplings: Mapping[str, Couplings], num_images: int) -> dict[str, Tensor]:
    """Return for each layer how evenly its children are shared out among all their parents.

    A child's parents are all types of capsules at all places that see it. Its shares are taken as
    parts of their sum; a child without any, or with one parent, does not count. Both metrics are
    means over children and images:

    - entropy of the shares, divided by the logarithm of the number of parents: 1 where all shares
      are alike, 0 where one parent gets all;
    - total variation distance of the shares from equal ones: 0 where they are alike, and up to
      1 - 1 / parents.

    Args:
        couplings: Name of a layer -> its couplings. Only the first images are looked at.
        num_images: Number of their images.
    """
    metrics: dict[str, Tensor] = {}
    for name, coupling in couplings.items():
        entropy, distance = _evenness(coupling, num_images)
        metrics |= {f"routing_entropy.{name}": entropy, f"routing_distance.{name}": distance}
    return metrics


def _evenness(couplings: Couplings, num_images: int) -> tuple[Tensor, Tensor]:
    around = couplings.neighbourhood
    looked_at = min(num_images, _MOST_IMAGES)
    places = couplings.values.shape[1] // num_images
    values = couplings.values[:, : looked_at * places].float()
    edges, _, out_caps = values.shape
    seen_at = around.num_parent_places(edges, places).to(values.device).repeat(1, looked_at)
    num_parents = seen_at * out_caps
    total = around.sum_over_parents(values.sum(dim=-1))
    counts = (total > 0) & (num_parents > 1)
    shares = values / total.where(counts, torch.ones_like(total)).unsqueeze(-1)
    surprise = around.sum_over_parents(torch.special.entr(shares).sum(dim=-1))
    off = (shares - 1 / num_parents.unsqueeze(-1)).abs().sum(dim=-1)
    distance = around.sum_over_parents(off) / 2
    # An edge stands for its child, and a child has as many edges as places see it.
    weights = counts.float() / seen_at
    weights = weights / weights.sum().clamp(min=1e-12)
    logarithms = num_parents.log().where(counts, torch.ones_like(total))
    return (weights * surprise / logarithms).sum(), (weights * distance).sum()


def loss_metrics(losses: Sequence[float]) -> dict[str, float]:
    """Return how a training's loss moved over its last epochs, nothing in its first ones.

    `loss_turns` is the share of neighbouring steps, from epoch to epoch, of which one goes up and
    the other down: 0 where the loss falls all along, about 2/3 where it is noise. `loss_swing` is
    the mean size of a step as a share of the mean loss.

    Args:
        losses: Losses of all epochs so far.
    """
    last = losses[-WINDOW:]
    mean = sum(last) / len(last)
    if len(last) < WINDOW or not math.isfinite(mean) or mean <= 0:
        return {}
    steps = [after - before for before, after in pairwise(last)]
    turns = sum(step * other < 0 for step, other in pairwise(steps))
    swing = sum(map(abs, steps)) / len(steps)
    return {"loss_turns": turns / (len(steps) - 1), "loss_swing": swing / mean}
