"""What every table that the tests of this folder make has to keep."""

from collections.abc import Iterator

import pytest

from sweeps.aggregation.rendering.table import ALONE_MARK, PLUS_MINUS, Needed, Table
from sweeps.aggregation.tables.columns import ILL_MARK, MISSED_MARK

CHECK = "\N{CHECK MARK}"
SIGNS = (PLUS_MINUS, ALONE_MARK, MISSED_MARK, ILL_MARK, CHECK)
MARKS = {**{mark: mark for mark in SIGNS}, "bold": "old"}


@pytest.fixture(autouse=True)
def the_needed_notes_explain_every_mark(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check of each table that its needed notes, six at most, speak of what its cells have."""
    made: list[Table] = []
    checked = Table.__post_init__

    def noted(table: Table) -> None:
        checked(table)
        made.append(table)

    monkeypatch.setattr(Table, "__post_init__", noted)
    yield
    for table in made:
        cells = [cell for row in table.rows for cell in row]
        texts = " ".join([*(cell.text for cell in cells), "bold" * any(c.is_bold for c in cells)])
        needed = " ".join(note for note in table.notes if isinstance(note, Needed))
        unexplained = [mark for mark, word in MARKS.items() if mark in texts and word not in needed]
        assert not table.notes or not unexplained, (table.title, unexplained, needed)
        assert sum(isinstance(note, Needed) for note in table.notes) <= 6, table.notes
