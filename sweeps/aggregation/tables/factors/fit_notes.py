"""What a reader has to know of the fit behind effects: aliases, gaps, and what was not there."""

from collections.abc import Iterator, Sequence

from sweeps.aggregation.results.effects.effects import Effects
from sweeps.aggregation.results.effects.factors import level_places
from sweeps.aggregation.statistics.contrasts import ABSENT
from sweeps.aggregation.tables.uncounted_cells import gap_text
from sweeps.records.plain_text import one_line, shortened

_LONGEST = 400


def fit_notes(found: Effects, names: Sequence[str], *, is_partly_aliased: bool) -> Iterator[str]:
    """Say what the fit leaves out or cannot tell apart.

    Args:
        found: Effects of a design.
        names: Of each effect, for readers.
        is_partly_aliased: Whether a part of each alias enters an effect, as in a screen.
    """
    if not found.crossed.arms:
        return
    if any(one.aliases for one in found.effects):
        share = "the first and a part of each other" if is_partly_aliased else "all of them"
        yield (
            f"(or ...): this design cannot tell these effects apart. The row is of {share} "
            f"together; it is the first one's alone only where the others do nothing."
        )
    yield from _gap_notes(found)
    yield from _lost_notes(found, names)
    yield from _spread_notes(found, names)


def _gap_notes(found: Effects) -> Iterator[str]:
    crossed = found.crossed
    if crossed.left_out:
        words = ", ".join(
            f"{one_line(arm.arm.name)} ({len(arm.counted)} of {len(arm.trials)} finished: "
            f"{gap_text(arm)})"
            for arm in crossed.left_out
        )
        yield shortened(f"Left out of the fit, for want of seeds: {words}.", _LONGEST)
    spare = {seed for arm in crossed.arms for seed in arm.counted} - {*crossed.seeds}
    if spare:
        seeds = ", ".join(str(seed) for seed in sorted(spare))
        yield f"Seeds that not all of these arms have are left out: {seeds}."
    if not found.is_whole:
        yield (
            "Not every combination is there, so that the fit is unbalanced: each effect is what it "
            "adds to all others but its own interactions (type II sums of squares)."
        )
    levels = level_places(crossed.arms, found.factors)
    for place, factor in enumerate(found.factors):
        without = int((levels[:, place] == ABSENT).sum())
        if without:
            yield (
                f"{one_line(factor.name)} does not exist in {without} of {len(levels)} arms: its "
                f"effect is that in the others."
            )


def _lost_notes(found: Effects, names: Sequence[str]) -> Iterator[str]:
    lost = [
        name for name, one in zip(names, found.effects, strict=True) if not one.contrast.degrees
    ]
    if lost:
        yield shortened(
            f"Cannot be estimated, as the combinations that would tell them from others have no "
            f"result or cannot be: {', '.join(lost)}.",
            _LONGEST,
        )
    for name, one in zip(names, found.effects, strict=True):
        if 0 < one.contrast.degrees < one.contrast.num_wanted:
            yield (
                f"{name}: only {one.contrast.degrees} of {one.contrast.num_wanted} degrees of "
                f"freedom can be estimated."
            )


def _spread_notes(found: Effects, names: Sequence[str]) -> Iterator[str]:
    alike = [
        name
        for name, one in zip(names, found.effects, strict=True)
        if one.weighed and one.weighed.way and not one.weighed.has_spread
    ]
    if alike:
        yield shortened(
            f"{', '.join(alike)}: all seeds say exactly the same, which is no proof of anything: "
            f"there is no verdict.",
            _LONGEST,
        )
