"""Six notes of a table are shown: those that a reader needs, and the first of the others."""

from hypothesis import given
from hypothesis import strategies as st

from sweeps.aggregation.rendering.latex import to_latex, to_latex_fragment
from sweeps.aggregation.rendering.markdown import to_markdown
from sweeps.aggregation.rendering.table import MOST_NOTES, Needed, Table, data_table
from tests.sweeps.aggregation.rendering.seen_html import checked


def noted(are_needed: list[bool]) -> Table:
    notes = [(Needed if needed else str)(f"note {n}") for n, needed in enumerate(are_needed)]
    return Table(
        name="some",
        title="Some",
        columns=data_table("some", ["arm"], []).columns,
        rows=(),
        notes=tuple(notes),
    )


TEN = noted([False] * 8 + [True, False])


@given(st.lists(st.booleans(), max_size=20))
def test_needed_notes_are_always_shown_and_every_note_is_in_one_place(
    are_needed: list[bool],
) -> None:
    table = noted(are_needed)
    main, more = table.main_notes, table.more_notes
    num = min(len(are_needed), max(MOST_NOTES, sum(are_needed)))
    assert len(main) == num
    assert not any(isinstance(note, Needed) for note in more)
    assert sorted((*main, *more), key=table.notes.index) == [*table.notes]
    assert list(main) == sorted(main, key=table.notes.index)
    firsts = [note for note in main if not isinstance(note, Needed)]
    assert firsts + list(more) == [n for n in table.notes if not isinstance(n, Needed)]


def test_the_file_of_a_table_folds_the_others() -> None:
    shown, folded = to_markdown(TEN).split("<details>\n<summary>4 more notes</summary>\n\n- ")
    assert "- note 4\n- note 8" in shown
    assert folded == "note 5\n- note 6\n- note 7\n- note 9\n\n</details>\n"
    assert "details" not in to_markdown(noted([False] * 6))


def test_a_notebook_folds_the_others() -> None:
    seen = checked(TEN)
    assert "(6) note 8" in seen.text
    assert "4 more notes" in seen.text
    assert "note 9" in seen.text


def test_latex_names_the_file_that_has_the_others() -> None:
    text = to_latex(TEN)
    assert "note 8" in text
    assert "4 more notes: see some.md." in text
    assert "note 9" not in text


def test_a_table_for_a_paper_has_all_notes_as_that_file_is_not_beside_it() -> None:
    assert to_latex_fragment(TEN).count("% note") == 10
