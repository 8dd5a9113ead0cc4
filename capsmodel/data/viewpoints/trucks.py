"""Ten trucks as solids that stand on the ground and look along x."""

from collections.abc import Callable
from typing import NamedTuple

from capsmodel.data.viewpoints.solids import Solid, ball, box, rod, spindle
from capsmodel.data.viewpoints.vectors import Vector, add, scale


class _Hold(NamedTuple):
    """The cargo space behind the cab.

    Attributes:
        middle: Its middle.
        size: Its length, width and height.
    """

    middle: Vector
    size: Vector

    def point_at(self, x: float, y: float, z: float) -> Vector:
        """Return the point at some shares of half its length, width and height from its middle."""
        length, width, height = scale(self.size, 0.5)
        return add(self.middle, (x * length, y * width, z * height))

    @property
    def bed(self) -> Solid:
        """A platform on its floor."""
        return box(
            add(self.point_at(0.0, 0.0, -1.0), (0.0, 0.0, 0.05)), (self.size[0], self.size[1], 0.1)
        )


class _Truck(NamedTuple):
    """The dimensions that distinguish one truck.

    Attributes:
        cab: Length, width and height of the cab.
        bonnet: Length of the bonnet ahead of the cab, 0 for none.
        hold: Length, width and height of the room behind the cab.
        load: What fills it.
        axles: Where the axles are, as shares of the way from the middle to the front.
        wheel: Radius of a wheel.
    """

    cab: Vector
    bonnet: float
    hold: Vector
    load: Callable[[_Hold], list[Solid]]
    axles: tuple[float, ...]
    wheel: float


def truck(instance: int) -> tuple[Solid, ...]:
    """Return one of ten trucks."""
    it = _trucks()[instance]
    floor = 1.6 * it.wheel
    length, width, height = it.hold
    cab_length, cab_width, cab_height = it.cab
    front = 0.5 * (length + cab_length + it.bonnet) + 0.04
    cab_middle = front - it.bonnet - 0.5 * cab_length
    solids = [
        box((0.0, 0.0, floor - 0.06), (2 * front, 0.42, 0.12)),
        box((cab_middle, 0.0, floor + 0.5 * cab_height), it.cab, front=0.8, sides=0.95),
        *it.load(_Hold((0.5 * length - front, 0.0, floor + 0.5 * height), it.hold)),
    ]
    if it.bonnet > 0:
        size = (it.bonnet + 0.05, 0.8 * cab_width, 0.5 * cab_height)
        middle = (front - 0.5 * it.bonnet, 0.0, floor + 0.25 * cab_height)
        solids.append(box(middle, size, front=0.85, sides=0.85))
    wheels = [
        rod((x * front, 0.5 * width - 0.16, it.wheel), (x * front, 0.5 * width, it.wheel), it.wheel)
        for x in it.axles
    ]
    return (*solids, *wheels, *(wheel.mirrored() for wheel in wheels))


def _van(hold: _Hold) -> list[Solid]:
    return [box(hold.middle, hold.size)]


def _two_boxes(hold: _Hold) -> list[Solid]:
    length, width, height = hold.size
    return [box(hold.point_at(x, 0.0, 0.0), (0.44 * length, width, height)) for x in (-0.52, 0.52)]


def _tank(hold: _Hold) -> list[Solid]:
    _, width, height = hold.size
    stern, bow, top = (
        hold.point_at(-1.0, 0.0, 0.0),
        hold.point_at(1.0, 0.0, 0.0),
        hold.point_at(0.0, 0.0, 0.9),
    )
    return [
        hold.bed,
        rod(stern, bow, 0.5 * height),
        rod(top, add(top, (0.0, 0.0, 0.12)), 0.13),
        *(ball(end, (0.24, width, height)) for end in (stern, bow)),
    ]


def _crate(hold: _Hold) -> list[Solid]:
    return [
        hold.bed,
        box(add(hold.point_at(1.0, 0.0, -1.0), (0.0, 0.0, 0.25)), (0.08, hold.size[1], 0.5)),
        box(add(hold.point_at(-0.15, 0.0, -1.0), (0.0, 0.0, 0.22)), (0.6, 0.4, 0.3)),
    ]


def _tipper(hold: _Hold) -> list[Solid]:
    length, width, height = hold.size
    trough = add(hold.point_at(0.0, 0.0, 0.0), (0.0, 0.0, 0.1))
    roof = add(hold.point_at(1.0, 0.0, 1.0), (0.12, 0.0, 0.13))
    return [
        hold.bed,
        box(trough, (length, width, -height), front=0.8, rear=0.75, sides=0.8),
        box(roof, (0.3, 0.9 * width, 0.06)),
    ]


def _mixer(hold: _Hold) -> list[Solid]:
    stern, bow = hold.point_at(-1.05, 0.0, 1.0), hold.point_at(1.05, 0.0, -0.2)
    chute = rod(add(stern, (0.0, 0.0, -0.2)), add(stern, (-0.08, 0.0, 0.12)), 0.2)
    return [hold.bed, spindle(stern, bow, 0.48 * hold.size[1]), chute]


def _crane(hold: _Hold) -> list[Solid]:
    top = hold.point_at(0.0, 0.0, 1.0)
    return [
        box(hold.middle, hold.size),
        rod(top, add(top, (0.0, 0.0, 0.3)), 0.24),
        rod(
            add(top, (0.1, 0.0, 0.2)), add(hold.point_at(-1.0, 0.0, 1.0), (-0.1, 0.0, 0.75)), 0.075
        ),
    ]


def _ladder(hold: _Hold) -> list[Solid]:
    stern, bow = hold.point_at(-1.0, 0.0, 1.0), hold.point_at(1.0, 0.0, 1.0)
    return [
        box(hold.middle, hold.size),
        box(add(stern, (0.3, 0.0, 0.08)), (0.3, 0.4, 0.18)),
        *(
            rod(add(stern, (-0.1, side, 0.16)), add(bow, (0.35, side, 0.32)), 0.05)
            for side in (-0.14, 0.14)
        ),
    ]


def _logs(hold: _Hold) -> list[Solid]:
    stern, bow = hold.point_at(-1.0, 0.0, -1.0), hold.point_at(1.0, 0.0, -1.0)
    places = [(-0.2, 0.25), (0.0, 0.25), (0.2, 0.25), (-0.1, 0.42), (0.1, 0.42)]
    logs = [rod(add(stern, (0.0, y, z)), add(bow, (0.0, y, z)), 0.1) for y, z in places]
    return [hold.bed, *logs]


def _canvas(hold: _Hold) -> list[Solid]:
    length, width, _ = hold.size
    side = box(add(hold.point_at(0.0, 0.0, -1.0), (0.0, 0.0, 0.18)), (length, width, 0.36))
    return [side, rod(hold.point_at(-1.0, 0.0, -0.1), hold.point_at(1.0, 0.0, -0.1), 0.5 * width)]


def _trucks() -> tuple[_Truck, ...]:
    return (
        _Truck((0.42, 0.72, 0.72), 0.0, (1.5, 0.78, 0.95), _van, (0.75, -0.55), 0.17),
        _Truck((0.4, 0.66, 0.62), 0.3, (1.35, 0.7, 0.62), _tank, (0.85, -0.25, -0.6), 0.16),
        _Truck((0.4, 0.68, 0.68), 0.25, (1.3, 0.76, 0.5), _tipper, (0.8, -0.25, -0.62), 0.19),
        _Truck((0.5, 0.66, 0.66), 0.0, (1.5, 0.66, 0.42), _ladder, (0.75, -0.65), 0.17),
        _Truck((0.42, 0.7, 0.7), 0.0, (1.3, 0.72, 0.75), _mixer, (0.75, -0.2, -0.6), 0.17),
        _Truck((0.38, 0.64, 0.64), 0.34, (1.45, 0.62, 0.5), _logs, (0.85, -0.2, -0.7), 0.17),
        _Truck((0.4, 0.72, 0.78), 0.0, (1.6, 0.72, 0.16), _crate, (0.8, -0.4, -0.72), 0.16),
        _Truck((0.46, 0.66, 0.64), 0.28, (1.2, 0.72, 0.66), _canvas, (0.8, -0.5), 0.2),
        _Truck((0.5, 0.68, 0.56), 0.0, (1.4, 0.68, 0.34), _crane, (0.75, 0.1, -0.6), 0.19),
        _Truck((0.4, 0.7, 0.74), 0.22, (1.5, 0.74, 0.78), _two_boxes, (0.85, -0.1, -0.7), 0.17),
    )
