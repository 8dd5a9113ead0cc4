"""Our figures beside published ones: how these are written, and what a reader has to know."""

from collections.abc import Sequence

from sweeps.aggregation.rendering.table import PLUS_MINUS
from sweeps.aggregation.results.arms import ArmResults
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line


def published_text(published: float | None, spread: float | None) -> str:
    """Return a published figure with its spread, "" where there is none."""
    text = "" if published is None else _as_printed(published)
    if text and spread is not None:
        text += f" {PLUS_MINUS} {_as_printed(spread)}"
    return text


def own_note(manifest: Manifest, arms: Sequence[ArmResults], what: str) -> str:
    """Return what our figures are.

    Args:
        manifest: Of the sweep.
        arms: Those in the table.
        what: The figure: "mean test error in percent".
    """
    word = "seed" if len(manifest.seeds) == 1 else "seeds"
    seeds = ", ".join(str(seed) for seed in manifest.seeds)
    return (
        f"Ours: {what} of n trials, one a seed ({word} {seeds}), each that of "
        f"the last epoch{_length(arms)}; {PLUS_MINUS} half the width of the mean's 95 % t interval "
        "(n - 1 degrees of freedom), none where n is 1. Selection never saw the test split."
    )


def published_note(spread: str, has_spread: bool) -> str:
    """Return what the published figures are.

    Args:
        spread: What stands beside them, in words; "" where that is not known.
        has_spread: Whether any does.
    """
    words = one_line(spread).rstrip(".") or "as published, its meaning not known"
    theirs = "Published: the figure that the source gives, in percent"
    if has_spread:
        theirs += f"; {PLUS_MINUS} there: {words}"
    return (
        f"{theirs}. No difference from ours is tested, as the published trials are not at hand: "
        "nothing is bold."
    )


def _length(arms: Sequence[ArmResults]) -> str:
    """Return how long our trials were trained, "" where none is counted."""
    epochs = [trial.epochs for arm in arms for trial in arm.counted.values()]
    if not epochs:
        return ""
    low, high = min(epochs), max(epochs)
    return f", number {low}" if low == high else f", number {low} to {high}"


def _as_printed(value: float) -> str:
    """Return a figure with at least two decimals, and with all that it was published with."""
    return f"{value:.2f}" if round(value, 2) == value else repr(value)
