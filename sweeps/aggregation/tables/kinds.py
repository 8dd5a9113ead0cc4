"""Which maker makes which kind of declared table or figure, a user's own kinds included."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from search_spaces.tables import CustomTable, DeclaredTable, kind_of
from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.rendering.table import Table
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.tables.all_pairs_table import make_ablation_with_pairs
from sweeps.aggregation.tables.components_table import make_components
from sweeps.aggregation.tables.confirmation_table import make_confirmation
from sweeps.aggregation.tables.coordinate_figure import make_curve
from sweeps.aggregation.tables.curves_figure import make_curves
from sweeps.aggregation.tables.effects_table import make_effects
from sweeps.aggregation.tables.evaluations_table import make_evaluations
from sweeps.aggregation.tables.front_table import make_front
from sweeps.aggregation.tables.grid_table import make_grid
from sweeps.aggregation.tables.published_table import make_published
from sweeps.aggregation.tables.sensitivity_table import make_sensitivity, sensitivity_headline
from sweeps.records.errors import BadInput
from sweeps.records.suggested_command import Advice, SuggestedCommand


def make_user_kind(kind: type[CustomTable], declared: DeclaredTable, results: Results) -> Section:
    """Return what the class of a user's own kind makes.

    Raises:
        BadInput: If the class does not take what the manifest holds, or makes no section.
    """
    try:
        table = kind.model_validate(declared.model_dump())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        raise BadInput(
            f"The table '{declared.name}' was declared otherwise than {kind.__name__} is now "
            f"({place}: {first['msg']}): give the file that the sweep was launched from."
        ) from error
    with chdir("."):  # a user's code may change to another
        section = table.make(results)
    if not isinstance(section, Section):
        raise BadInput(
            f"{kind.__name__}.make gave {type(section).__name__} for the table '{declared.name}': "
            f"it must give a sweeps.Section."
        )
    return section


def left_out(declared: DeclaredTable, sweep: str) -> Advice:
    """Return a sentence that names a table that is not made here, and how to get it."""
    return Advice(
        f"The table '{declared.name}' is left out, as its kind '{declared.kind}' is one of the "
        f"sweep's own file: give that, ",
        SuggestedCommand("report", "FILE.py"),
        f" (from Python sweeps.report('{sweep}', tables=[ITS CLASS])).",
    )


_STILL_CHOOSING = "The arms are still being chosen: nothing is compared yet."


def _whole(table: Table) -> Table:
    return table


@dataclass(frozen=True)
class Maker:
    """The maker of one kind of table or figure.

    Attributes:
        make: Turns a declaration of the kind and the sweep's results into a section.
        headline: What a terminal is shown of the first such table of a sweep; None where the kind
            has no claim to be shown before others.
    """

    make: Callable[[Any, Results], Section]
    headline: Callable[[Table], Table] | None = None


MAKERS: Mapping[str, Maker] = {
    "ablation": Maker(make_ablation_with_pairs),
    "front": Maker(make_front, headline=_whole),
    "confirmation": Maker(make_confirmation, headline=_whole),
    "sensitivity": Maker(make_sensitivity, headline=sensitivity_headline),
    "curves": Maker(make_curves),
    "published": Maker(make_published),
    "grid": Maker(make_grid),
    "evaluations": Maker(make_evaluations),
    "curve": Maker(make_curve),
    "effects": Maker(make_effects, headline=_whole),
    "components": Maker(make_components),
}


def make(
    declared: DeclaredTable, results: Results, classes: Sequence[type[CustomTable]] = ()
) -> Section | None:
    """Return the section of a declared table or figure, None where its kind is unknown.

    Args:
        declared: The declaration in the manifest.
        results: What it is made from.
        classes: Those of a user's own kinds.

    Raises:
        BadInput: If the sweep's plan has none such, or its manifest cannot make one.
        StoreUnreachable: If the tracking store does not answer.
    """
    if results.manifest.is_choosing:
        return Section(declared.name, declared.kind, notes=(_STILL_CHOOSING,))
    if built_in := MAKERS.get(declared.kind):
        return built_in.make(declared, results)
    for kind in classes:
        if kind_of(kind) == declared.kind:
            return make_user_kind(kind, declared, results)
    return None


def headlines(sections: Sequence[Section]) -> tuple[Table, ...]:
    """Return the tables of a report that a terminal shows.

    They are its headlines, else its first table, then those of all pairs of arms, which a sweep
    asks for, and the first evaluation that compares arms.
    """
    first = {section.kind: section.tables[0] for section in reversed(sections) if section.tables}
    shown = (
        maker.headline(first[kind])
        for kind, maker in MAKERS.items()
        if maker.headline and kind in first
    )
    tables = tuple(shown) or tuple(table for section in sections for table in section.tables)[:1]
    ablations = (section for section in sections if section.kind == "ablation")
    more = [table for section in ablations for table in section.tables[1:]]
    evaluated = first.get("evaluations")
    if evaluated is not None and evaluated.lead:
        more.append(evaluated)
    return (*tables, *(table for table in more if table not in tables))
