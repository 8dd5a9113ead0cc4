"""What an ablation table says below itself: how to read it, and what cannot be concluded."""

from collections.abc import Iterator, Sequence

from sweeps.aggregation.rendering.table import PLUS_MINUS
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.tables.ablation.arm_notes import (
    added_notes,
    identical_notes,
    length_notes,
    same_row_notes,
)
from sweeps.aggregation.tables.ablation.diverged import diverged_notes
from sweeps.aggregation.tables.ablation.lead import NO_SPREAD, ablation_lead, named, span
from sweeps.aggregation.tables.health import health_notes
from sweeps.aggregation.tables.targets import target_notes
from sweeps.aggregation.tables.uncounted_cells import gap_notes, reason_notes
from sweeps.records.manifest import Manifest


def ablation_words(
    manifest: Manifest, arms: Sequence[ArmResults], compared: Sequence[Comparison]
) -> tuple[str, tuple[str, ...]]:
    """Return what stands above a table, and the notes below it."""
    notes = _notes(manifest, arms, compared)
    return ablation_lead(manifest, compared, arms), tuple(notes)


def _notes(
    manifest: Manifest, arms: Sequence[ArmResults], compared: Sequence[Comparison]
) -> Iterator[str]:
    """Say what the figures cover and what not, the most needed first."""
    yield from _covered(manifest, arms, compared)
    yield from length_notes(arms)
    yield from _seeds_alone(compared)
    yield from _without_spread(compared)
    yield from added_notes(manifest, compared)
    yield from diverged_notes(arms)
    yield from gap_notes(arms)
    yield from target_notes(arms)
    yield (
        "Test errors are those of the last epoch. Selection never saw the test split: whatever "
        "chooses is given validation figures only."
    )
    yield from identical_notes(arms)
    yield from same_row_notes(manifest)
    yield from health_notes(arms)
    yield from reason_notes(arms)


def _covered(
    manifest: Manifest, arms: Sequence[ArmResults], compared: Sequence[Comparison]
) -> Iterator[str]:
    counts = sorted({len(arm.counted) for arm in arms if len(arm.counted) > 1})
    if counts:
        yield f"sd: spread over {span(counts)} seeds, no test."
    elif len(manifest.seeds) == 1:
        yield "One seed an arm: it says nothing of others, so there is no spread."
    else:
        yield "No arm has two finished trials, so there is no spread."
    if any(one.way for one in compared):
        objects = any(one.way and one.way.num_clusters < one.num_images for one in compared)
        images = "objects" if objects else "images"
        yield (
            f"{PLUS_MINUS}: 95 %, for new seeds and new test {images}; not for new training images "
            f"or other data."
        )
        within = manifest.margin_points
        margin = (
            "undecided is not equal: no margin was declared."
            if within is None
            else f"equivalent: shown to differ by less than {within:g} points, the margin declared."
        )
        yield f"Bold: holds for all comparisons together; {margin}"


def _seeds_alone(compared: Sequence[Comparison]) -> Iterator[str]:
    """Say which differences rest on seeds alone, the arms of one reason together."""
    reasons: dict[str, list[Comparison]] = {}
    for one in compared:
        if not one.way and one.difference.mean is not None:
            reasons.setdefault(one.why_seeds_alone, []).append(one)
    for reason, alone in reasons.items():
        has_ends = any(one.difference.half_width is not None for one in alone)
        what = f"{PLUS_MINUS} covers new seeds alone" if has_ends else "there is no interval"
        yield f"{named(alone)}: {what} and nothing is bold, as {reason}."


def _without_spread(compared: Sequence[Comparison]) -> Iterator[str]:
    if alike := [one for one in compared if one.way and not one.has_spread]:
        yield f"{named(alike)}: {NO_SPREAD}, which is no proof of anything: there is no verdict."
