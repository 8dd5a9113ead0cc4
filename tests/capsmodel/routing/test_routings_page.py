"""The page that compares all routings is made from the routings' own fields."""

from pathlib import Path

from capsmodel.routing import ROUTINGS, RoutingFacts
from capsmodel.settings.parts import kind_of

PAGE = Path(__file__).parents[3] / "docs" / "routings.md"
STARTS, ENDS = "<!-- routings -->\n", "<!-- end of routings -->"


def write_page() -> None:
    """Write the page's table anew."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(STARTS)
    PAGE.write_text(before + STARTS + table() + ENDS + rest.partition(ENDS)[2], encoding="utf-8")


def table() -> str:
    """Return the table, in Markdown."""
    rows = [["routing", *RoutingFacts._fields], [":---"] * (1 + len(RoutingFacts._fields))]
    for routing in ROUTINGS:
        assert routing.facts, f"{routing.__name__} has no facts for docs/routings.md"
        rows.append([f"`{kind_of(routing)}`", *routing.facts])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def test_the_page_is_what_the_routings_say() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert table() == page.partition(STARTS)[2].partition(ENDS)[0], "write_page() writes it anew"


def test_no_field_is_empty_or_splits_a_row() -> None:
    for routing in ROUTINGS:
        assert routing.facts
        for fact in routing.facts:
            assert fact
            assert "|" not in fact
