"""Which maker makes which kind of declared table or figure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from search_spaces.tables import DeclaredTable, OwnTable, kind_of
from sweeps.aggregation.makers.curves import make_curves
from sweeps.aggregation.makers.designs import make_ablation, make_components, make_effects
from sweeps.aggregation.makers.evaluations import make_evaluations
from sweeps.aggregation.makers.grid import make_grid
from sweeps.aggregation.makers.own import make_own
from sweeps.aggregation.makers.published import make_published
from sweeps.aggregation.makers.results import Results
from sweeps.aggregation.makers.searches import (
    make_confirmation,
    make_front,
    make_sensitivity,
    sensitivity_headline,
)
from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.rendering.table import Table

_STILL_CHOOSING = "The arms are still being chosen: nothing is compared yet."


def _whole(table: Table) -> Table:
    return table


@dataclass(frozen=True)
class Maker:
    """What makes the tables and figures of one kind.

    Attributes:
        make: Turns a declaration of the kind and the sweep's results into a section.
        headline: What a terminal is shown of the first such table of a sweep; None where the kind
            has no claim to be shown before others.
    """

    make: Callable[[Any, Results], Section]
    headline: Callable[[Table], Table] | None = None


MAKERS: Mapping[str, Maker] = {
    "ablation": Maker(make_ablation),
    "front": Maker(make_front, headline=_whole),
    "confirmation": Maker(make_confirmation, headline=_whole),
    "sensitivity": Maker(make_sensitivity, headline=sensitivity_headline),
    "curves": Maker(make_curves),
    "published": Maker(make_published),
    "grid": Maker(make_grid),
    "evaluations": Maker(make_evaluations),
    "effects": Maker(make_effects, headline=_whole),
    "components": Maker(make_components),
}


def make(
    declared: DeclaredTable, results: Results, own: Sequence[type[OwnTable]] = ()
) -> Section | None:
    """Return what a declared table or figure becomes, None where its kind is unknown.

    Args:
        declared: As the manifest holds it.
        results: What it is made from.
        own: Classes of a user's own kinds.

    Raises:
        BadInput: If the sweep's plan has none such, or its manifest cannot make one.
        StoreUnreachable: If the tracking store does not answer.
    """
    if results.manifest.is_choosing:
        return Section(declared.name, declared.kind, notes=(_STILL_CHOOSING,))
    if built_in := MAKERS.get(declared.kind):
        return built_in.make(declared, results)
    for kind in own:
        if kind_of(kind) == declared.kind:
            return make_own(kind, declared, results)
    return None


def headlines(sections: Sequence[Section]) -> tuple[Table, ...]:
    """Return what a terminal is shown of a report: its headlines, or else its first table."""
    first = {section.kind: section.tables[0] for section in reversed(sections) if section.tables}
    shown = (
        maker.headline(first[kind])
        for kind, maker in MAKERS.items()
        if maker.headline and kind in first
    )
    return tuple(shown) or tuple(table for section in sections for table in section.tables)[:1]
