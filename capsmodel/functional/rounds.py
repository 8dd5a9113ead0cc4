"""What every routing in rounds asks of its votes."""

from torch import Tensor


def refuse_other_rounds(votes: Tensor, iterations: int) -> None:
    """Refuse votes of another shape, and fewer rounds than one.

    Raises:
        ValueError: Saying what was given and what is allowed.
    """
    if votes.ndim != 4:
        raise ValueError(
            f"Votes are of shape [batch, in_caps, out_caps, pose], got {list(votes.shape)}."
        )
    if iterations < 1:
        raise ValueError(f"iterations must be 1 or more, got {iterations}.")
