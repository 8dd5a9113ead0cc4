import csv
import io
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console

from sweeps.aggregation.rendering.csv_text import to_csv
from sweeps.aggregation.rendering.figure_style import drawn
from sweeps.aggregation.rendering.latex import escape_latex, to_latex
from sweeps.aggregation.rendering.markdown import escape_markdown, to_markdown
from sweeps.aggregation.rendering.renderers import for_terminal
from sweeps.aggregation.tables.ablation_table import ablation_table
from sweeps.records.plain_text import one_line
from sweeps.records.trial_record import Outcome
from tests.sweeps.aggregation.known_sweep import by_key, finished, manifest_of, unfinished
from tests.sweeps.aggregation.tables.test_ablation_figure import ablation_figure

HOSTILE = [
    "</script><script>alert(1)</script>",
    "$x_1^2$ $",
    "a | b || c",
    r"\input{/etc/passwd}",
    r"\write18{touch x} ^^5cinput %",
    "=cmd('calc')!A1",
    "@SUM(1)",
    "-1+1",
    "line\nbreak\r\nand\ttab",
    "*bold* _under_ `code` ~~gone~~ [link](http://x.example) ![i](y)",
    "# heading",
    "1. list & &lt; &amp;",
    "http://plain.example",
    "\u202eturned \x1b[31mred\x00",
    "[red]markup[/red]",
    "\u00fc\u00e9\u0142\u00df \u03bb=0.5 \u754c \U0001f600 \u2212 \u2264",
    "{ } # ~ ^ \\\\ ' \" `` -- --- ?`",
]


def hostile_table():
    """Return a table whose arms, description and reasons are hostile."""
    manifest = manifest_of(["base", *HOSTILE], [0], description="=1+1 | <b> $x$ \\end{document}")
    reasons = [unfinished(text, 0, Outcome.FAILED, text) for text in HOSTILE[::2]]
    plain = enumerate(["base", *HOSTILE[1::2]])
    results = [finished(text, 0, 5 + place) for place, text in plain]
    records = by_key(*reasons, *results)
    return manifest, records, ablation_table(manifest, records)


def rendered(markdown: str) -> ElementTree.Element:
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return ElementTree.fromstring(f"<body>{parser.render(markdown)}</body>")


def test_markdown_shows_hostile_texts_as_they_are():
    _, _, table = hostile_table()
    body = rendered(to_markdown(table))

    shown = ["".join(row[0].itertext()) for row in body.iter("tr")][2:]
    assert shown == [one_line(text) for text in HOSTILE]


def test_markdown_gets_no_markup_from_hostile_texts():
    _, _, table = hostile_table()

    tags = {element.tag for element in rendered(to_markdown(table)).iter()}
    layout = {"body", "h1", "p", "table", "thead", "tbody", "tr", "th", "td", "ul", "li"}
    assert tags == {*layout, "details", "summary"}


@given(st.text(max_size=60))
def test_any_text_in_markdown_is_shown_as_itself(text):
    line = f"| h |\n| --- |\n| {escape_markdown(f'x{text}x')} |"

    cell = next(rendered(line).iter("td"))
    assert "".join(cell.itertext()).split() == one_line(f"x{text}x").split()
    assert list(cell) == []


def test_a_bare_address_in_markdown_becomes_no_link():
    assert "://" not in escape_markdown("see http://plain.example")


def test_csv_holds_no_formula_and_one_line_a_row():
    _, _, table = hostile_table()
    assert table.for_programs
    content = to_csv(table.for_programs)
    names = [row[0] for row in csv.reader(io.StringIO(content))]

    assert len(content.splitlines()) == len(HOSTILE) + 2
    assert not any(name.startswith(("=", "+", "-", "@")) for name in names)
    assert "'=cmd('calc')!A1" in names


def test_latex_is_ascii_and_runs_no_command_of_hostile_texts():
    _, _, table = hostile_table()
    content = to_latex(table)

    assert content.isascii()
    for command in ("input", "write", "end{document}\n\\", "script"):
        assert f"\\{command}" not in content
    assert "^^" not in content


@given(st.text(max_size=40))
def test_any_text_in_latex_is_ascii_with_balanced_braces(text):
    escaped = escape_latex(text)
    plain = re.sub(r"\\[{}]", "", escaped)

    assert escaped.isascii()
    assert plain.count("{") == plain.count("}")
    assert not re.search(r"(?<!\\)[%#&]", escaped)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("50 % of $x_1$", r"50 \% of \$x\_1\$"),
        ("caf\u00e9 \u0142", r"caf\'{e} \l{}"),
        ("\u03bb = \u0394", r"$\lambda$ = $\Delta$"),
        ("\u754c", "?"),
        ("\u2212", "$-$"),
        ("\ufb01ne", "fine"),
    ],
    ids=["symbols", "accents", "Greek", "a letter beyond LaTeX's", "minus", "ligature"],
)
def test_latex_has_a_sane_form_for(text, escaped):
    assert escape_latex(text) == escaped


def compiler(document: str, folder: Path) -> list[str]:
    """Return the command that compiles a document, if it finds the packages of its preamble."""
    if path := shutil.which("pdflatex"):
        command = [path, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"]
    elif path := shutil.which("tectonic"):
        command = [path]
    else:
        pytest.skip("neither pdflatex nor tectonic is installed")
    preamble, _, _ = document.partition(r"\begin{document}")
    probe = folder / "probe.tex"
    probe.write_text(preamble + "\\begin{document}x\\end{document}\n")
    done = subprocess.run([*command, probe.name], cwd=folder, capture_output=True, check=False)
    missing = re.search(rb"File `([^']+)' not found", done.stdout)
    if missing:
        pytest.skip(f"{path} finds no {missing[1].decode()}")
    return command


@pytest.mark.parametrize("num_arms", [len(HOSTILE), 90])
def test_latex_compiles(num_arms, tmp_path):
    names = (HOSTILE * 6)[:num_arms]
    arms = [f"{place} {name}" for place, name in enumerate(names)]
    trials = [
        finished(arm, seed, 5 * (place + 1)) for place, arm in enumerate(arms) for seed in (0, 1)
    ]
    table = ablation_table(
        manifest_of(arms, description="".join(HOSTILE)), by_key(*trials), name="hostile"
    )
    document = to_latex(table)
    command = compiler(document, tmp_path)
    (tmp_path / "hostile.tex").write_text(document)

    done = subprocess.run([*command, "hostile.tex"], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "hostile.pdf").stat().st_size > 1000


def test_the_terminal_obeys_no_markup_or_control_character():
    _, _, table = hostile_table()
    console = Console(file=io.StringIO(), width=300, force_terminal=False)
    console.print(*for_terminal([table]))
    shown = console.file.getvalue()

    assert "[red]markup[/red]" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_figures_take_hostile_names_as_text():
    manifest, records, _ = hostile_table()

    svg = ElementTree.fromstring(drawn(lambda: ablation_figure(manifest, records), "svg"))
    assert not [e for e in svg.iter() if "script" in str(e.tag) or "foreignObject" in str(e.tag)]
    assert drawn(lambda: ablation_figure(manifest, records), "png").startswith(b"\x89PNG")
