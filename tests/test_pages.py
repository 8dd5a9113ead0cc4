"""What holds for README and every page of docs: links lead somewhere, commands are some."""

import re
from pathlib import Path

import pytest

import search_spaces
from sweeps.cli.program import command_line
from tests.pages import PAGES, ROOT, anchors, expect_known, links, page, snippets

MOST_LINES_OF_README = 180
pages = pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)


def test_readme_is_short() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= MOST_LINES_OF_README


@pages
def test_its_links_lead_somewhere(path: Path) -> None:
    for link in links(path.read_text(encoding="utf-8")):
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target.read_text(encoding="utf-8")), link


def test_every_page_is_linked_from_readme() -> None:
    linked = links((ROOT / "README.md").read_text(encoding="utf-8"))
    assert {f"docs/{path.name}" for path in PAGES[1:]} <= {*linked}


@pages
def test_its_commands_and_their_options_are_some(path: Path) -> None:
    program = command_line()
    text = path.read_text(encoding="utf-8")
    indented = re.findall(r"^ {4}(?:\$ )?(capsweep .*)", text, re.MULTILINE)
    for line in "\n".join([*snippets(text, "console"), *indented]).splitlines():
        for arguments in re.findall(r"^capsweep ([a-z][^#|&;\\]*)", line):
            expect_known(program, arguments)


def test_the_glossary_says_what_records_are_called() -> None:
    glossary = page("glossary")
    for word in ("sweep", "arm", "trial", "trial key", "cell", "record", "manifest", "table"):
        assert re.search(rf"^\| (\*\w+\*, )*\*{word}\*", glossary, re.MULTILINE), word


def test_tables_of_the_page_on_sweeps_come_from_where_it_says() -> None:
    reported = page("sweeps").partition("## Tables and figures\n")[2].partition("\n## ")[0]
    names = re.findall(r"`(\w+(?:Table|Figure))[`(]", reported)
    assert len(names) >= 5
    assert {*names} <= {*dir(search_spaces)}


def test_what_can_be_added_is_shown_by_existing_files() -> None:
    shown = re.findall(r"`(test_\w+\.py)` \|", page("sweeps"))
    present = {path.name for path in (ROOT / "tests" / "growth").glob("test_*.py")}
    assert {*shown} == present
