"""The page of a report: all in one file, nothing fetched, nothing of a name obeyed."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.rendering.page.html_page import inline_drawing, results_page, runs_page
from sweeps.aggregation.rendering.table import Headline, Needed
from sweeps.aggregation.report.making import make_report
from sweeps.aggregation.results.sweep_results import Results
from sweeps.records.plain_text import one_line
from tests.sweeps.aggregation.known_predictions import predictions_of
from tests.sweeps.aggregation.known_sweep import by_key, finished, known_sweep, manifest_of
from tests.sweeps.aggregation.rendering.test_escaping import HOSTILE, hostile_table

EMPTY = {"meta", "link", "img", "br", "hr", "input"}
ADDRESSES = ("src", "href", "xlink:href", "action", "data", "srcset")

CHANCES = "several tables are several chances of a false finding."


class Page(HTMLParser):
    """What a browser would find: elements with their attributes, texts, rows of tables."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.rows: list[list[str]] = []
        self.bold: list[str] = []
        self.feed(content.decode())
        self.close()
        assert self.open == [], "every element ends"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in EMPTY:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data
        if "strong" in self.open:
            self.bold.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())

    def values(self, name: str) -> list[str]:
        return [attributes[name] for _, attributes in self.elements if name in attributes]


def histories(trials, metric):
    return {trial.trial_key: {n: 0.5 / n for n in range(1, 4)} for trial in trials}


def results_of(manifest, records, predictions=None):
    return Results(manifest, records, histories, lambda _: predictions or {})


def page_of(manifest, records, predictions=None):
    report = make_report(results_of(manifest, records, predictions))
    return report, Page(results_page(report))


@pytest.fixture(scope="module")
def known():
    manifest, records = known_sweep()
    return page_of(manifest, records, predictions_of(records))


def clear_sweep():
    """Return a sweep in which one arm is clearly worse than the baseline."""
    wrong = {"base": (6, 7, 8), "worse": (60, 66, 72), "equal": (7, 6, 8)}
    trials = [finished(arm, seed, n) for arm, row in wrong.items() for seed, n in enumerate(row)]
    return manifest_of(wrong), by_key(*trials)


def test_a_page_holds_every_arm_every_number_and_every_note_of_its_table(known):
    report, page = known
    (table,) = report.tables

    rows = [[cell.text for cell in row if cell.text] for row in table.rows]
    shown = [[cell for cell in row if cell] for row in page.rows]
    assert len(rows) == 5
    for row in rows:
        assert row in shown
    for sentence in (table.lead, *table.notes):
        assert " ".join(sentence.split()) in page.text
    folded = [sentence for sentence in table.notes if not isinstance(sentence, Needed)]
    assert folded
    below = page.text.partition("How to read it")[2]
    assert all(" ".join(sentence.split()) in below for sentence in folded)


def test_what_is_bold_in_the_table_is_bold_in_the_page():
    manifest, records = clear_sweep()
    report, page = page_of(manifest, records, predictions_of(records))
    bold = [cell.text for row in report.table.rows for cell in row if cell.is_bold]

    assert "different" in bold
    assert page.bold == bold


def test_the_answer_stands_before_all_sections(known):
    report, page = known
    assert page.text.index(report.table.lead) < page.text.index("How to read it")
    classes = [a.get("class") for t, a in page.elements if t == "p"]
    assert classes[0] == "over"
    assert "answer" in classes[:3]
    assert CHANCES not in page.text, "one table has one chance"


def test_what_is_decided_comes_before_what_is_not(known):
    report, _ = known
    (table,) = report.tables
    for is_decided in (False, True):
        headline = Headline("Moved images: it errs less.", is_decided)
        moved = replace(
            table, name="moved", lead="By the error on moved images.", headline=headline
        )
        compared = Section("evaluations", "evaluations", tables=(moved,))
        page = Page(results_page(replace(report, sections=(*report.sections, compared))))
        comes_first = page.text.index(moved.lead) < page.text.index(table.lead)
        assert comes_first == (is_decided and not table.is_decided)
        assert page.text.count(moved.lead) == 1
        classes = [attributes.get("class") for tag, attributes in page.elements if tag == "p"]
        assert classes.count("answer") == classes.count("finding") == 2
        assert page.text.count(CHANCES) == 1
        links = [link for link in page.values("href") if link.startswith("#table-")]
        assert {*links} == {"#table-moved", f"#table-{table.name}"}
        assert links[0] == ("#table-moved" if comes_first else f"#table-{table.name}")
        assert {link[1:] for link in links} <= {*page.values("id")}


def test_on_a_phone_each_cell_has_its_heading(known):
    report, page = known
    titles = {column.title for column in report.table.columns if column.title}
    shown = {attributes["data-title"] for tag, attributes in page.elements if tag == "td"}
    assert {"Difference", "Verdict"} <= shown & titles


def test_a_section_is_headed_by_its_title_or_its_first_tables_or_its_name(known):
    report, _ = known
    table = replace(report.table, title="Errors")
    untitled = replace(table, title="")
    sections = (
        Section("one", "health", tables=(table,), title="Health"),
        Section("two", "ablation", tables=(untitled, table)),
        Section("three", "curves", data=(table,), is_folded=True),
        Section("four", "curves", tables=(untitled,)),
    )
    page = results_page(replace(report, sections=sections, background=())).decode()
    expected = ["Health", "Errors", "Errors", "four"]
    assert re.findall("<h2>(.*)</h2>", page) == expected
    assert re.findall(r'<a href="#section-\d">(.*)</a>', page) == expected


def test_a_page_names_health_definition_data_keys_and_a_digest(known):
    report, page = known
    assert ["wild", "0", "diverged", "the loss was nan in epoch 4"] in page.rows
    assert ["wild", "1", "failed", "ValueError: no such layer"] in page.rows
    assert ["three rounds (baseline)", "nothing", "1,000"] in page.rows
    assert "Seeds: 0, 1, 2." in page.text
    for key in report.provenance.trial_keys:
        assert key in page.text
    assert len(report.provenance.digest) == 64
    assert report.provenance.digest in page.text


def test_a_page_leads_to_no_other_address_and_runs_nothing(known):
    report, page = known
    for content in (page, Page(runs_page(report))):
        tags = {tag for tag, _ in content.elements}
        assert not tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
        for name in ADDRESSES:
            for value in content.values(name):
                assert value.startswith("#") or value in {"report.html", "report-runs.html"}, value
        assert [t for t, _ in content.elements].count("style") == 1
        assert not [name for _, names in content.elements for name in names if name[:2] == "on"]
    assert b"http" not in results_page(report).replace(b'http-equiv="Content', b"")


def test_drawings_of_one_page_share_no_id_and_find_what_they_name(known):
    _, page = known
    ids = page.values("id")
    named = {value[1:] for value in page.values("href") if value.startswith("#")}
    clipped = {value[5:-1] for value in page.values("clip-path")}

    assert [tag for tag, _ in page.elements].count("svg") == 2
    assert len(ids) == len(set(ids))
    assert clipped
    assert named | clipped <= set(ids)


def test_a_drawing_keeps_all_but_its_own_size_and_what_it_says_of_itself():
    svg = b"""<?xml version="1.0"?><!DOCTYPE svg PUBLIC "x" "http://x.example/svg.dtd">
    <svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
    width="9pt" height="8pt" viewBox="0 0 9 8" version="1.1"><metadata><a/></metadata>
    <!-- a name --><style>*{color:red}</style><defs><clipPath id="c"><rect width="3" height="2"/>
    </clipPath><path id="g" d="M0 0"/></defs><g clip-path="url(#c)"><use xlink:href="#g"/>
    <use xlink:href="http://x.example"/></g></svg>"""
    text = inline_drawing(svg, "f7-", 'a "label"')

    assert text.startswith('<svg viewBox="0 0 9 8"')
    for present in ('<rect width="3" height="2"/>', '"f7-c"', "url(#f7-c)", 'href="#f7-g"'):
        assert present in text
    for gone in ("http", "metadata", "style", "a name", "9pt", "DOCTYPE"):
        assert gone not in text


def test_hostile_names_are_texts_and_nothing_else():
    manifest, records, _ = hostile_table()
    hidden = manifest.description + " \u202e\x1b[31m"
    report, page = page_of(manifest.model_copy(update={"description": hidden}), records)
    firsts = [row[0] for row in page.rows if row]

    for text in HOSTILE:
        assert any(one_line(text) in first for first in firsts), text
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "b", "a1", "img"}
    assert "\x1b" not in page.text
    assert "\u202e" not in page.text
    Page(runs_page(report))


def test_what_machines_decide_changes_the_page_of_runs_alone():
    manifest, records = known_sweep()
    moved = {
        key: record.model_copy(
            update={
                "record_id": f"other-{key}",
                "device": "Brand new GPU",
                "duration_seconds": 99.0,
                "versions": '{"torch": "9.9.9"}',
                "git_revision": "abcdef0",
            }
        )
        for key, record in reversed(records.items())
    }
    first, second = (make_report(results_of(manifest, trials)) for trials in (records, moved))

    assert results_page(first) == results_page(second)
    after = Page(runs_page(second)).text
    for fact in ("Brand new GPU", "9.9.9", "abcdef0", f"other-{next(iter(records))}"):
        assert fact in after
        assert fact not in Page(results_page(second)).text


def test_the_digest_changes_with_any_input():
    manifest, records = known_sweep()
    key = next(iter(records))
    others = records | by_key(finished("no decoder", 0, 6))
    warned = records | {key: records[key].model_copy(update={"warnings": ("odd",)})}
    digests = [
        make_report(results_of(*inputs)).provenance.digest
        for inputs in (
            (manifest, records),
            (manifest.model_copy(update={"margin_points": 0.5}), records),
            (manifest, others),
            (manifest, warned),
            (manifest, records, predictions_of(records)),
            (manifest, records, predictions_of(records, shift=1)),
        )
    ]
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize(
    ("arms", "seeds", "num_records"), [(["only"], [0], 1), (["a", "b"], [0], 0)]
)
def test_what_there_is_of_a_small_sweep_is_shown(arms, seeds, num_records):
    records = by_key(*[finished(arm, seed, 5) for arm in arms for seed in seeds][:num_records])
    report, page = page_of(manifest_of(arms, seeds), records)
    assert report.table.lead in page.text


WRITE = """
import hashlib, sys
from pathlib import Path
from sweeps.aggregation.report import write_report
from tests.sweeps.tracking.memory_store import MemoryStore
from tests.sweeps.aggregation.known_sweep import known_sweep, put_sweep
store = MemoryStore()
manifest, records = known_sweep()
put_sweep(store, manifest, reversed(records.values()))
for path in write_report(store, "known", Path(sys.argv[1])).paths:
    if not path.name.startswith("report-runs"):
        print(path.name, hashlib.sha256(path.read_bytes()).hexdigest())
"""


def test_a_page_is_the_same_in_another_folder_locale_time_zone_and_hash_seed(tmp_path):
    root = Path(__file__).parents[4]
    outputs = []
    for place, (zone, locale, seed) in enumerate(
        [("UTC", "C.UTF-8", "0"), ("Pacific/Kiritimati", "C", "17")]
    ):
        folder = tmp_path / f"place {place}"
        folder.mkdir()
        environment = {"TZ": zone, "LC_ALL": locale, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", WRITE, str(folder / "reports")],
            env=os.environ | environment | {"PYTHONPATH": str(root)},
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.append(done.stdout)
    assert "report.html" in outputs[0]
    assert outputs[0] == outputs[1]


def test_a_page_warns_of_departures_once_and_in_no_heading():
    manifest, records = clear_sweep()
    departed = manifest.model_copy(update={"departures": {"batch_size": (50, 32)}})
    page = results_page(make_report(results_of(departed, records))).decode()
    warning = "The sweep was not launched as declared: batch_size 32 instead of 50 (--set)."
    assert page.count(f'<p class="warning">{warning}</p>') == 1
    assert not re.search(r"<h[123]>[^<]*launched as declared", page)
