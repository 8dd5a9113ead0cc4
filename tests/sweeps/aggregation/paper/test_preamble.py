"""The preamble that docs/papers.md and the command line show has what tables and figures need."""

import re
from dataclasses import replace

import pytest

from sweeps.aggregation.paper.macros import PREAMBLE
from sweeps.aggregation.rendering.latex import to_latex_fragment
from sweeps.aggregation.rendering.table import Cell, Table, data_table
from sweeps.aggregation.report import make_report
from tests.pages import page, snippets
from tests.sweeps.aggregation.paper.judged_sweep import judged_results

_PACKAGE_OF = {
    "toprule": "booktabs",
    "midrule": "booktabs",
    "cmidrule": "booktabs",
    "bottomrule": "booktabs",
    "resizebox": "graphicx",
    "includegraphics": "graphicx",
    "checkmark": "amssymb",
    "capsweep": "capsweep",
    "capsweepnote": "capsweep",
}
_PLACES = {"the command line": PREAMBLE, "the page": snippets(page("papers"), "latex")[0]}


def packages_in(text: str) -> set[str]:
    lists = re.findall(r"\\usepackage(?:\[[^]]*\])?\{([^}]*)\}", text)
    return {name for names in lists for name in names.split(",")}


def needed_by(text: str) -> set[str]:
    macros = re.findall(r"\\([A-Za-z]+)", text)
    return {_PACKAGE_OF[macro] for macro in macros if macro in _PACKAGE_OF}


def fragments() -> list[str]:
    tables: list[Table] = [*make_report(judged_results(), style="paper").tables]
    mark = Cell("\N{CHECK MARK}", (True,))
    marked = replace(data_table("marked", ["part"], []), rows=((mark,),))
    columns = tuple(replace(column, group="Errors") for column in tables[0].columns)
    grouped = replace(tables[0], columns=columns)
    return [to_latex_fragment(table) for table in (*tables, marked, grouped)]


@pytest.mark.parametrize("place", _PLACES)
def test_a_preamble_has_the_packages_of_all_fragments_and_of_the_pages_snippet(place: str) -> None:
    texts = [*fragments(), _PLACES["the page"]]
    needed = {package for text in texts for package in needed_by(text)}
    assert needed == {"booktabs", "graphicx", "amssymb", "capsweep"}
    assert needed <= packages_in(_PLACES[place])
    stated = {name for text in fragments() for name in packages_in(text)}
    assert stated <= packages_in(_PLACES[place])
