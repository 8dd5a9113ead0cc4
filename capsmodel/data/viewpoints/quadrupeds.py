"""Ten four-legged animals as solids that stand on the ground and look along x."""

from typing import Literal, NamedTuple

from capsmodel.data.viewpoints.solids import Solid, ball, rod, spindle
from capsmodel.data.viewpoints.vectors import Vector, add, scale


class _Quadruped(NamedTuple):
    """The dimensions that distinguish one quadruped.

    Attributes:
        trunk: Length, width and height of the trunk.
        legs: Length and radius.
        neck: From the trunk's front to the head.
        neck_radius: Half the neck's thickness.
        head: Length, width and height of the head.
        tail: From the trunk's rear to the tail's end.
        tail_radius: Half the tail's thickness.
        feature: What else it has.
    """

    trunk: Vector
    legs: tuple[float, float]
    neck: Vector
    neck_radius: float
    head: Vector
    tail: Vector
    tail_radius: float
    feature: Literal["ears", "horns", "antlers", "hump", "mane", "proboscis"]


_QUADRUPEDS = (
    _Quadruped(  # horse
        (1.3, 0.46, 0.55), (0.75, 0.075), (0.36, 0.0, 0.5), 0.15, (0.52, 0.2, 0.24),
        (-0.25, 0.0, -0.45), 0.07, "ears",
    ),
    _Quadruped(  # cow
        (1.45, 0.62, 0.68), (0.5, 0.09), (0.28, 0.0, 0.18), 0.2, (0.5, 0.28, 0.3),
        (-0.12, 0.0, -0.55), 0.04, "horns",
    ),
    _Quadruped(  # elephant
        (1.35, 0.85, 0.9), (0.6, 0.16), (0.2, 0.0, 0.2), 0.28, (0.55, 0.5, 0.55),
        (-0.12, 0.0, -0.4), 0.035, "proboscis",
    ),
    _Quadruped(  # dog
        (1.0, 0.34, 0.4), (0.5, 0.06), (0.2, 0.0, 0.25), 0.13, (0.46, 0.22, 0.24),
        (-0.3, 0.0, 0.35), 0.05, "ears",
    ),
    _Quadruped(  # giraffe
        (0.95, 0.42, 0.5), (0.95, 0.07), (0.4, 0.0, 1.0), 0.11, (0.42, 0.18, 0.2),
        (-0.12, 0.0, -0.4), 0.04, "horns",
    ),
    _Quadruped(  # pig
        (1.3, 0.7, 0.72), (0.28, 0.09), (0.2, 0.0, 0.0), 0.27, (0.52, 0.36, 0.36),
        (-0.15, 0.0, 0.08), 0.04, "ears",
    ),
    _Quadruped(  # camel
        (1.25, 0.5, 0.6), (0.8, 0.075), (0.5, 0.0, 0.4), 0.11, (0.42, 0.19, 0.2),
        (-0.12, 0.0, -0.4), 0.045, "hump",
    ),
    _Quadruped(  # lion
        (1.25, 0.42, 0.46), (0.5, 0.085), (0.16, 0.0, 0.22), 0.2, (0.42, 0.3, 0.3),
        (-0.5, 0.0, -0.1), 0.05, "mane",
    ),
    _Quadruped(  # stag
        (1.1, 0.38, 0.46), (0.75, 0.055), (0.25, 0.0, 0.5), 0.11, (0.4, 0.17, 0.19),
        (-0.1, 0.0, 0.06), 0.06, "antlers",
    ),
    _Quadruped(  # bear
        (1.4, 0.72, 0.75), (0.4, 0.13), (0.26, 0.0, 0.1), 0.26, (0.5, 0.38, 0.38),
        (-0.06, 0.0, 0.03), 0.06, "ears",
    ),
)  # fmt: skip


def quadruped(instance: int) -> tuple[Solid, ...]:
    """Return one of ten four-legged animals."""
    it = _QUADRUPEDS[instance]
    length, width, height = it.trunk
    leg, radius = it.legs
    back = leg + 0.75 * height
    head = add((0.42 * length, 0.0, leg + 0.6 * height), it.neck)
    hips = [(0.36 * length, 0.32 * width), (-0.36 * length, 0.32 * width)]
    solids = [
        ball((0.0, 0.0, leg + 0.5 * height), it.trunk),
        spindle(
            (0.3 * length, 0.0, leg + 0.45 * height),
            add(head, scale(it.neck, 0.25)),
            it.neck_radius,
        ),
        ball(add(head, (0.3 * it.head[0], 0.0, -0.05 * it.head[2])), it.head),
        spindle(
            (-0.4 * length, 0.0, leg + 0.65 * height),
            add((-0.47 * length, 0.0, leg + 0.65 * height), it.tail),
            it.tail_radius,
        ),
    ]  # fmt: skip
    for x, y in hips:
        for side in (y, -y):
            solids.append(rod((x, side, 0.0), (x, side, leg + 0.35 * height), radius))
            solids.append(ball((x, side, leg + 0.3 * height), (4 * radius, 3 * radius, height)))
    return (*solids, *_feature(it, head, back))


def _feature(it: _Quadruped, head: Vector, back: float) -> list[Solid]:
    length, width, height = it.head
    if it.feature == "hump":
        return [ball((0.0, 0.0, back), (0.5 * it.trunk[0], 0.6 * it.trunk[1], 0.55))]
    if it.feature == "mane":
        return [ball(head, (0.4, 0.62, 0.66))]
    if it.feature == "proboscis":
        mouth = add(head, (0.75 * length, 0.0, -0.1 * height))
        tip = add(mouth, (0.15, 0.0, -0.75))
        ear = spindle(
            add(head, (0.0, 0.4 * width, 0.2)), add(head, (-0.15, 0.95 * width, -0.3)), 0.2
        )
        return [spindle(add(mouth, (-0.1, 0.0, 0.15)), tip, 0.12), ear, ear.mirrored()]
    base = add(head, (0.1 * length, 0.35 * width, 0.35 * height))
    if it.feature == "ears":
        ears = [spindle(base, add(base, (-0.04, 0.12 * width, 0.7 * height)), 0.25 * width)]
    elif it.feature == "horns":
        ears = [rod(base, add(base, (0.05, 0.6 * width, 0.7 * height)), 0.04)]
    else:
        fork = add(base, (-0.1, 0.14, 0.3))
        ears = [
            rod(base, fork, 0.03),
            rod(fork, add(fork, (0.2, 0.1, 0.22)), 0.028),
            rod(fork, add(fork, (-0.18, 0.12, 0.24)), 0.028),
        ]
    return [*ears, *(ear.mirrored() for ear in ears)]
