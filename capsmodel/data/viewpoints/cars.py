"""Ten cars as solids that stand on the ground and look along x."""

from typing import Literal, NamedTuple

from capsmodel.data.viewpoints.solids import Solid, ball, box, rod
from capsmodel.data.viewpoints.vectors import Vector


class _Car(NamedTuple):
    """The dimensions that distinguish one car.

    Attributes:
        body: Length, width and height of the lower part.
        nose: How far the lower part's front leans back, as a share left of it at its top.
        cabin: Length, width and height of the upper part.
        place: Where the middle of the upper part is.
        rakes: Share left of the upper part at its top, in front and behind.
        wheel: Radius of a wheel.
        feature: What else it has.
    """

    body: Vector
    nose: float
    cabin: Vector
    place: float
    rakes: tuple[float, float]
    wheel: float
    feature: Literal["nothing", "spoiler", "open", "round", "racing", "rack", "boot", "spare"]


_CARS = (
    _Car((2.0, 0.8, 0.3), 0.97, (1.05, 0.72, 0.3), -0.1, (0.55, 0.7), 0.17, "boot"),
    _Car((1.6, 0.8, 0.32), 0.95, (1.1, 0.74, 0.36), -0.2, (0.55, 0.85), 0.17, "nothing"),
    _Car((2.0, 0.86, 0.24), 0.75, (0.85, 0.7, 0.22), -0.15, (0.35, 0.4), 0.17, "spoiler"),
    _Car((1.7, 0.8, 0.28), 0.9, (1.05, 0.7, 0.36), -0.1, (0.5, 0.4), 0.17, "round"),
    _Car((2.0, 0.8, 0.3), 0.97, (1.35, 0.74, 0.32), -0.3, (0.7, 0.92), 0.17, "rack"),
    _Car((1.9, 0.8, 0.3), 0.92, (0.8, 0.7, 0.26), -0.1, (0.5, 0.6), 0.18, "open"),
    _Car((1.65, 0.82, 0.36), 0.98, (1.05, 0.76, 0.38), -0.2, (0.85, 0.95), 0.22, "spare"),
    _Car((2.0, 0.36, 0.24), 0.8, (0.5, 0.32, 0.2), -0.2, (0.5, 0.2), 0.2, "racing"),
    _Car((1.9, 0.82, 0.28), 0.85, (0.95, 0.72, 0.28), -0.2, (0.45, 0.3), 0.18, "nothing"),
    _Car((2.1, 0.78, 0.32), 0.98, (1.2, 0.72, 0.28), -0.05, (0.75, 0.8), 0.16, "boot"),
)


def car(instance: int) -> tuple[Solid, ...]:
    """Return one of ten cars."""
    it = _CARS[instance]
    length, width, height = it.body
    bottom = 0.75 * it.wheel
    front, rear = it.rakes
    belt = bottom + height
    track = 0.46 if it.feature == "racing" else 0.5 * width + 0.02
    wheels = [
        rod((x, track - 0.16, it.wheel), (x, track, it.wheel), it.wheel)
        for x in (0.31 * length, -0.31 * length)
    ]
    body = box((0.0, 0.0, bottom + 0.5 * height), it.body, front=it.nose, rear=0.95, sides=0.92)
    cabin_middle = (it.place, 0.0, belt + 0.5 * it.cabin[2])
    cabin = box(cabin_middle, it.cabin, front=front, rear=rear, sides=0.8)
    return (
        body,
        *([] if it.feature in {"open", "round"} else [cabin]),
        *wheels,
        *(wheel.mirrored() for wheel in wheels),
        *_details(it, bottom, belt),
    )


def _details(it: _Car, bottom: float, belt: float) -> list[Solid]:
    length, width, _ = it.body
    top, end = belt + it.cabin[2], -0.5 * length
    match it.feature:
        case "boot":
            return [box((end + 0.25, 0.0, belt + 0.03), (0.48, 0.85 * width, 0.08), front=0.9)]
        case "spoiler":
            post = box((end + 0.12, 0.3, belt + 0.09), (0.1, 0.05, 0.2))
            return [post, post.mirrored(), box((end + 0.1, 0.0, belt + 0.2), (0.24, width, 0.05))]
        case "open":
            seats = box((-0.25, 0.0, belt + 0.08), (0.12, 0.6, 0.24))
            return [
                box((0.22, 0.0, belt + 0.11), (0.12, 0.66, 0.24), rear=1.0, front=0.2),
                seats,
                box((-0.6, 0.0, belt + 0.03), (0.4, 0.66, 0.1)),
            ]
        case "round":
            cabin = ball(
                (it.place - 0.05, 0.0, belt), (1.3 * it.cabin[0], it.cabin[1], 2 * it.cabin[2])
            )
            return [cabin, ball((0.45, 0.0, belt - 0.04), (0.8, 0.6, 0.2))]
        case "racing":
            return [
                box((0.5 * length, 0.0, bottom), (0.26, 0.92, 0.06)),
                box((end, 0.0, belt + 0.22), (0.26, 0.8, 0.06)),
                box((end, 0.0, belt + 0.05), (0.1, 0.2, 0.34)),
                box((-0.15, 0.0, bottom + 0.1), (0.8, 0.66, 0.2)),
                ball((0.05, 0.0, belt + 0.08), (0.22, 0.22, 0.24)),
            ]
        case "rack":
            rails = [rod((x, -0.3, top + 0.04), (x, 0.3, top + 0.04), 0.03) for x in (-0.6, 0.0)]
            return [*rails, box((-0.3, 0.0, top + 0.12), (0.7, 0.4, 0.14))]
        case "spare":
            return [rod((end - 0.12, 0.0, belt), (end + 0.02, 0.0, belt), 0.2)]
        case _:
            return []
