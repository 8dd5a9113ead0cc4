"""What a table of effects says below itself: how to read it, and what cannot be concluded."""

from collections.abc import Iterator, Sequence

from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.effects.effects import Effects
from sweeps.aggregation.tables.ablation.arm_notes import same_row_notes
from sweeps.aggregation.tables.ablation.diverged import diverged_notes
from sweeps.aggregation.tables.factors.effect_lead import named_effect
from sweeps.aggregation.tables.factors.fit_notes import fit_notes
from sweeps.aggregation.tables.factors.reading_notes import reading_notes
from sweeps.aggregation.tables.uncounted_cells import gap_notes, reason_notes
from sweeps.records.manifest import Manifest


def effect_notes(manifest: Manifest, arms: Sequence[ArmResults], found: Effects) -> Iterator[str]:
    """Say how to read the figures and what they do not cover, the most needed first."""
    if found.estimated:
        yield from reading_notes(manifest, found)
    names = [named_effect(one, found.factors) for one in found.effects]
    is_partly_aliased = bool(manifest.design and manifest.design.is_partly_aliased)
    yield from fit_notes(found, names, is_partly_aliased=is_partly_aliased)
    yield from diverged_notes(arms)
    yield from gap_notes(arms)
    yield (
        "Test errors are those of the last epoch. Selection never saw the test split: whatever "
        "chooses is given validation figures only."
    )
    yield from same_row_notes(manifest)
    yield from reason_notes(arms)
