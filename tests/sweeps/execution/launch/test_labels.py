"""Tags and a note of a sweep: stored, shown, kept by later launches, and in no key."""

from pathlib import Path

import pytest

from sweeps.aggregation.frames import sweeps
from sweeps.execution.launch_options import LaunchOptions, options_of
from sweeps.execution.survey.listing import listed_sweeps
from sweeps.execution.survey.survey import Survey, survey_of
from sweeps.records.errors import BadInput
from tests.sweeps.execution.launch.launches import ADDRESS, Launches, design, searching

TAGS = ("for the talk", "<b>&_50%</b>")
NOTE = "Seed 3 was slow.\n# Not a heading; \\input{x} <script>alert(1)</script>"


@pytest.fixture
def launches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Launches:
    return Launches(tmp_path, design(2, seeds=(0,)), monkeypatch)


def labels(launches: Launches) -> tuple[tuple[str, ...], str]:
    """Return the tags and the note of the sweep's current manifest."""
    manifest = launches.store.manifest("example")
    return manifest.tags, manifest.note


def planned(launches: Launches) -> Survey:
    places = {"storage": launches.storage.root, "tracking_uri": ADDRESS}
    return survey_of(design(2, seeds=(0,)), LaunchOptions(**places))


def test_a_later_launch_keeps_labels_or_replaces_them(launches: Launches) -> None:
    assert launches.run(tags=TAGS, note=NOTE).num_trained == 2
    assert labels(launches) == (TAGS, NOTE)
    assert launches.run().num_trained == 0
    assert labels(launches) == (TAGS, NOTE)
    launches.run(tags=("another",))
    assert labels(launches) == (("another",), NOTE)
    launches.run(tags=(), note="")
    assert labels(launches) == ((), "")


def test_labels_are_in_no_key_and_change_no_definition(launches: Launches) -> None:
    launches.run()
    before = launches.store.manifest("example")
    launches.run(tags=TAGS, note=NOTE)
    after = launches.store.manifest("example")
    assert after.cells == before.cells
    assert after.model_copy(update={"tags": (), "note": ""}) == before
    assert planned(launches).refusal is None
    assert planned(launches).is_done


def test_labels_of_a_search_leave_its_decisions_in_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launches = Launches(tmp_path, searching(), monkeypatch)
    launches.run()
    before = launches.store.manifest("example")
    assert launches.run(tags=TAGS).num_trained == 0
    assert launches.store.manifest("example") == before.model_copy(update={"tags": TAGS})


def test_labels_are_listed_and_in_the_frame_of_sweeps(launches: Launches) -> None:
    launches.run(tags=TAGS, note=NOTE)
    root = launches.storage.root
    (listed,) = listed_sweeps(launches.store, root)
    assert (listed.tags, listed.note) == (TAGS, NOTE)
    frame = sweeps(launches.store)
    assert frame.loc[0, ["tags", "note"]].tolist() == [", ".join(TAGS), NOTE]


def test_labels_stand_in_every_format_of_the_report_as_they_are(launches: Launches) -> None:
    launches.run(tags=TAGS, note=NOTE)
    folder = launches.reports / "example"
    markdown, latex = (folder / f"ablation.{ending}" for ending in ("md", "tex"))
    page = (folder / "report.html").read_text()
    assert "Tags: for the talk, &lt;b&gt;&amp;_50%&lt;/b&gt;." in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script" not in page
    assert "- Tags: for the talk, &lt;b&gt;&amp;\\_50%&lt;/b&gt;." in markdown.read_text()
    assert "Seed 3 was slow. \\# Not a heading" in markdown.read_text()
    assert r"\&\_50\%" in latex.read_text()
    assert r"\input{x}" not in latex.read_text()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"tags": ["x" * 10_000]}, "a tag has at most 100 characters, and this one 10,000."),
        ({"tags": ["a\nb"]}, "a tag has neither line breaks nor other control characters."),
        ({"tags": ["\x1b[31m"]}, "a tag has neither line breaks nor other control characters."),
        ({"tags": ["a,b"]}, "a tag has no comma: give the option once for each tag."),
        ({"tags": ["a", " "]}, "a tag has a letter at least."),
        ({"tags": [str(n) for n in range(21)]}, "a sweep has at most 20 tags, and these are 21."),
        ({"note": "x" * 2001}, "a note has at most 2,000 characters, and this one 2,001."),
        ({"note": "a\x00"}, "a note has no control characters but line breaks and tabs."),
        ({"note": "\ud800"}, "a note has no control characters"),
    ],
)
def test_labels_that_cannot_be_are_refused_in_a_short_sentence(
    options: dict[str, object], sentence: str
) -> None:
    with pytest.raises(BadInput) as caught:
        options_of(options)
    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 250
    assert str(caught.value).isprintable()


def test_the_longest_labels_are_taken(launches: Launches) -> None:
    tags, note = tuple(f"{n:0100}" for n in range(20)), "x" * 2000
    launches.run(tags=(*tags, tags[0]), note=note)
    assert labels(launches) == (tags, note)
