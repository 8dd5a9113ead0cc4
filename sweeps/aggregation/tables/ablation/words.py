"""What an ablation table says below itself: how to read it, and what cannot be concluded."""

from collections.abc import Iterator, Sequence

from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.tables.ablation.alias_notes import alias_notes, generator_notes
from sweeps.aggregation.tables.ablation.arm_notes import (
    added_notes,
    identical_notes,
    length_notes,
    path_notes,
    same_row_notes,
)
from sweeps.aggregation.tables.ablation.cover import (
    covered_notes,
    few_splits_notes,
    seeds_alone_notes,
)
from sweeps.aggregation.tables.ablation.diverged import diverged_notes
from sweeps.aggregation.tables.ablation.lead import NO_SPREAD, ablation_lead, named
from sweeps.aggregation.tables.ablation.tuning_notes import slack_notes, tuning_notes
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


def design_notes(manifest: Manifest) -> Iterator[str]:
    """Say of a design what is known before anything is trained."""
    yield from same_row_notes(manifest)
    yield from alias_notes(manifest)
    yield from generator_notes(manifest)
    yield from few_splits_notes(manifest)


def _notes(
    manifest: Manifest, arms: Sequence[ArmResults], compared: Sequence[Comparison]
) -> Iterator[str]:
    """Say what the figures cover and what not, the most needed first."""
    yield from covered_notes(manifest, arms, compared)
    yield from path_notes(manifest)
    yield from tuning_notes(manifest)
    yield from slack_notes(manifest, compared)
    yield from length_notes(arms)
    yield from seeds_alone_notes(compared)
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
    yield from alias_notes(manifest)
    yield from health_notes(arms)
    yield from reason_notes(arms)


def _without_spread(compared: Sequence[Comparison]) -> Iterator[str]:
    if alike := [one for one in compared if one.way and not one.has_spread]:
        yield f"{named(alike)}: {NO_SPREAD}, which is no proof of anything: nothing is decided."
