"""What a table of effects says in words: its answer and its notes."""

from collections.abc import Iterator, Sequence

from capsmodel.metrics import TEST_ERROR
from sweeps.aggregation.rendering.measured import shown_value
from sweeps.aggregation.rendering.table import PLUS_MINUS, Needed, number_text
from sweeps.aggregation.results.arms import ArmResults, gap_text
from sweeps.aggregation.results.comparisons import evidence_needed
from sweeps.aggregation.results.coverage import images_text
from sweeps.aggregation.results.design_sentences import left_out_sentences, same_row_sentences
from sweeps.aggregation.results.factor_effects import Effect, Effects
from sweeps.aggregation.results.factors import TIMES, level_places
from sweeps.aggregation.statistics.added_seeds import fewest_seeds
from sweeps.aggregation.statistics.contrasts import ABSENT, Term
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS
from sweeps.aggregation.tables import notes
from sweeps.aggregation.tables.reach_sentences import EFFECTS, is_found, next_table_sentences
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import listed, one_line, shortened

_MOST_NAMED = 5
_MOST_ALIASES = 3
_FIT_LONGEST = 400


def effect_lead(effects: Effects) -> str:
    """Return what was found, what is left open, and what a next table would find."""
    if not effects.crossed.arms:
        return "No trial has finished: there is nothing to fit."
    if not effects.estimated:
        return "Too few combinations have a result: no effect can be estimated."
    return " ".join(_verdicts(effects))


def _verdicts(effects: Effects) -> Iterator[str]:
    clear = [effect for effect in effects.estimated if effect.is_significant]
    undecided = [effect for effect in effects.estimated if not effect.is_significant]
    if clear:
        yield f"Found: {_named(clear, effects)}."
    if undecided:
        count = f"{len(undecided)} effect{'s' * (len(undecided) > 1)}"
        tests = [effect.test for effect in undecided if effect.test]
        yield from notes.open_sentences(
            f"Undecided ({count})",
            [test.simultaneous if test.way else None for test in tests],
            list(_next_table(undecided, effects)),
            EFFECTS,
            num_together=max(test.num_together for test in tests),
        )
    if lost := [effect for effect in effects.effects if not effect.test]:
        yield f"Not estimated: {_named(lost, effects)}."


def _named(some: Sequence[Effect], effects: Effects) -> str:
    names = list[str]()
    for effect in some:
        name = effect_name(effect, effects)
        mean = effect.test.effect.mean if effect.test and effect.test.effect else None
        if (shown := shown_value(mean, TEST_ERROR)) is not None:
            name += f" ({number_text(shown, sign='+')} points)"
        names.append(shortened(name, 160))
    return listed(names, _MOST_NAMED)


def effect_name(effect: Effect, effects: Effects) -> str:
    """Return an effect's name, with those of its aliases."""
    name, others = _name(effect.term, effects), [_name(term, effects) for term in effect.aliases]
    return f"{name} (or {listed(others, _MOST_ALIASES)})" if others else name


def _name(term: Term, effects: Effects) -> str:
    return one_line(TIMES.join(effects.factors[place].name for place in term))


def _next_table(undecided: Sequence[Effect], effects: Effects) -> Iterator[str]:
    """Yield what a next table would find of these effects, or why it is not known."""
    reaches = [o.test.reach for o in undecided if o.test and o.test.reach]
    crossed = effects.crossed
    data = f"{crossed.num_images:,} images and {len(crossed.seeds)} seeds"
    is_enough = crossed.wrong is not None and len(crossed.seeds) >= FEWEST_SEEDS
    if reaches:
        yield from next_table_sentences(reaches, data, EFFECTS)
    elif is_enough and crossed.has_few_errors:
        yield (
            f"It is not known what a next table like this one ({data}) would find, as arms err "
            f"too seldom."
        )
    elif is_enough and effects.has_added_seeds:
        num = max(effect.test.num_together for effect in undecided if effect.test)
        fewest = fewest_seeds(evidence_needed(num))
        yield f"No effect can be tested, as after seeds were added it takes {fewest} at least."
    else:
        why = crossed.why_seeds_alone or "there are fewer than three seeds that differ"
        yield f"No effect can be tested, as {why}."


def effect_notes(manifest: Manifest, arms: Sequence[ArmResults], effects: Effects) -> Iterator[str]:
    """Yield how to read the figures and what they do not cover, the most needed first."""
    if effects.estimated:
        yield from _columns(effects)
        yield from _covered(manifest, effects)
    if effects.crossed.arms:
        is_partly_aliased = bool(manifest.design and manifest.design.is_partly_aliased)
        yield from _aliases(effects, is_partly_aliased=is_partly_aliased)
        yield from _gaps(effects)
        yield from _lost(effects)
    yield from notes.diverged_notes(arms)
    yield from notes.gap_notes(arms)
    yield from notes.machine_notes(arms)
    yield notes.tested_note(arms, are_looked_at=False)
    yield from same_row_sentences(manifest)
    yield from left_out_sentences(manifest)
    yield from notes.reason_notes(arms)


def _columns(effects: Effects) -> Iterator[str]:
    figures = [effect for effect in effects.estimated if effect.contrast.effect is not None]
    if any(not effect.is_interaction for effect in figures):
        yield (
            "Points, of a setting: test error at its second level minus that at its first (the "
            "baseline's), the mean over all combinations of the other settings."
        )
    if any(effect.is_interaction for effect in figures):
        yield (
            "Points, of two settings (x): half of how far the effect of one at the other's second "
            "level is from its effect at the first. Added to a setting's own points it gives the "
            "effect at the other's second level; subtracted from them, that at the first."
        )
    if len(figures) < len(effects.estimated):
        yield (
            "F (degrees of freedom, of the residual): of settings with more than two levels, with "
            "seeds as blocks. Their p also holds for new test images."
        )
    if any(effect.share is not None for effect in effects.estimated):
        yield "Squares: share of the sum of squares of all trials, seeds as blocks taken out."


def _covered(manifest: Manifest, effects: Effects) -> Iterator[str]:
    crossed = effects.crossed
    if crossed.wrong is None:
        yield Needed(
            f"{PLUS_MINUS} and p cover new seeds alone, with seeds as blocks, and nothing is bold, "
            f"as {crossed.why_seeds_alone}."
        )
    elif any(effect.test and effect.test.way for effect in effects.estimated):
        images = "objects" if crossed.objects is not None else images_text(crossed.arms)
        yield Needed(
            f"{PLUS_MINUS} (half of the 95 % interval) and p are for new seeds and new test "
            f"{images}, on one split; not for new training images or other data. Bold: p < .05 "
            f"over all effects of the table together (Holm)."
        )
        near = [
            effect_name(effect, effects)
            for effect in effects.estimated
            if effect.is_significant and effect.test and effect.test.reach
            for shown in [effect.test.effect]
            if shown and shown.mean and not is_found(effect.test.reach, shown.mean)
        ]
        if near:
            yield notes.near_limit_note(listed(near, _MOST_NAMED))
        if crossed.objects is not None:
            yield notes.OBJECTS_NOTE
    else:
        yield "Fewer than three seeds are common to the arms: there is no interval and no p."
    if effects.has_added_seeds:
        yield Needed(notes.added_text(manifest))


def _aliases(effects: Effects, *, is_partly_aliased: bool) -> Iterator[str]:
    if any(effect.aliases for effect in effects.effects):
        share = "the first and a part of each other" if is_partly_aliased else "all of them"
        yield (
            f"(or ...): this design cannot distinguish these effects. The row is of {share} "
            f"together; it is the first one's alone only if the others do nothing."
        )


def _gaps(effects: Effects) -> Iterator[str]:
    crossed = effects.crossed
    if crossed.left_out:
        names = ", ".join(
            f"{arm.shown_name} ({len(arm.counted)} of {len(arm.trials)} finished: {gap_text(arm)})"
            for arm in crossed.left_out
        )
        yield shortened(f"Left out of the fit, as too few seeds finished: {names}.", _FIT_LONGEST)
    spare = {seed for arm in crossed.arms for seed in arm.counted} - {*crossed.seeds}
    if spare:
        seeds = ", ".join(map(str, sorted(spare)))
        yield f"Seeds that not all of these arms have are left out: {seeds}."
    if not effects.is_whole:
        yield (
            "Not every combination has a result, so the fit is unbalanced: each effect is what it "
            "adds to all others but its own interactions (type II sums of squares)."
        )
    levels = level_places(crossed.arms, effects.factors)
    for factor, column in zip(effects.factors, levels.T, strict=True):
        if without := int((column == ABSENT).sum()):
            yield (
                f"{one_line(factor.name)} does not exist in {without} of {len(levels)} arms: its "
                f"effect is that in the others."
            )


def _lost(effects: Effects) -> Iterator[str]:
    names = [(effect_name(effect, effects), effect) for effect in effects.effects]
    if lost := [name for name, effect in names if not effect.contrast.degrees]:
        yield shortened(
            f"Cannot be estimated, as the combinations that would distinguish them from others "
            f"have no result or do not exist: {', '.join(lost)}.",
            _FIT_LONGEST,
        )
    for name, effect in names:
        degrees, num_wanted = effect.contrast.degrees, effect.contrast.num_wanted
        if 0 < degrees < num_wanted:
            yield f"{name}: only {degrees} of {num_wanted} degrees of freedom can be estimated."
    alike = [
        name
        for name, effect in names
        if effect.test and effect.test.way and not effect.test.has_spread
    ]
    if alike:
        yield shortened(
            f"{', '.join(alike)}: all seeds give exactly the same: no effect can be shown.",
            _FIT_LONGEST,
        )
