"""Tables as CSV: numbers for programs, and texts that no spreadsheet runs as a formula."""

import csv
import io
from collections.abc import Iterable, Sequence

from sweeps.aggregation.rendering.table import Table, Value
from sweeps.records.plain_text import one_line

_FORMULA_STARTS = ("=", "+", "-", "@")


def to_csv(table: Table) -> str:
    """Return the table's values: numbers unrounded, an interval's ends in columns of their own."""
    header = [field for column in table.columns for field in column.fields]
    return csv_text(header, ([v for cell in row for v in cell.values] for row in table.rows))


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Value]]) -> str:
    """Return rows as CSV with a header, one line per row.

    Floats are written so that reading them gives the same number, None as nothing. A text that a
    spreadsheet would run as a formula gets an apostrophe before it.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_field(value) for value in row] for row in rows)
    return buffer.getvalue()


def _field(value: Value) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str():
            line = one_line(value)
            return f"'{line}" if line.startswith(_FORMULA_STARTS) else line
        case _:
            return repr(value)
