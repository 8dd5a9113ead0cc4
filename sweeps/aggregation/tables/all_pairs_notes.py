"""The lines above and below a table of all pairs: what letters, ± and bold say, and what not."""

from collections.abc import Iterator, Sequence

from capsmodel.metrics import TEST_ERROR
from sweeps.aggregation.rendering.measured import shown_value
from sweeps.aggregation.rendering.table import PLUS_MINUS, Needed
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.results.coverage import covered, not_covered, split_sentence
from sweeps.aggregation.results.pair_comparisons import ArmPairs, PairComparison
from sweeps.aggregation.tables import notes
from sweeps.aggregation.tables.columns import is_of_objects
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import points_text

EQUIVALENT = "eq."
"""Behind the difference of two arms that are equivalent, and in the note that says so."""


def all_pairs_lead(manifest: Manifest, pairs: ArmPairs) -> str:
    """Return how many pairs differ, and how far the others may."""
    compared = [pair for pair in pairs.pairs.values() if _is_shown(pair)]
    if not compared:
        return "No two arms have results: there is nothing to compare."
    parts = [
        ("Different", [pair for pair in compared if pair.is_different]),
        (_within(manifest), [pair for pair in compared if pair.verdict == "equivalent"]),
    ]
    counts = [f"{text}: {len(some)} of {_pairs(len(compared))}." for text, some in parts if some]
    undecided = [pair for pair in compared if pair.verdict == "undecided"]
    return " ".join([*counts, *_undecided(undecided, len(compared))])


def _undecided(pairs: Sequence[PairComparison], num: int) -> Iterator[str]:
    """Yield how many pairs are undecided, and how far those that are known best may differ."""
    if not pairs:
        return
    count = f"Undecided: {len(pairs)} of {_pairs(num)}"
    ends = [
        abs(end)
        for pair in pairs
        if pair.simultaneous
        for end in (pair.simultaneous.low, pair.simultaneous.high)
        if end is not None
    ]
    if not ends:
        reasons = "; ".join(dict.fromkeys(pair.why_seeds_alone for pair in pairs))
        yield f"{count}{f', as {reasons}' * bool(reasons)}."
        return
    most = shown_value(max(ends), TEST_ERROR) or 0.0
    yield f"{count}, whose intervals end within {most:.2f} points of 0."


def all_pairs_notes(manifest: Manifest, pairs: ArmPairs, ablation: str) -> Iterator[str]:
    """Yield what the figures cover and what they do not, the most needed first.

    Args:
        manifest: The sweep's margin, planned seeds and splits.
        pairs: Arms and their comparisons.
        ablation: Name of the ablation table of the same arms.
    """
    arms = [arm for group in pairs.groups for arm in group]
    compared = [*pairs.pairs.values()]
    yield from notes.ill_notes(arms)
    yield from _covered(manifest, compared)
    yield from _shared(pairs)
    if sentence := split_sentence(manifest):
        yield sentence
    if any(is_of_objects(pair) for pair in compared):
        yield notes.OBJECTS_NOTE
    yield from notes.seeds_alone_notes(compared)
    yield from notes.added_notes(manifest, compared)
    if any(pair.slack != (0.0, 0.0) for pair in compared):
        yield f"Bold allows for what tuning has left open: see {ablation}.md."
    yield from notes.diverged_notes(arms)
    yield from notes.judged_notes(compared)
    yield from _failed(arms)
    yield from notes.gap_notes(arms)
    yield from notes.target_notes(arms)
    yield from notes.identical_notes(arms)
    yield f"What else to know of these trials is below the table of arms: see {ablation}.md."


def _covered(manifest: Manifest, compared: Sequence[Comparison]) -> Iterator[str]:
    tested = [pair for pair in compared if pair.way]
    yield Needed(
        "A cell is the error of its row minus that of the arm with the number of its column, in "
        "points. Arms that share a letter are not shown to differ, which does not mean that they "
        "are equal."
    )
    if not tested:
        return
    num = max(pair.num_together for pair in tested)
    yield Needed(
        f"{PLUS_MINUS}: half of the interval that holds for all {_pairs(num)} at once, in 95 % of "
        f"tables, for {covered(tested)}; {not_covered(tested)}."
    )
    by = "Tukey" if any(pair.way.shared for pair in tested if pair.way) else "Bonferroni"
    margin = f" {EQUIVALENT} is {notes.margin_text(manifest)}"
    yield Needed(
        f"Bold: different, for all pairs together ({by}). These verdicts are a family of their "
        f"own: of a pair with the baseline the other table may say otherwise, as it makes fewer "
        f"comparisons.{margin * (manifest.margin_points is not None)}"
    )


def _shared(pairs: ArmPairs) -> Iterator[str]:
    """Yield that pairs share their spread, and which arms are held to their own seeds as well."""
    shared = {
        place: pair.way.shared
        for place, pair in pairs.pairs.items()
        if pair.way and pair.way.shared
    }
    if not shared:
        return
    apart = [
        " = ".join(arm.shown_name for arm in group)
        for place, group in enumerate(pairs.groups)
        if (of_arm := [way.is_apart for pair, way in shared.items() if place in pair])
        and all(of_arm)
    ]
    precaution = " As a precaution, pairs with these arms must also hold by their own seeds: "
    yield (
        f"The spread over seeds is estimated from all pairs together, as few seeds of two arms say "
        f"little.{(precaution + ', '.join(apart) + '.') * bool(apart)}"
    )


def _failed(arms: Sequence[ArmResults]) -> Iterator[str]:
    counts = {arm.shown_name: arm.count("failed") for arm in arms}
    if len({*counts.values()}) > 1:
        numbers = ", ".join(f"{name} ({num})" for name, num in counts.items() if num)
        yield (
            f"Failed trials: {numbers}. Where one arm of a pair has more of them, bold also holds "
            f"if they count as networks that guess."
        )


def _is_shown(pair: PairComparison) -> bool:
    return pair.difference.mean is not None or pair.is_different


def _within(manifest: Manifest) -> str:
    return f"Equivalent within {PLUS_MINUS}{points_text(manifest.margin_points or 0.0)}"


def _pairs(number: int) -> str:
    return f"{number} pair{'s' * (number != 1)}"
