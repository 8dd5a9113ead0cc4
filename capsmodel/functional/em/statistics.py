"""What the votes that a parent gets say of it: their mass, their centre and their spread."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from capsmodel.functional.votes import Votes


class Statistics(NamedTuple):
    """What the votes that each parent gets say of it.

    Attributes:
        mass: How many children it has, each counted by its activation and its assignment.
        centre: Where their votes lie; zero without children.
        variance: How far the votes lie from the centre, squared, on average, and the floor.
        distances: The squared distance of each vote from the centre, each number of the pose in
            units of its variance, summed over the pose. None where nobody asked.
    """

    mass: Float[Tensor, "sites out_caps"]
    centre: Float[Tensor, "sites pose out_caps"]
    variance: Float[Tensor, "sites pose out_caps"]
    distances: Float[Tensor, "edges sites out_caps"] | None


@dataclass(frozen=True)
class Question:
    """What is asked of the votes.

    Attributes:
        assignment: The share of each child that goes to each parent; one number for all types of
            parents, or one each.
        previous: The centres of the iteration before, None for zero.
        momentum: How much of the new centre is taken; the rest is the previous one.
        floor: Added to each variance.
        with_distances: Whether the distances of the votes are asked for.
    """

    assignment: Float[Tensor, "edges sites some_caps"]
    previous: Float[Tensor, "sites pose out_caps"] | None
    momentum: float
    floor: float
    with_distances: bool


def plain_statistics(votes: Votes, question: Question) -> Statistics:
    """Return the statistics of votes that are held in full, differentiated automatically."""
    values = votes.values.permute(1, 0, 3, 2)  # [edges sites pose out_caps]
    shares = question.assignment * votes.activations.unsqueeze(-1)
    mass = shares.sum(dim=0).expand(-1, values.shape[-1])
    least = least_mass(mass.dtype)
    # Divided, not multiplied by the inverse: of that the gradient has the square, which overflows.
    weights = torch.where(mass >= least, shares / mass.clamp_min(least), 0.0).unsqueeze(2)
    centre = question.momentum * (weights * values).sum(dim=0)
    if question.previous is not None:
        centre = centre + (1 - question.momentum) * question.previous
    squares = (values - centre).square()
    variance = (weights * squares).sum(dim=0) + question.floor
    distances = (squares / variance).sum(dim=2) if question.with_distances else None
    return Statistics(mass, centre, variance, distances)


def inverse_mass(mass: Float[Tensor, "sites out_caps"]) -> Float[Tensor, "sites out_caps"]:
    """Return one over each mass, and zero where there is next to none."""
    least = least_mass(mass.dtype)
    return torch.where(mass >= least, mass.clamp_min(least).reciprocal(), 0.0)


def least_mass(dtype: torch.dtype) -> float:
    """Return the mass below which a parent has no children to speak of: its weights are zero.

    With less, a gradient over it would be no number: 1e-31 in float32.
    """
    limits = torch.finfo(dtype)
    return limits.tiny / limits.eps
