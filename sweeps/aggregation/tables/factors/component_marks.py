"""Marks of what is in which arm: a component, or the level of a factor."""

from collections.abc import Iterator, Mapping, Sequence

from sweeps.aggregation.results.effects.factors import Factor, factors_of
from sweeps.aggregation.statistics.contrasts import ABSENT
from sweeps.aggregation.tables.factors.level_words import is_off, level_words
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest

CHECK = "\N{CHECK MARK}"
NONE = "\N{EN DASH}"

Marks = Mapping[str, Sequence[str]]


def component_marks(manifest: Manifest) -> tuple[tuple[str, ...], Marks]:
    """Return the headings of the components, and each arm's marks below them: arm -> marks.

    Raises:
        BadInput: If the sweep's design has neither components nor factors.
    """
    design = manifest.design
    if design and design.components:
        headings = design.components.get(manifest.baseline, ())
        return headings, {
            arm.name: [
                CHECK if one in design.components.get(arm.name, ()) else NONE for one in headings
            ]
            for arm in manifest.arms
        }
    if not design or not design.factors:
        raise BadInput(
            f"The sweep '{manifest.sweep}' does not say which component is in which arm: leave the "
            f"components table out, or declare a LeaveOneOut or a FullFactorial."
        )
    factors = factors_of(manifest)
    words = [_level_marks(factor) for factor in factors]
    return tuple(factor.name for factor in factors), {
        arm.name: [
            "" if (place := factor.place(arm.changes)) == ABSENT else own[place]
            for factor, own in zip(factors, words, strict=True)
        ]
        for arm in manifest.arms
    }


def plain_mark(mark: str) -> str | bool:
    """Return what programs read for a mark."""
    return {CHECK: True, NONE: False}.get(mark, mark)


def mark_notes(marks: Marks) -> Iterator[str]:
    """Say what the marks mean."""
    used = {mark for row in marks.values() for mark in row}
    if used & {CHECK, NONE}:
        yield f"{CHECK}: it is there; {NONE}: it is not."
    if "" in used:
        yield "Nothing stands where the setting does not exist."


def _level_marks(factor: Factor) -> Sequence[str]:
    """Return a mark a level where a factor is there or not, else its levels in words."""
    words = level_words(factor.levels)
    are_off = [is_off(level) for level in factor.levels]
    if sum(are_off) != 1:
        return words
    if len(are_off) == 2:
        return [NONE if off else CHECK for off in are_off]
    return [NONE if off else text for off, text in zip(are_off, words, strict=True)]
