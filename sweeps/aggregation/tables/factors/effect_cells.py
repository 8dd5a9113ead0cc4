"""The rows of the table of effects as readers see them."""

from capsmodel.metrics import TEST_ERROR
from sweeps.aggregation.rendering.measured import p_cell, part_cell, shown_interval
from sweeps.aggregation.rendering.table import Cell, Column, mean_cell
from sweeps.aggregation.results.effects.effects import Effects
from sweeps.aggregation.results.effects.factors import term_name
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.aggregation.tables.factors.effect_lead import named_effect
from sweeps.aggregation.tables.factors.level_words import change_words

COLUMNS = (
    Column("Effect", ("effect",), align="left"),
    Column("Levels", ("levels",), align="left", hide_if_empty=True),
    Column("Points", ("points",), hide_if_empty=True),
    Column("F (degrees)", ("f",), hide_if_empty=True),
    Column("Squares (%)", ("sum_of_squares_percent",), hide_if_empty=True),
    Column("p", ("p",), hide_if_empty=True),
    Column("Holm p", ("adjusted_p",), hide_if_empty=True),
    Column("Verdict", ("verdict",), align="left"),
)


def effect_row(place: int, found: Effects) -> tuple[Cell, ...]:
    """Return the row of one effect, by its place among all."""
    one = found.effects[place]
    term = one.weighed
    levels = "" if one.is_interaction else change_words(found.factors[one.term[0]].levels)
    points = _points_cell(term.effect if term else None, is_bold=one.is_found)
    return (
        Cell(named_effect(one, found.factors), (term_name(one.term, found.factors),)),
        Cell(levels, (levels,)),
        points,
        _f_cell(place, found),
        Cell(part_cell(one.share).text if term else "", (one.share,)),
        p_cell(term.p_value if term else None),
        p_cell(one.adjusted_p),
        Cell(one.verdict, (one.verdict,), is_bold=one.is_found),
    )


def _points_cell(effect: Interval | None, *, is_bold: bool) -> Cell:
    if effect is None or effect.mean is None:
        return Cell("", (None,))
    shown = shown_interval(effect, TEST_ERROR)
    text = mean_cell(shown).text
    sign = "+" if (shown.mean or 0) > 0 and not text.startswith("0.00") else ""
    return Cell(f"{sign}{text}", (shown.mean,), is_bold=is_bold)


def _f_cell(place: int, found: Effects) -> Cell:
    """Return F with its degrees of freedom, of an effect that no one figure tells."""
    anova, one = found.anova, found.effects[place]
    value = anova.f_value(place)
    if one.contrast.effect is not None or value is None:
        return Cell("", (value,))
    return Cell(f"{value:.2f} ({one.contrast.degrees}, {anova.residual_degrees})", (value,))
