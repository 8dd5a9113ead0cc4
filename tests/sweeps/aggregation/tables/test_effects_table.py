"""Tables of factors as readers and programs get them."""

import csv
import io
from typing import Any

import pytest

from search_spaces.tables import ComponentsTable, EffectsTable
from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.rendering.page.html_page import results_page
from sweeps.aggregation.rendering.renderers import RENDERERS, TableRenderer, section_files
from sweeps.aggregation.rendering.table import Table
from sweeps.aggregation.report.making import make_report
from sweeps.aggregation.results import factors as factors_module
from sweeps.aggregation.results.factors import change_text, level_texts
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.tables.kinds import make
from sweeps.records.errors import BadInput
from sweeps.records.trial_record import Outcome
from tests.sweeps.aggregation.crossed_sweep import (
    DECODER,
    ROUTING,
    WIDTH,
    Changes,
    crossed_manifest,
    crossed_results,
)
from tests.sweeps.aggregation.known_sweep import by_key, finished, manifest_of, unfinished


def planted(changes: Changes) -> float:
    return 0.2 + 0.12 * (changes[ROUTING] == "uniform")


def made(results: Results, declared: Any = None) -> Section:
    section = make(declared or EffectsTable(), results)
    assert section is not None
    return section


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def files_of(section: Section) -> dict[str, str]:
    of_tables = {
        name: renderer
        for name, renderer in RENDERERS.items()
        if isinstance(renderer, TableRenderer)
    }
    return {name: content.decode() for name, content in section_files(section, of_tables)}


def programs(section: Section, name: str) -> list[dict[str, str]]:
    content = files_of(section)[name]
    return list(csv.DictReader(io.StringIO(content)))


def test_the_first_sentence_says_what_was_found_and_what_is_undecided():
    table = made(crossed_results(crossed_manifest(), planted)).tables[0]

    assert table.lead.startswith("Found: routing (+12.")
    assert table.headline == ("1 of 6 effects is found.", True)
    assert "Undecided (5 effects): they lie between " in table.lead
    assert "(400 images and 4 seeds) would show an effect in bold in 8 of 10 cases" in table.lead
    assert "no effect" not in " ".join([table.lead, *table.notes])
    bold = [row[0].text for row in table.rows if row[-1].is_bold]
    assert bold == ["routing"]
    assert texts(table)[0][1] == "dynamic \N{RIGHTWARDS ARROW} uniform"


def test_programs_get_all_that_verdicts_are_made_from():
    section = made(crossed_results(crossed_manifest(), planted))
    rows = programs(section, "effects.csv")

    assert [row["effect"] for row in rows][:4] == [ROUTING, WIDTH, DECODER, f"{ROUTING} x {WIDTH}"]
    first = rows[0]
    low, middle, high = (float(first[f"effect_points{end}"]) for end in ("_low", "", "_high"))
    assert low < middle < high
    assert float(first["simultaneous_points_low"]) < low
    assert float(first["p"]) <= float(first["adjusted_p"])
    assert (first["num_arms"], first["num_seeds"], first["num_images"]) == ("8", "4", "400")
    assert sum(float(row["sum_of_squares_percent"]) for row in rows) < 100
    shares = programs(section, "effects-shares.csv")
    known = [float(row["shapley_percent"]) for row in shares if row["shapley_percent"]]
    assert sum(known) == pytest.approx(100)
    means = programs(section, "effects-means.csv")
    assert [row["level"] for row in means] == [
        "dynamic",
        "uniform",
        "16",
        "8",
        "fully_connected",
        "none",
    ]


def test_of_more_than_two_levels_f_and_means_stand_there():
    factors = {WIDTH: (4, 8, 16), ROUTING: ("dynamic", "uniform")}
    tables = made(crossed_results(crossed_manifest(factors), planted)).tables
    width = texts(tables[0])[0]
    assert width[1] == "4, 8, 16"
    assert width[2] == ""
    assert width[3].endswith("(2, 15)")
    assert any(note.startswith("F (degrees of freedom") for note in tables[0].notes)
    assert texts(tables[1])[0][:3] == ["class_dim", "4", "8"]


def test_aliases_are_named_in_their_row(monkeypatch: pytest.MonkeyPatch):
    aliases = {
        ROUTING: (f"{WIDTH} x {DECODER}",),
        WIDTH: (f"{ROUTING} x {DECODER}",),
        DECODER: (f"{ROUTING} x {WIDTH}",),
    }
    monkeypatch.setattr(factors_module, "aliases_of", lambda design: aliases)
    table = made(crossed_results(crossed_manifest(), planted)).tables[0]
    assert [row[0] for row in texts(table)] == [
        "routing (or class_dim x reconstruction)",
        "class_dim (or routing x reconstruction)",
        "reconstruction (or routing x class_dim)",
    ]
    assert any(note.startswith("(or ...): this design cannot distinguish") for note in table.notes)


def test_what_was_lost_is_said():
    arm = f"{ROUTING}=uniform, {WIDTH}=8, {DECODER}=none"
    trials = [
        unfinished(arm, 1, Outcome.FAILED, "broken"),
        unfinished(arm, 2, Outcome.DIVERGED, "nan"),
    ]
    table = made(crossed_results(crossed_manifest(), planted, lost=trials)).tables[0]
    notes = " ".join(table.notes)
    assert f"Left out of the fit, as too few seeds finished: {arm} (2 of 4 finished" in notes
    assert "the fit is unbalanced" in notes
    assert "Diverged: trials of" in notes
    assert "No shares of the variance are given: not every combination" in notes


def test_without_images_it_says_that_nothing_is_bold_and_why():
    results = crossed_results(crossed_manifest(), planted)
    bare = Results(results.manifest, results.records, results.histories)
    table = made(bare).tables[0]
    assert "no effect can be tested, as predictions are missing" in table.lead
    assert any("nothing is bold, as predictions are missing" in note for note in table.notes)
    assert not any(cell.is_bold for row in table.rows for cell in row)


def test_before_anything_has_finished_there_is_a_table_that_says_so():
    manifest = crossed_manifest()
    section = made(Results(manifest, {}, lambda _records, _name: {}))
    assert section.tables[0].lead == "No trial has finished: there is nothing to fit."
    assert section.figures == ()
    assert {row[-1] for row in texts(section.tables[0])} == {"cannot be estimated"}


def test_every_format_holds_the_tables_of_factors():
    manifest = crossed_manifest(
        tables=[{"kind": "effects", "name": "effects"}, {"kind": "components", "name": "parts"}]
    )
    report = make_report(crossed_results(manifest, planted))
    page = results_page(report).decode()
    for section in report.sections:
        files = files_of(section)
        for table in section.tables:
            for ending in (".md", ".csv", ".tex", "-table.tex"):
                assert files[table.name + ending]
            assert table.title.split(":")[0] in page
    assert r"\usepackage{amssymb}" in files_of(report.sections[1])["parts.tex"]
    assert r"\checkmark{}" in files_of(report.sections[1])["parts-table.tex"]
    assert "amssymb" in files_of(report.sections[1])["parts-table.tex"]
    assert "amssymb" not in files_of(report.sections[0])["effects.tex"]


COMPONENTS = {
    "full": ("decoder", "routing"),
    "without decoder": ("routing",),
    "without routing": ("decoder",),
}


def parts(**more: Any) -> Results:
    design = {"kind": "leave_one_out", "components": COMPONENTS}
    manifest = manifest_of(COMPONENTS, design=design, **more)
    trials = [
        finished(arm, seed, 10 * (1 + place) + seed)
        for place, arm in enumerate(COMPONENTS)
        for seed in range(3)
    ]
    return Results(manifest, by_key(*trials), lambda _records, _name: {})


def test_components_are_marked_in_every_arm():
    table = made(parts(), ComponentsTable()).tables[0]
    assert [column.title for column in table.columns][:3] == ["Arm", "decoder", "routing"]
    check, none = "\N{CHECK MARK}", "\N{EN DASH}"
    assert [row[:3] for row in texts(table)] == [
        ["full (baseline)", check, check],
        ["without decoder", none, check],
        ["without routing", check, none],
    ]
    assert table.rows[0][1].values == (True,)
    assert texts(table)[1][4].startswith("5.83")


def test_levels_of_factors_are_marks_where_one_says_that_nothing_is_there():
    factors = {DECODER: ("fully_connected", "none"), WIDTH: (16, 8)}
    arms = {
        "a": {DECODER: "fully_connected", WIDTH: 16},
        "b": {DECODER: "none", WIDTH: 8},
        "c": {DECODER: "none"},
    }
    results = crossed_results(crossed_manifest(factors, arms), lambda changes: 0.2)
    table = made(results, ComponentsTable()).tables[0]
    assert [row[1:3] for row in texts(table)] == [
        ["\N{CHECK MARK}", "16"],
        ["\N{EN DASH}", "8"],
        ["\N{EN DASH}", ""],
    ]
    assert "A cell is empty if the setting does not exist." in table.notes


def test_a_sweep_without_factors_has_neither_table():
    results = Results(manifest_of(["a", "b"]), {}, lambda _records, _name: {})
    for declared in (EffectsTable(), ComponentsTable()):
        with pytest.raises(BadInput, match="leave the"):
            made(results, declared)


@pytest.mark.parametrize(
    ("levels", "text"),
    [
        ((1, 2, 3), "1, 2, 3"),
        ((True, False), "true \N{RIGHTWARDS ARROW} false"),
        ((None, [7, 9]), "none \N{RIGHTWARDS ARROW} 7, 9"),
        (
            ({"kind": "dynamic", "iterations": 1}, {"kind": "dynamic", "iterations": 3}),
            "dynamic (iterations 1) \N{RIGHTWARDS ARROW} dynamic (iterations 3)",
        ),
        (({"kind": "dynamic", "iterations": 1}, "uniform"), "dynamic \N{RIGHTWARDS ARROW} uniform"),
    ],
    ids=["numbers", "truths", "nothing and a list", "parts of one kind", "a part and a kind"],
)
def test_levels_stand_in_words(levels: tuple[Any, ...], text: str):
    assert change_text(levels) == text


def test_a_level_is_never_longer_than_a_cell():
    assert len(level_texts(["x" * 500])[0]) <= 40
