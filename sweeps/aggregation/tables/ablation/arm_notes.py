"""What a reader has to know of the arms and seeds: those that are one, added, trained longer."""

from collections.abc import Iterator, Sequence

from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.results.identical import grouped
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line, shortened

_MOST_NAMED = 3


def same_row_notes(manifest: Manifest) -> Iterator[str]:
    """Say which arms stand for rows of the design that are the same configuration."""
    same = manifest.design.same if manifest.design else {}
    for name, rows in list(same.items())[:_MOST_NAMED]:
        yield shortened(
            f"{one_line(name)} stands for {' and '.join(map(one_line, rows))} of the design, which "
            f"{'is' if len(rows) == 1 else 'are'} the same configuration.",
            400,
        )
    if (more := len(same) - _MOST_NAMED) > 0:
        word = "arms stand" if more > 1 else "arm stands"
        yield f"{more} more {word} for rows of the design that are the same configuration."


def path_notes(manifest: Manifest) -> Iterator[str]:
    """Say how the rows of a path follow each other, and what their order rests on."""
    if manifest.plan and manifest.plan.adds_up:
        seeds = ", ".join(map(str, manifest.choosing_seeds))
        yield shortened(
            f"A path: each row has the changes of all rows above it and one more, the best on "
            f"validation of those left (seeds {seeds}, which are in no row). The order is one that "
            f"was found greedily; differences are from the baseline, not from the row above.",
            600,
        )


def added_notes(manifest: Manifest, compared: Sequence[Comparison]) -> Iterator[str]:
    """Say that seeds were added after looking, and what a verdict then needs."""
    if any(one.log_e is not None for one in compared):
        planned = ", ".join(str(seed) for seed in manifest.planned_seeds)
        yield (
            f"Seeds other than {planned} were added after looking: bold here needs half the level, "
            f"and evidence that repeated looks do not inflate (an e-process over seeds)."
        )


def identical_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Say which arms stand in one row, as their results are the same."""
    for group in grouped(arms):
        if len(group) > 1:
            names = " and ".join(one_line(arm.arm.name) for arm in group)
            yield f"{names}: losses and errors of the last epoch are exactly equal on every seed."


def length_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Say which arms were trained for other numbers of epochs than the baseline, as declared."""
    baseline = next((arm for arm in arms if arm.is_baseline), None)
    if baseline is None:
        return
    own = _epochs(baseline)
    others = [
        f"{one_line(arm.arm.name)} {_epochs(arm)}"
        for arm in arms
        if arm.arm.config.get("stopping") != baseline.arm.config.get("stopping")
        and _epochs(arm) not in {"", own}
    ]
    if others and own:
        yield shortened(f"Epochs differ: the baseline has {own}, {', '.join(others)}.", 400)


def _epochs(arm: ArmResults) -> str:
    found = sorted({trial.epochs for trial in arm.counted.values()})
    return "" if not found else f"{found[0]}" if len(found) == 1 else f"{found[0]} to {found[-1]}"
