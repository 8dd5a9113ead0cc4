"""Checks of arguments; each raises an error of one sentence."""

from torch import Tensor


def check_choice(option: str, value: object, allowed: tuple[str, ...]) -> None:
    """Check that an option is one of the allowed words.

    Raises:
        ValueError: If it is not; the message names all of them.
    """
    if value not in allowed:
        choices = ", ".join(repr(word) for word in allowed)
        raise ValueError(f"{option} must be one of {choices}, got {value!r}.")


def check_shape(tensor_name: str, tensor: Tensor, **axes: int | None) -> None:
    """Check the shape of a tensor.

    Args:
        tensor_name: The tensor's name.
        tensor: The tensor that was given.
        axes: Name of each axis -> its size; None for any.

    Raises:
        ValueError: If it has another shape; the message names the given and the expected one.
    """
    fits = len(tensor.shape) == len(axes) and all(
        size is None or size == actual
        for size, actual in zip(axes.values(), tensor.shape, strict=True)
    )
    if not fits:
        sizes = ", ".join(name if size is None else f"{name} {size}" for name, size in axes.items())
        raise ValueError(f"{tensor_name} must be of shape [{sizes}], got {list(tensor.shape)}.")


def check_votes(votes: Tensor, iterations: int) -> None:
    """Check the shape of the votes, and that there is at least one round.

    Raises:
        ValueError: Saying what was given and what is allowed.
    """
    check_shape("votes", votes, batch=None, in_caps=None, out_caps=None, pose=None)
    if iterations < 1:
        raise ValueError(f"iterations must be 1 or more, got {iterations}.")
