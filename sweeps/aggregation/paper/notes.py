"""What a table in a paper's style says below itself."""

from collections.abc import Iterator, Sequence

from sweeps.aggregation.paper.compared_arms import ComparedArms
from sweeps.aggregation.rendering.table import PLUS_MINUS
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.tables.ablation.arm_notes import (
    added_notes,
    identical_notes,
    length_notes,
)
from sweeps.aggregation.tables.ablation.cover import covered, split_words
from sweeps.aggregation.tables.ablation.diverged import diverged_notes
from sweeps.aggregation.tables.ablation.tuning_notes import slack_notes, tuning_notes
from sweeps.aggregation.tables.targets import target_notes
from sweeps.aggregation.tables.uncounted_cells import gap_notes
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line


def paper_notes(manifest: Manifest, arms: ComparedArms) -> Iterator[str]:
    """Say how to read the table, and what cannot be concluded from it."""
    yield from _difference_notes(manifest, arms.compared)
    yield from tuning_notes(manifest)
    yield from slack_notes(manifest, arms.compared)
    yield from added_notes(manifest, arms.compared)
    yield from length_notes(arms.arms)
    yield from identical_notes(arms.arms)
    yield from diverged_notes(arms.arms)
    yield from gap_notes(arms.arms)
    yield from target_notes(arms.arms)
    yield "Of the last epoch of each training. Selection never saw the test split."


def _difference_notes(manifest: Manifest, compared: Sequence[Comparison]) -> Iterator[str]:
    if any(one.way for one in compared):
        yield (
            f"Difference: from '{one_line(manifest.baseline)}' in percentage points, paired by "
            f"seed; in brackets its 95 % interval for {covered(compared)}."
        )
        if words := split_words(manifest):
            yield words
        yield (
            "Bold: different, by a verdict that holds for all comparisons together (Holm). What "
            "is not bold is not shown to be equal."
        )
    if equivalent := [one for one in compared if one.verdict == "equivalent"]:
        within = f"{PLUS_MINUS}{manifest.margin_points:g} points"
        yield f"Equivalent to it within {within}, as declared: {_named(equivalent)}."
    alone = [one for one in compared if one.way is None and one.difference.mean is not None]
    if alone:
        yield (
            f"{_named(alone)}: brackets, where there are any, cover new seeds alone; nothing is "
            f"bold."
        )


def _named(compared: Sequence[Comparison]) -> str:
    return ", ".join(" = ".join(one_line(a.arm.name) for a in one.arms) for one in compared)
