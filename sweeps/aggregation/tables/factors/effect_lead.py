"""The answer of a table of effects: what was found, what is undecided, and from which size on."""

from collections.abc import Iterator, Sequence

from capsmodel.metrics import TEST_ERROR
from sweeps.aggregation.rendering.measured import detectable_text, shown_value
from sweeps.aggregation.rendering.table import number_text
from sweeps.aggregation.results.effects.effects import Effect, Effects
from sweeps.aggregation.results.effects.factors import TIMES, Factor
from sweeps.aggregation.statistics.contrasts import Term
from sweeps.records.plain_text import one_line, shortened

_MOST_NAMED = 5
_MOST_ALIASES = 3


def named_effect(one: Effect, factors: Sequence[Factor]) -> str:
    """Return what an effect is called, with those that it cannot be told from."""
    name = _name(one.term, factors)
    if not one.aliases:
        return name
    others = [_name(term, factors) for term in one.aliases[:_MOST_ALIASES]]
    more = len(one.aliases) - len(others)
    return f"{name} (or {', '.join(others)}{f' and {more} more' if more > 0 else ''})"


def effect_lead(found: Effects) -> str:
    """Return what was found, and how small an effect could have been."""
    if not found.crossed.arms:
        return "No trial has finished: there is nothing to fit."
    if not found.estimated:
        return "Too few combinations have a result: no effect can be estimated."
    return " ".join(_verdicts(found))


def _verdicts(found: Effects) -> Iterator[str]:
    clear = [one for one in found.estimated if one.is_found]
    undecided = [one for one in found.estimated if not one.is_found]
    if clear:
        yield f"Found: {_named(clear, found.factors)}."
    if undecided:
        what = "effect" if len(undecided) == 1 else "effects"
        yield f"Undecided ({len(undecided)} {what}): {_reach(undecided, found)}."
    if lost := [one for one in found.effects if not one.weighed]:
        yield f"Not estimated: {_named(lost, found.factors)}."


def _reach(undecided: Sequence[Effect], found: Effects) -> str:
    points = [
        shown
        for one in undecided
        if one.weighed and (shown := shown_value(one.weighed.detectable, TEST_ERROR)) is not None
    ]
    crossed = found.crossed
    if not points:
        why = crossed.why_seeds_alone or "there are fewer than three seeds that differ"
        return f"no effect can be tested, as {why}"
    data = f"{crossed.num_images:,} images and {len(crossed.seeds)} seeds"
    low, high = detectable_text(min(points)), detectable_text(max(points))
    if low.startswith("over"):
        return f"{data} show only effects of {low} points"
    from_on = low if low == high else f"{low} to {high}"
    return f"{data} show effects from about {from_on} points on, and smaller ones may be there"


def _named(effects: Sequence[Effect], factors: Sequence[Factor]) -> str:
    names = list[str]()
    for one in effects[:_MOST_NAMED]:
        name = named_effect(one, factors)
        mean = one.weighed.effect.mean if one.weighed and one.weighed.effect else None
        if (shown := shown_value(mean, TEST_ERROR)) is not None:
            name += f" ({number_text(shown, sign='+')} points)"
        names.append(shortened(name, 160))
    more = len(effects) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def _name(term: Term, factors: Sequence[Factor]) -> str:
    return one_line(TIMES.join(factors[place].name for place in term))
