"""Means by level: what the arms with each level of a setting come to."""

from capsmodel.metrics import TEST_ERROR
from sweeps.aggregation.rendering.measured import shown_interval, value_cell
from sweeps.aggregation.rendering.table import (
    PLUS_MINUS,
    Cell,
    Column,
    Table,
    difference_cell,
    integer_cell,
    no_difference_cell,
)
from sweeps.aggregation.results.effects.effects import Effects
from sweeps.aggregation.results.effects.means import LevelMean, level_means
from sweeps.aggregation.tables.departures import with_departures
from sweeps.aggregation.tables.factors.level_words import level_words
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line

_ENDS = ("", "_low", "_high", "_num_seeds")
_COLUMNS = (
    Column("Setting", ("setting",), align="left"),
    Column("Level", ("level",), align="left"),
    Column("n", ("n",)),
    Column("Error %", ("mean_test_error_percent",)),
    Column("From the first level", tuple(f"difference_points{end}" for end in _ENDS)),
)


def means_table(manifest: Manifest, found: Effects, name: str) -> Table:
    """Return one row a level of each setting. Nothing is bold: verdicts stand with the effects.

    Args:
        manifest: Of a design of factors.
        found: Its effects.
        name: The table's.
    """
    table = Table(
        name=name,
        title=f"Effects {manifest.sweep}: mean test error by level",
        columns=_COLUMNS,
        rows=tuple(_row(found, one) for one in level_means(found)),
        notes=(
            "Error: mean over the n trials of all arms with this level and the seeds that all arms "
            "have.",
            f"From the first level: in points, as the model of the effects has it. {PLUS_MINUS}: "
            f"95 % of each alone, by which nothing is judged: verdicts stand in the table of "
            f"effects.",
        ),
    )
    return with_departures(manifest, table)


def _row(found: Effects, one: LevelMean) -> tuple[Cell, ...]:
    factor = found.factors[one.factor]
    words = level_words(factor.levels)[one.level]
    mean = Cell("", (None,)) if one.mean is None else value_cell(one.mean, TEST_ERROR)
    difference = no_difference_cell()
    if one.difference is not None:
        shown = shown_interval(one.difference, TEST_ERROR)
        difference = difference_cell(shown, shown.n)
    return (
        Cell(one_line(factor.name) if not one.level else "", (factor.path,)),
        Cell(words, (words,)),
        integer_cell(one.num_trials),
        mean,
        difference,
    )
