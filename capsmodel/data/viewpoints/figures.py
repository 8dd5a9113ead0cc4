"""Ten human figures as solids that stand on the ground and look along x."""

from typing import Literal, NamedTuple

from capsmodel.data.viewpoints.solids import Solid, ball, box, rod, spindle, wing
from capsmodel.data.viewpoints.vectors import Vector, add, scale


class _Figure(NamedTuple):
    """The dimensions that distinguish one figure.

    Attributes:
        shoulders: Half the distance between the arms.
        girth: Depth of the chest.
        left_hand: From the left shoulder to the hand, to the left and not the right where y is
            above 0.
        right_hand: The same on the right, with y above 0 to the right.
        stride: How far the left foot is ahead of the right.
        spread: Half the distance between the feet.
        features: What it wears or holds.
    """

    shoulders: float
    girth: float
    left_hand: Vector
    right_hand: Vector
    stride: float
    spread: float
    features: tuple[
        Literal["hat", "helmet", "pack", "skirt", "cape", "staff", "shield", "rifle"], ...
    ]


_FIGURES = (
    _Figure(0.3, 0.3, (0.05, 0.1, -0.62), (0.05, 0.1, -0.62), 0.0, 0.14, ("helmet", "pack")),
    _Figure(0.27, 0.26, (0.0, 0.6, 0.05), (0.0, 0.6, 0.05), 0.0, 0.2, ("skirt",)),
    _Figure(0.32, 0.32, (0.45, 0.12, -0.1), (0.3, 0.05, -0.3), 0.35, 0.16, ("rifle", "helmet")),
    _Figure(0.26, 0.25, (0.3, 0.1, -0.45), (-0.35, 0.1, -0.42), 0.6, 0.1, ()),
    _Figure(0.31, 0.34, (0.1, 0.25, 0.55), (0.0, 0.15, -0.6), 0.1, 0.2, ("hat",)),
    _Figure(0.29, 0.28, (0.35, 0.1, -0.3), (-0.1, 0.2, -0.55), 0.4, 0.14, ("pack", "staff")),
    _Figure(0.34, 0.36, (0.1, 0.4, -0.4), (0.1, 0.4, -0.4), 0.0, 0.3, ("cape",)),
    _Figure(0.25, 0.25, (0.1, 0.2, -0.55), (0.25, 0.3, 0.5), 0.15, 0.12, ("skirt", "hat")),
    _Figure(0.33, 0.33, (0.4, 0.05, -0.2), (0.2, 0.4, 0.4), 0.45, 0.2, ("shield", "helmet")),
    _Figure(0.28, 0.27, (-0.3, 0.2, -0.5), (0.55, 0.1, -0.05), 0.5, 0.15, ("hat", "cape")),
)

_HIPS, _NECK = 0.88, 1.45


def figure(instance: int) -> tuple[Solid, ...]:
    """Return one of ten standing human figures."""
    it = _FIGURES[instance]
    chest = box(
        (0.0, 0.0, 0.5 * (_HIPS + _NECK)),
        (it.girth, 2 * it.shoulders, _HIPS - _NECK),
        front=0.75, rear=0.75, sides=0.7,
    )  # fmt: skip
    left, right = _arm(it, it.left_hand), [part.mirrored() for part in _arm(it, it.right_hand)]
    return (
        chest,
        ball((0.0, 0.0, _HIPS), (0.9 * it.girth, 1.35 * it.shoulders, 0.34)),
        rod((0.0, 0.0, _NECK), (0.02, 0.0, _NECK + 0.12), 0.08),
        ball((0.03, 0.0, _NECK + 0.23), (0.3, 0.26, 0.34)),
        *left,
        *right,
        *_leg(0.5 * it.stride, it.spread),
        *(part.mirrored() for part in _leg(-0.5 * it.stride, it.spread)),
        *(part for name in it.features for part in _equipment(name, it)),
    )


def _arm(it: _Figure, hand: Vector) -> list[Solid]:
    shoulder = (0.0, it.shoulders, _NECK - 0.06)
    elbow = add(shoulder, add(scale(hand, 0.5), (-0.08, 0.06, -0.04)))
    end = add(shoulder, hand)
    return [
        spindle(add(shoulder, scale(hand, -0.12)), elbow, 0.1),
        rod(elbow, end, 0.06),
        ball(end, (0.15, 0.15, 0.15)),
    ]


def _leg(ahead: float, spread: float) -> list[Solid]:
    hip, foot = (0.0, 0.13, _HIPS), (ahead, spread, 0.08)
    knee = (0.5 * ahead + 0.06, 0.5 * (0.13 + spread), 0.47)
    return [
        spindle(add(hip, (0.0, 0.0, 0.1)), add(knee, (0.0, 0.0, -0.08)), 0.13),
        rod(knee, foot, 0.075),
        box((ahead + 0.06, spread, 0.05), (0.3, 0.13, 0.1), front=0.6),
    ]


def _equipment(name: str, it: _Figure) -> list[Solid]:
    top = _NECK + 0.3
    left_hand = add((0.0, it.shoulders, _NECK - 0.06), it.left_hand)
    x, y, z = left_hand
    match name:
        case "hat":
            brim = rod((0.03, 0.0, top), (0.03, 0.0, top + 0.04), 0.3)
            return [brim, rod((0.03, 0.0, top), (0.03, 0.0, top + 0.2), 0.15)]
        case "helmet":
            return [ball((0.02, 0.0, top - 0.02), (0.44, 0.42, 0.32))]
        case "pack":
            return [box((-0.5 * it.girth - 0.12, 0.0, 1.22), (0.28, 0.46, 0.55))]
        case "skirt":
            return [box((0.0, 0.0, 0.66), (0.62, 0.66, 0.6), front=0.4, rear=0.4, sides=0.5)]
        case "cape":
            return [
                wing((-0.16, 0.0, _NECK), (-0.45, 0.0, 0.4), chord=0.1, thickness=0.75, taper=1.0)
            ]
        case "staff":
            return [rod((x, y, 0.0), (x, y, 1.9), 0.045)]
        case "shield":
            return [rod((x + 0.05, y, z), (x + 0.13, y, z), 0.34)]
        case _:
            return [rod((x - 0.45, y - 0.35, z - 0.18), (x + 0.45, y, z + 0.12), 0.05)]
