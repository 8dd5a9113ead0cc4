"""How to read a table of effects, and what its intervals cover."""

from collections.abc import Iterator

from sweeps.aggregation.rendering.table import PLUS_MINUS
from sweeps.aggregation.results.effects.effects import Effects
from sweeps.records.manifest import Manifest


def reading_notes(manifest: Manifest, found: Effects) -> Iterator[str]:
    """Say what each column is, and of what its intervals and verdicts hold."""
    yield from _column_notes(found)
    yield from _covered_notes(manifest, found)


def _column_notes(found: Effects) -> Iterator[str]:
    figures = [one for one in found.estimated if one.contrast.effect is not None]
    if any(not one.is_interaction for one in figures):
        yield (
            "Points, of a setting: test error at its second level minus that at its first (the "
            "baseline's), the mean over all combinations of the other settings."
        )
    if any(one.is_interaction for one in figures):
        yield (
            "Points, of two settings (x): half of how far the effect of one at the other's second "
            "level is from its effect at the first. Added to a setting's own points it gives the "
            "effect at the other's second level, taken off them that at the first."
        )
    if any(one.contrast.effect is None for one in found.estimated):
        yield (
            "F (degrees of freedom, of the residual): of settings with more than two levels, with "
            "seeds as blocks. Their p also holds for new test images."
        )
    if any(one.share is not None for one in found.estimated):
        yield "Squares: share of the sum of squares of all trials, seeds as blocks taken out."


def _covered_notes(manifest: Manifest, found: Effects) -> Iterator[str]:
    crossed = found.crossed
    if crossed.wrong is None:
        yield (
            f"{PLUS_MINUS} and p cover new seeds alone, with seeds as blocks, and nothing is bold, "
            f"as {crossed.why_seeds_alone}."
        )
    elif any(one.weighed and one.weighed.way for one in found.estimated):
        images = "objects" if crossed.objects is not None else "images"
        yield (
            f"{PLUS_MINUS} and p: 95 %, for new seeds and new test {images}, on one split; not "
            f"for new training images or other data. Bold: holds for all effects of the table "
            f"together (Holm)."
        )
    else:
        yield "Fewer than three seeds are common to the arms: there is no interval and no p."
    if found.has_added_seeds:
        planned = ", ".join(str(seed) for seed in manifest.planned_seeds)
        yield (
            f"Seeds other than {planned} were added after looking: bold here needs half the level, "
            f"and evidence that repeated looks do not inflate (an e-process over seeds)."
        )
