"""Our values beside published ones: how these are written, and what a reader has to know."""

from collections.abc import Iterator, Sequence

from sweeps.aggregation.rendering.table import PLUS_MINUS, Table
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.tables.data_line import with_data
from sweeps.aggregation.tables.departures import with_departures
from sweeps.aggregation.tables.health import health_notes
from sweeps.aggregation.tables.targets import target_notes
from sweeps.aggregation.tables.uncounted_cells import gap_notes, reason_notes
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line


def beside_published(
    table: Table, manifest: Manifest, arms: Sequence[ArmResults], published_data: str
) -> Table:
    """Return a table that says what its sweep is not as declared, and of which data values are.

    Args:
        table: Beside published values.
        manifest: Of the sweep.
        arms: Those in the table.
        published_data: Name of the data set that the published values are of, "" if not told.
    """
    return with_data(with_departures(manifest, table), arms, published_data)


def published_text(published: float | None, spread: float | None) -> str:
    """Return a published value with its spread, "" where there is none."""
    text = "" if published is None else _as_printed(published)
    if text and spread is not None:
        text += f" {PLUS_MINUS} {_as_printed(spread)}"
    return text


def own_note(manifest: Manifest, arms: Sequence[ArmResults], what: str) -> str:
    """Return what our values are.

    Args:
        manifest: Of the sweep.
        arms: Those in the table.
        what: Which they are: "mean test error in percent".
    """
    word = "seed" if len(manifest.seeds) == 1 else "seeds"
    seeds = ", ".join(str(seed) for seed in manifest.seeds)
    return (
        f"Ours: {what} of n trials, one a seed ({word} {seeds}), each that of "
        f"the last epoch{_length(arms)}; {PLUS_MINUS} half the width of the mean's 95 % t interval "
        "(n - 1 degrees of freedom), none where n is 1. Selection never saw the test split."
    )


def published_note(spread: str, has_spread: bool) -> str:
    """Return what the published values are.

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


def trial_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Say what a reader has to know of our trials: targets, gaps, warnings and their reasons."""
    yield from target_notes(arms)
    yield from gap_notes(arms)
    yield from health_notes(arms)
    yield from reason_notes(arms)


def _length(arms: Sequence[ArmResults]) -> str:
    """Return how long our trials were trained, "" where none is counted."""
    epochs = [trial.epochs for arm in arms for trial in arm.counted.values()]
    if not epochs:
        return ""
    low, high = min(epochs), max(epochs)
    return f", number {low}" if low == high else f", number {low} to {high}"


def _as_printed(value: float) -> str:
    """Return a value with at least two decimals, and with all that it was published with."""
    return f"{value:.2f}" if round(value, 2) == value else repr(value)
