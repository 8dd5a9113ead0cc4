"""Shares: how much of what the arms differ by goes back to each setting and each two."""

from capsmodel.metrics import TEST_ERROR
from sweeps.aggregation.rendering.measured import share_cell
from sweeps.aggregation.rendering.table import PLUS_MINUS, Cell, Column, Table
from sweeps.aggregation.results.effects.effects import Effects
from sweeps.aggregation.results.effects.factors import TIMES, term_name
from sweeps.aggregation.results.effects.shares import Share, Shares
from sweeps.aggregation.tables.departures import with_departures
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line

_ENDS = ("", "_low", "_high")
_COLUMNS = (
    Column("Setting or two", ("term",), align="left"),
    Column("Share (%)", tuple(f"shapley_percent{end}" for end in _ENDS)),
    Column("Alone (%)", tuple(f"alone_percent{end}" for end in _ENDS)),
)


def shares_table(manifest: Manifest, found: Effects, shares: Shares, name: str) -> Table:
    """Return one row a setting and one a pair. Nothing is bold.

    Args:
        manifest: Of a full factorial.
        found: Its effects.
        shares: There is at least one.
        name: The table's.
    """
    noise = "seeds and images" if shares.covers_images else "seeds"
    table = Table(
        name=name,
        title=f"Effects {manifest.sweep}: share of each setting in the differences of the arms",
        columns=_COLUMNS,
        rows=tuple(_row(found, share) for share in shares.shares),
        notes=(
            f"Share: exact Shapley share of the variance of the arms' {TEST_ERROR.text}, without "
            f"what {noise} add to it; the settings together are 100 %.",
            "Alone: of a setting, what it explains whatever the others are; of two (x), what only "
            "both together explain, with an equal part of what three or more do. All of these are "
            "100 % too: a setting's share is its own and half of those of its pairs.",
            f"{PLUS_MINUS}: 95 % over new seeds, each left out once (jackknife). Noise is taken "
            f"off without stopping at 0, so a share of nothing is as often below 0 as above.",
        ),
    )
    return with_departures(manifest, table)


def _row(found: Effects, share: Share) -> tuple[Cell, ...]:
    name = TIMES.join(found.factors[place].name for place in share.term)
    return (
        Cell(one_line(name), (term_name(share.term, found.factors),)),
        share_cell(share.shapley),
        share_cell(share.alone),
    )
