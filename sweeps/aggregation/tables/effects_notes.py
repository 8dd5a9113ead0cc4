"""What a table of effects says in words: its answer, its notes, and the names of levels."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from capsmodel.metrics import TEST_ERROR
from sweeps.aggregation.rendering.measured import shown_value
from sweeps.aggregation.rendering.table import PLUS_MINUS, number_text
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import evidence_needed
from sweeps.aggregation.results.factor_effects import Effect, Effects
from sweeps.aggregation.results.factors import TIMES, Factor, level_places
from sweeps.aggregation.statistics.added_seeds import fewest_seeds
from sweeps.aggregation.statistics.contrasts import ABSENT, Term
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS
from sweeps.aggregation.tables.ablation_lead import found_words
from sweeps.aggregation.tables.ablation_notes import diverged_notes, left_out_notes, same_row_notes
from sweeps.aggregation.tables.data_notes import OBJECTS_NOTE
from sweeps.aggregation.tables.machines import machine_notes
from sweeps.aggregation.tables.uncounted_cells import gap_notes, gap_text, reason_notes
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line, shortened

_MOST_NAMED = 5
_MOST_ALIASES = 3
_FIT_LONGEST = 400
ARROW = "\N{RIGHTWARDS ARROW}"
_LEVEL_LONGEST = 40


def effect_lead(effects: Effects) -> str:
    """Return what was found, and how small an effect could have been."""
    if not effects.crossed.arms:
        return "No trial has finished: there is nothing to fit."
    if not effects.estimated:
        return "Too few combinations have a result: no effect can be estimated."
    return " ".join(_verdicts(effects))


def _verdicts(effects: Effects) -> Iterator[str]:
    clear = [one for one in effects.estimated if one.is_significant]
    undecided = [one for one in effects.estimated if not one.is_significant]
    if clear:
        yield f"Found: {_named(clear, effects.factors)}."
    if undecided:
        what = "effect" if len(undecided) == 1 else "effects"
        yield f"Undecided ({len(undecided)} {what}): {_reach(undecided, effects)}."
    if lost := [one for one in effects.effects if not one.test]:
        yield f"Not estimated: {_named(lost, effects.factors)}."


def _named(effects: Sequence[Effect], factors: Sequence[Factor]) -> str:
    names = list[str]()
    for one in effects[:_MOST_NAMED]:
        name = named_effect(one, factors)
        mean = one.test.effect.mean if one.test and one.test.effect else None
        if (shown := shown_value(mean, TEST_ERROR)) is not None:
            name += f" ({number_text(shown, sign='+')} points)"
        names.append(shortened(name, 160))
    more = len(effects) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def named_effect(one: Effect, factors: Sequence[Factor]) -> str:
    """Return what an effect is called, with those that it cannot be told from."""
    name = _name(one.term, factors)
    if not one.aliases:
        return name
    others = [_name(term, factors) for term in one.aliases[:_MOST_ALIASES]]
    more = len(one.aliases) - len(others)
    return f"{name} (or {', '.join(others)}{f' and {more} more' if more > 0 else ''})"


def _name(term: Term, factors: Sequence[Factor]) -> str:
    return one_line(TIMES.join(factors[place].name for place in term))


def _reach(undecided: Sequence[Effect], effects: Effects) -> str:
    points = [
        (shown, shortened(_name(one.term, effects.factors), 60))
        for one in undecided
        if one.test and (shown := shown_value(one.test.detectable, TEST_ERROR)) is not None
    ]
    crossed = effects.crossed
    data = f"{crossed.num_images:,} images and {len(crossed.seeds)} seeds"
    is_enough = crossed.wrong is not None and len(crossed.seeds) >= FEWEST_SEEDS
    if not points and is_enough and crossed.has_few_errors:
        return f"with {data}, it is not known which effects would be found, as arms err too seldom"
    if not points and is_enough and effects.has_added_seeds:
        num = max(one.test.num_together for one in undecided if one.test)
        fewest = fewest_seeds(evidence_needed(num))
        return f"no effect can be tested, as after seeds were added it takes {fewest} at least"
    if not points:
        why = crossed.why_seeds_alone or "there are fewer than three seeds that differ"
        return f"no effect can be tested, as {why}"
    return f"with {data}, {found_words(points, 'an effect', 'effect')}"


def effect_notes(manifest: Manifest, arms: Sequence[ArmResults], effects: Effects) -> Iterator[str]:
    """Say how to read the figures and what they do not cover, the most needed first."""
    if effects.estimated:
        yield from reading_notes(manifest, effects)
    names = [named_effect(one, effects.factors) for one in effects.effects]
    is_partly_aliased = bool(manifest.design and manifest.design.is_partly_aliased)
    yield from fit_notes(effects, names, is_partly_aliased=is_partly_aliased)
    yield from diverged_notes(arms)
    yield from gap_notes(arms)
    yield from machine_notes(arms)
    yield (
        "Test errors are those of the last epoch. Selection never saw the test split: it is given "
        "validation figures only."
    )
    yield from same_row_notes(manifest)
    yield from left_out_notes(manifest)
    yield from reason_notes(arms)


def reading_notes(manifest: Manifest, effects: Effects) -> Iterator[str]:
    """Say what each column is, and of what its intervals and verdicts hold."""
    yield from _column_notes(effects)
    yield from _covered_notes(manifest, effects)


def _column_notes(effects: Effects) -> Iterator[str]:
    figures = [one for one in effects.estimated if one.contrast.effect is not None]
    if any(not one.is_interaction for one in figures):
        yield (
            "Points, of a setting: test error at its second level minus that at its first (the "
            "baseline's), the mean over all combinations of the other settings."
        )
    if any(one.is_interaction for one in figures):
        yield (
            "Points, of two settings (x): half of how far the effect of one at the other's second "
            "level is from its effect at the first. Added to a setting's own points it gives the "
            "effect at the other's second level; subtracted from them, that at the first."
        )
    if any(one.contrast.effect is None for one in effects.estimated):
        yield (
            "F (degrees of freedom, of the residual): of settings with more than two levels, with "
            "seeds as blocks. Their p also holds for new test images."
        )
    if any(one.share is not None for one in effects.estimated):
        yield "Squares: share of the sum of squares of all trials, seeds as blocks taken out."


def _covered_notes(manifest: Manifest, effects: Effects) -> Iterator[str]:
    crossed = effects.crossed
    if crossed.wrong is None:
        yield (
            f"{PLUS_MINUS} and p cover new seeds alone, with seeds as blocks, and nothing is bold, "
            f"as {crossed.why_seeds_alone}."
        )
    elif any(one.test and one.test.way for one in effects.estimated):
        images = "objects" if crossed.objects is not None else "images"
        yield (
            f"{PLUS_MINUS} (half of the 95 % interval) and p are for new seeds and new test "
            f"{images}, on one split; not "
            f"for new training images or other data. Bold: holds for all effects of the table "
            f"together (Holm)."
        )
        if crossed.objects is not None:
            yield OBJECTS_NOTE
    else:
        yield "Fewer than three seeds are common to the arms: there is no interval and no p."
    if effects.has_added_seeds:
        planned = ", ".join(str(seed) for seed in manifest.planned_seeds)
        yield (
            f"Seeds other than {planned} were added after looking: bold here needs half the level, "
            f"and evidence that repeated looks do not inflate (an e-process over seeds)."
        )


def fit_notes(effects: Effects, names: Sequence[str], *, is_partly_aliased: bool) -> Iterator[str]:
    """Say what the fit leaves out or cannot tell apart.

    Args:
        effects: Effects of a design.
        names: Name of each effect, for readers.
        is_partly_aliased: Whether a part of each alias enters an effect, as in a screen.
    """
    if not effects.crossed.arms:
        return
    if any(one.aliases for one in effects.effects):
        share = "the first and a part of each other" if is_partly_aliased else "all of them"
        yield (
            f"(or ...): this design cannot distinguish these effects. The row is of {share} "
            f"together; it is the first one's alone only if the others do nothing."
        )
    yield from _gap_notes(effects)
    yield from _lost_notes(effects, names)
    yield from _spread_notes(effects, names)


def _gap_notes(effects: Effects) -> Iterator[str]:
    crossed = effects.crossed
    if crossed.left_out:
        words = ", ".join(
            f"{one_line(arm.arm.name)} ({len(arm.counted)} of {len(arm.trials)} finished: "
            f"{gap_text(arm)})"
            for arm in crossed.left_out
        )
        yield shortened(f"Left out of the fit, as too few seeds finished: {words}.", _FIT_LONGEST)
    spare = {seed for arm in crossed.arms for seed in arm.counted} - {*crossed.seeds}
    if spare:
        seeds = ", ".join(str(seed) for seed in sorted(spare))
        yield f"Seeds that not all of these arms have are left out: {seeds}."
    if not effects.is_whole:
        yield (
            "Not every combination has a result, so the fit is unbalanced: each effect is what it "
            "adds to all others but its own interactions (type II sums of squares)."
        )
    levels = level_places(crossed.arms, effects.factors)
    for place, factor in enumerate(effects.factors):
        without = int((levels[:, place] == ABSENT).sum())
        if without:
            yield (
                f"{one_line(factor.name)} does not exist in {without} of {len(levels)} arms: its "
                f"effect is that in the others."
            )


def _lost_notes(effects: Effects, names: Sequence[str]) -> Iterator[str]:
    lost = [
        name for name, one in zip(names, effects.effects, strict=True) if not one.contrast.degrees
    ]
    if lost:
        yield shortened(
            f"Cannot be estimated, as the combinations that would distinguish them from others "
            f"have no result or do not exist: {', '.join(lost)}.",
            _FIT_LONGEST,
        )
    for name, one in zip(names, effects.effects, strict=True):
        if 0 < one.contrast.degrees < one.contrast.num_wanted:
            yield (
                f"{name}: only {one.contrast.degrees} of {one.contrast.num_wanted} degrees of "
                f"freedom can be estimated."
            )


def _spread_notes(effects: Effects, names: Sequence[str]) -> Iterator[str]:
    alike = [
        name
        for name, one in zip(names, effects.effects, strict=True)
        if one.test and one.test.way and not one.test.has_spread
    ]
    if alike:
        yield shortened(
            f"{', '.join(alike)}: all seeds give exactly the same, which proves nothing: there is "
            f"no verdict.",
            _FIT_LONGEST,
        )


def change_words(levels: Sequence[Any]) -> str:
    """Return what varies: `dynamic → uniform` of two levels, `1, 2, 3` of more."""
    words = level_words(levels)
    return f" {ARROW} ".join(words) if len(words) == 2 else ", ".join(words)


def level_words(levels: Sequence[Any]) -> tuple[str, ...]:
    """Return each level in words, a part by its kind and by what sets it apart from others of it.

    Args:
        levels: Levels of one factor, as plain JSON values.
    """
    return tuple(shortened(_words(level, levels), _LEVEL_LONGEST) for level in levels)


def _words(level: Any, levels: Sequence[Any]) -> str:
    if isinstance(level, Mapping):
        return _part_words(cast(Mapping[str, Any], level), levels)
    if isinstance(level, bool):
        return str(level).lower()
    if isinstance(level, list | tuple):
        return ", ".join(_words(one, ()) for one in cast(Sequence[Any], level)) or "none"
    return "none" if level is None else one_line(str(level))


def _part_words(part: Mapping[str, Any], levels: Sequence[Any]) -> str:
    kind = part.get("kind")
    parts = [cast(Mapping[str, Any], level) for level in levels if isinstance(level, Mapping)]
    alike = [other for other in parts if other.get("kind") == kind]
    apart = [
        f"{name} {_words(value, ())}"
        for name, value in part.items()
        if name != "kind" and any(other.get(name) != value for other in alike)
    ]
    words = ", ".join(apart)
    if kind is None:
        return words
    return f"{kind} ({words})" if words else str(kind)


def is_off(level: Any) -> bool:
    """Return whether a level says that something is not there."""
    if isinstance(level, Mapping):
        return cast(Mapping[str, Any], level).get("kind") == "none"
    return level is None or level is False or level == "none"
