"""The pairs: what two settings explain together, beyond what each explains alone."""

from collections.abc import Iterator
from dataclasses import replace

from sweeps.aggregation.rendering.table import Cell, Column, Table, text_cell
from sweeps.aggregation.sensitivity.described import PairSensitivity
from sweeps.aggregation.sensitivity.pairs import NUM_SHUFFLES
from sweeps.aggregation.sensitivity.sensitivity import Sensitivity
from sweeps.aggregation.tables.sensitivity.sample_notes import sample_notes
from sweeps.aggregation.tables.sensitivity.shares import SHARE_FIELDS, share_cell

_MOST_ROWS = 10


def pairs_table(sensitivity: Sensitivity, name: str) -> Table:
    """Return one row a pair, the most important first; programs read all of them."""
    results = sensitivity.results
    table = Table(
        name=name,
        title=f"Sensitivity {results.sweep}: what settings do together",
        columns=(
            Column("Setting", ("first",), align="left"),
            Column("With", ("second",), align="left"),
            Column("Together (%)", tuple(f"pair_percent{end}" for end in SHARE_FIELDS)),
        ),
        rows=tuple(_row(pair, sensitivity) for pair in sensitivity.pairs),
        notes=(*sample_notes(sensitivity), *_notes(sensitivity)),
    )
    return replace(table, rows=table.rows[:_MOST_ROWS], for_programs=table)


def _row(pair: PairSensitivity, sensitivity: Sensitivity) -> tuple[Cell, ...]:
    return (
        text_cell(pair.first.name),
        text_cell(pair.second.name),
        share_cell(pair.excess, sensitivity.is_bold(pair.excess)),
    )


def _notes(sensitivity: Sensitivity) -> Iterator[str]:
    yield (
        "Together: the share of the differences between trials that goes back to both settings and "
        "to neither alone, by the functional ANOVA of a forest of random splits on what is left "
        "once each setting has explained what it can by itself, less what pairs with a setting "
        f"shuffled among the trials get ({NUM_SHUFFLES} shuffles). In brackets a 95 % band. Bold: "
        "above such pairs, by Holm over all pairs (p < .05). A forest smooths, so shares are "
        "smaller than the truth, and a pair that is not bold may still act together."
    )
    more = len(sensitivity.pairs) - _MOST_ROWS
    if more > 0:
        yield f"{more} more pairs of smaller shares stand in the CSV."
    if any(len(one.trials) < len(sensitivity.sample.values) for one in sensitivity.settings):
        yield "Only settings that all counted trials have are paired."
