"""Squashes: how the length of a pose becomes a belief."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Annotated, ClassVar, Literal

from jaxtyping import Float
from pydantic import Field, field_validator
from torch import Tensor

from capsmodel.functional import exponential_squash, squash, squash_with_epsilon
from capsmodel.settings.parts import Part

_LEAST_EPSILON = 1e-20  # to the power of -3/2, which is in the gradient, float32 holds it


class Squash(Part, ABC):
    """How the length of a pose becomes a belief: the direction stays, the length is at most 1."""

    family: ClassVar[str] = "squash"

    @abstractmethod
    def squash(self, poses: Float[Tensor, "*axes pose"]) -> Float[Tensor, "*axes pose"]:
        """Return the poses squashed; value and gradient are finite, at a zero pose too.

        This holds up to lengths whose square the number type holds: 1e19 in float32.
        """

    @property
    def function(self) -> Callable[[Tensor], Tensor]:
        """The squashing function; the one of `capsmodel.functional` if it has one."""
        return self.squash


class SabourSquash(Squash):
    """A length n becomes n^2 / (1 + n^2): short poses almost vanish.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, equation 1.
    Difference: none with an epsilon of zero. Widespread reimplementations divide the pose by
    sqrt(n^2 + epsilon) in the place of n, with 1e-7.

    Attributes:
        epsilon: Added to the squared length under that root; 0, or at least 1e-20.
    """

    kind: Literal["sabour"] = "sabour"
    epsilon: Annotated[float, Field(ge=0)] = 0.0

    @field_validator("epsilon")
    @classmethod
    def _check_epsilon(cls, epsilon: float) -> float:
        if 0 < epsilon < _LEAST_EPSILON:
            raise ValueError(
                f"epsilon must be 0 or at least {_LEAST_EPSILON:g}, got {epsilon:g}: with less, "
                f"the gradient at a short pose is not a number in float32."
            )
        return epsilon

    @property
    def function(self) -> Callable[[Tensor], Tensor]:
        """The squashing function."""
        is_plain = type(self) is SabourSquash and self.epsilon == 0  # not one that derives from it
        return squash if is_plain else self.squash

    def squash(self, poses: Float[Tensor, "*axes pose"]) -> Float[Tensor, "*axes pose"]:
        """Return the poses squashed."""
        return squash(poses) if self.epsilon == 0 else squash_with_epsilon(poses, self.epsilon)


class ExponentialSquash(Squash):
    """A length n becomes 1 - exp(-n): short poses stay as long as they are.

    Source: Xi, Bing and Jin 2017, arXiv:1712.03480, and the released code of Mazzia, Salvetti and
    Chiaberge 2021, arXiv:2101.12491.
    Difference: none.
    """

    kind: Literal["exponential"] = "exponential"

    def squash(self, poses: Float[Tensor, "*axes pose"]) -> Float[Tensor, "*axes pose"]:
        """Return the poses squashed."""
        return exponential_squash(poses)


def chosen_squash(
    squash: Squash | Callable[[Tensor], Tensor] | None,
) -> Squash | Callable[[Tensor], Tensor]:
    """Return a squash, by settings or as a function, or the default one for None.

    Raises:
        TypeError: If it is neither.
    """
    if squash is None:
        return SabourSquash()
    if not isinstance(squash, Squash) and not callable(squash):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"squash must be settings or a function of poses, such as SabourSquash() or "
            f"capsmodel.functional.squash, got {squash!r}."
        )
    return squash


SQUASHES = (SabourSquash, ExponentialSquash)
