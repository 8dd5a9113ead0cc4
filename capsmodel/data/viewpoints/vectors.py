"""Vectors of three numbers.

Pictures depend only on + - * / and square roots, which every machine rounds alike.
`sum` is not among them: its rounding changed between versions of Python.
"""

import math

Vector = tuple[float, float, float]
Axes = tuple[Vector, Vector, Vector]


def add(vector: Vector, other: Vector) -> Vector:
    """Return the sum of two vectors."""
    return (vector[0] + other[0], vector[1] + other[1], vector[2] + other[2])


def scale(vector: Vector, factor: float) -> Vector:
    """Return a vector times a number."""
    return (vector[0] * factor, vector[1] * factor, vector[2] * factor)


def dot(vector: Vector, other: Vector) -> float:
    """Return the scalar product of two vectors."""
    return vector[0] * other[0] + vector[1] * other[1] + vector[2] * other[2]


def cross(vector: Vector, other: Vector) -> Vector:
    """Return the vector product of two vectors."""
    return (
        vector[1] * other[2] - vector[2] * other[1],
        vector[2] * other[0] - vector[0] * other[2],
        vector[0] * other[1] - vector[1] * other[0],
    )


def with_length(vector: Vector, length: float) -> Vector:
    """Return a vector of that length and the same direction."""
    return scale(vector, length / math.sqrt(dot(vector, vector)))


def dual(axes: Axes) -> Axes:
    """Return the vectors whose scalar products with a point give its parts along the axes."""
    first, second, third = axes
    volume = dot(first, cross(second, third))
    return (
        scale(cross(second, third), 1.0 / volume),
        scale(cross(third, first), 1.0 / volume),
        scale(cross(first, second), 1.0 / volume),
    )
