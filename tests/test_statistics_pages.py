"""What the pages on statistics show is what README and the code say."""

import re

from search_spaces import UntilDecided
from sweeps.aggregation.statistics.looks import LookLevel
from tests.pages import ROOT, page

MOST_WORDS = 1_200
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_page_on_reading_a_table_is_short() -> None:
    assert len(page("statistics").split()) <= MOST_WORDS


def test_the_table_that_is_read_is_the_one_of_readme() -> None:
    table = README.partition("<!-- table: quickstart, moved -->\n")[2].partition("<!--")[0]
    assert table.count("\n") > 5
    assert table in page("statistics")


def test_the_levels_of_looks_are_those_of_the_usual_looks() -> None:
    shown = page("methods").partition("## Seeds until it is decided\n")[2].partition("\n## ")[0]
    seeds, levels = (
        re.search(rf"^\| {name} \| (.*) \|$", shown, re.MULTILINE) for name in ("seeds", "p below")
    )
    assert seeds
    assert levels
    usual = UntilDecided().seeds_at_looks
    assert seeds[1].split(" | ") == [str(number) for number in usual]
    looks = (LookLevel(usual[: n + 1], 20, is_last=n == len(usual) - 1) for n in range(len(usual)))
    computed = [f"{look.of_each(1):.4f}".removeprefix("0") for look in looks]
    assert levels[1].split(" | ") == computed


def _one_line(text: str) -> str:
    return " ".join(text.split())
