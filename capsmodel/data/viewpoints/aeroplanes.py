"""Ten aeroplanes as solids that stand on the ground and look along x."""

from typing import Literal, NamedTuple

from capsmodel.data.viewpoints.solids import Solid, ball, box, rod, spindle, wing
from capsmodel.data.viewpoints.vectors import Vector, add


class _Aeroplane(NamedTuple):
    """The dimensions that distinguish one aeroplane.

    Attributes:
        radius: Half the thickness of the fuselage, which is 2 long.
        span: Extent of one wing.
        chord: Length of the wing at the fuselage.
        sweep: How far the wing's tip is behind its root.
        taper: Length of the wing at its tip as a share of that at the fuselage.
        level: Height of the wing above the fuselage's middle, in radii.
        tail: Extent of one half of the tailplane.
        fin: Height of the fin.
        engine: What drives it.
        extra: What else it has.
    """

    radius: float
    span: float
    chord: float
    sweep: float
    taper: float
    level: float
    tail: float
    fin: float
    engine: Literal["nose", "two propellers", "two jets", "four jets", "rear jets", "none"]
    extra: Literal["nothing", "second wing", "floats", "high tail", "struts"]


_AEROPLANES = (
    _Aeroplane(0.15, 1.0, 0.36, 0.0, 0.9, 1.0, 0.36, 0.3, "nose", "struts"),
    _Aeroplane(0.15, 0.95, 0.46, 0.5, 0.35, -0.5, 0.4, 0.42, "two jets", "nothing"),
    _Aeroplane(0.16, 0.8, 0.34, 0.0, 1.0, -0.6, 0.34, 0.28, "nose", "second wing"),
    _Aeroplane(0.12, 0.6, 1.05, 0.45, 0.12, -0.3, 0.0, 0.45, "rear jets", "nothing"),
    _Aeroplane(0.17, 1.05, 0.4, 0.12, 0.6, 0.7, 0.45, 0.45, "two propellers", "nothing"),
    _Aeroplane(0.1, 1.35, 0.22, 0.04, 0.5, 0.6, 0.3, 0.36, "none", "high tail"),
    _Aeroplane(0.18, 1.1, 0.5, 0.55, 0.3, -0.5, 0.45, 0.48, "four jets", "nothing"),
    _Aeroplane(0.14, 0.9, 0.38, 0.08, 0.75, -0.5, 0.34, 0.3, "nose", "floats"),
    _Aeroplane(0.13, 0.75, 0.5, 0.4, 0.4, -0.4, 0.36, 0.44, "rear jets", "high tail"),
    _Aeroplane(0.16, 0.9, 0.3, 0.0, 0.95, -0.7, 0.36, 0.34, "two propellers", "second wing"),
)


def aeroplane(instance: int) -> tuple[Solid, ...]:
    """Return one of ten aeroplanes, standing level."""
    it = _AEROPLANES[instance]
    middle = 0.34 if it.extra == "floats" else 0.22 + it.radius
    height = middle + it.level * it.radius
    root, thickness = (0.12 + 0.25 * it.sweep, 0.5 * it.radius, height), 0.07
    tip = (root[0] - it.sweep, root[1] + it.span, height + 0.06)
    stern = middle + 0.4 * it.radius
    tail_height = stern + 0.9 * it.fin if it.extra == "high tail" else stern
    tail_tip = (-0.95 - 0.4 * it.sweep, 0.05 + it.tail, tail_height)
    wings = [wing(root, tip, chord=it.chord, thickness=thickness, taper=it.taper)]
    if it.tail > 0:
        wings.append(
            wing((-0.88, 0.0, tail_height), tail_tip, chord=0.24, thickness=0.05, taper=0.6)
        )
    fin_tip = (-1.0 - 0.3 * it.sweep, 0.0, stern + it.fin)
    sides = [*wings, *_engines(it, root, tip), *_extras(it, root, tip)]
    return (
        spindle((-1.05, 0.0, middle + 0.3 * it.radius), (0.7, 0.0, middle), it.radius),
        rod((-0.3, 0.0, middle), (0.6, 0.0, middle), 0.95 * it.radius),
        ball((0.6, 0.0, middle), (0.75, 1.9 * it.radius, 1.9 * it.radius)),
        ball((0.35, 0.0, middle + 0.8 * it.radius), (0.5, 1.2 * it.radius, 1.1 * it.radius)),
        wing((-0.85, 0.0, middle), fin_tip, chord=0.32, thickness=0.05, taper=0.55),
        rod((-0.9, 0.0, 0.0), (-0.9, 0.0, middle), 0.03),
        *sides,
        *(part.mirrored() for part in sides),
        *_nose(it, middle),
    )


def _nose(it: _Aeroplane, middle: float) -> list[Solid]:
    if it.engine != "nose":
        return []
    return [
        rod((0.7, 0.0, middle), (0.93, 0.0, middle), 1.1 * it.radius),
        box((0.98, 0.0, middle), (0.04, 0.08, 0.6)),
    ]


def _engines(it: _Aeroplane, root: Vector, tip: Vector) -> list[Solid]:
    shares = {"two propellers": (0.35,), "two jets": (0.35,), "four jets": (0.3, 0.65)}
    engines: list[Solid] = []
    for share in shares.get(it.engine, ()):
        x, y, z = (start + share * (end - start) for start, end in zip(root, tip, strict=True))
        if it.engine == "two propellers":
            engines.append(rod((x - 0.15, y, z), (x + 0.32, y, z), 0.1))
            engines.append(box((x + 0.36, y, z), (0.04, 0.46, 0.07)))
        else:
            engines.append(rod((x - 0.05, y, z - 0.13), (x + 0.32, y, z - 0.13), 0.1))
    if it.engine == "rear jets":
        y, z = it.radius + 0.08, root[2] + 0.5 * it.radius
        engines.append(rod((-0.85, y, z), (-0.4, y, z), 0.09))
    return engines


def _extras(it: _Aeroplane, root: Vector, tip: Vector) -> list[Solid]:
    x, y, z = root
    strut = (x, y + 0.65 * it.span, z)
    match it.extra:
        case "second wing":
            up = (0.1, 0.0, 0.42)
            return [
                wing(add((x, 0.0, z), up), add(tip, up), chord=it.chord, thickness=0.06, taper=1.0),
                rod(strut, add(strut, up), 0.03),
                rod((x, 0.2, 0.0), (x, 0.2, z), 0.05),
            ]  # fmt: skip
        case "floats":
            return [
                spindle((-0.45, 0.28, 0.09), (0.75, 0.28, 0.09), 0.09),
                rod((0.1, 0.28, 0.1), (0.1, 0.2, z), 0.03),
            ]
        case "struts":
            return [
                rod(strut, (x, 0.12, 0.25), 0.03),
                rod((x + 0.1, 0.2, 0.09), (x + 0.1, 0.28, 0.09), 0.09),
            ]
        case _:
            return [rod((x, 0.2, 0.0), (x, 0.2, z), 0.04)]
