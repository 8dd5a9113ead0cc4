import re
from pathlib import Path

from sweeps.aggregation.paper.checklist import checklist
from sweeps.aggregation.paper.numbers import paper_numbers
from sweeps.aggregation.report import write_report
from sweeps.aggregation.results.compared_arms import compared_arms
from sweeps.aggregation.results.sweep_results import Results, read_results
from sweeps.aggregation.tables.paper_table import paper_table
from tests.sweeps.aggregation.known_sweep import (
    finished,
    known_sweep,
    manifest_of,
    put_sweep,
    put_trial,
)
from tests.sweeps.aggregation.paper.judged_sweep import judged_results, no_histories
from tests.sweeps.aggregation.small_search import confirmed_search, search_of
from tests.sweeps.aggregation.tables.test_confirmation_against_random import (
    BETTER,
    predictions_of,
    records_of,
    search_with_random,
)
from tests.sweeps.published import publish_manifest
from tests.sweeps.tracking.memory_store import MemoryStore


def of(results: Results) -> str:
    return checklist(results, compared_arms(results))


def test_every_number_is_from_the_records() -> None:
    text = of(judged_results(margin_points=0.5))
    for phrase in (
        "Each of 3 arms was trained with 3 seeds (0, 1, 2)",
        "over 3 seeds and 360 test images",
        "adjusted for 2 comparisons by Holm's method",
        "Of 9 planned runs 9 count; 0 diverged, 0 failed, 0 missing, 0 unfinished.",
        "A counted run has 15 epochs.",
        "1,000 to 1,002 trained parameters",
        "135 epochs",
        "within 0.5 points, declared beforehand",
    ):
        assert phrase in text, phrase


def test_runs_that_do_not_count_are_told_by_kind() -> None:
    manifest, records = known_sweep()
    text = of(Results(manifest, records, no_histories))
    assert "Of 18 planned runs 13 count; 1 diverged, 1 failed, 1 missing, 2 unfinished." in text
    assert "Diverged runs (of 'wild') are left out of the means" in text
    assert "could not be tested in this way" in text


def test_a_search_tells_how_it_chose() -> None:
    manifest, records = confirmed_search()
    text = of(Results(manifest, records, no_histories))
    assert manifest.search is not None
    assert f"A search of {manifest.search.num_trials} proposals" in text
    assert "which chose nothing" in text
    assert "proposals with some value of a setting" in text


def test_the_checklist_and_the_macros_of_a_search_have_the_differences_of_its_confirmation() -> (
    None
):
    manifest, records = search_with_random(), records_of(BETTER)
    results = Results(manifest, records, no_histories, lambda trials: predictions_of(BETTER))
    text = of(results)
    for phrase in (
        "Where a mean has ±, that is half of its 95 % interval, which covers new seeds and new",
        "In a table in a paper's style, ± is the standard deviation",
        "Differences of test errors from 'base', and from the best random point, are paired by",
        "over 3 seeds and 360 test images",
        "adjusted for 5 comparisons by Holm's method",
        "counts, and is bold, below 0.05",
    ):
        assert phrase in text, phrase
    numbers = paper_numbers(results)
    assert numbers["proposal 1"]["verdict"] == "different"
    assert numbers["proposal 1"]["difference"] == "\N{MINUS SIGN}8.43"
    assert "difference" not in numbers["base"]
    notes = " ".join(paper_table(manifest, compared_arms(results)).notes)
    assert "Difference: from 'base' in percentage points" in notes


def test_other_sweeps_on_the_same_test_images_are_counted_if_they_were_earlier(
    store: MemoryStore,
) -> None:
    def put(sweep: str, arm: str, start: int, data: str = "abc") -> None:
        trials = [finished(arm, seed, 5, sweep=sweep, data_fingerprint=data) for seed in (0, 1)]
        publish_manifest(store.writer(), manifest_of([arm], [0, 1], sweep))
        for trial in trials:
            put_trial(store, trial, start)

    put("first", "a", 1000)
    put("second", "b", 2000)
    put("elsewhere", "c", 500, data="def")
    expected = {
        "first": "No earlier sweep in this store looked at the same test images.",
        "second": "1 earlier sweep in this store looked at the same test images; the verdicts of",
    }
    for sweep, sentence in expected.items():
        assert sentence in of(read_results(store, sweep))
    before = of(read_results(store, "second"))
    put("third", "d", 3000)
    assert of(read_results(store, "second")) == before, "later sweeps change no report"
    assert "2 earlier sweeps" in of(read_results(store, "third"))
    publish_manifest(store.writer(), manifest_of(["a"], [0, 1], "reuses"))
    assert "1 earlier sweep " in of(read_results(store, "reuses"))


def test_a_search_without_fresh_seeds_gives_no_figure() -> None:
    manifest = search_of(num_proposals=2)
    text = of(Results(manifest, {}, no_histories))
    assert "None of them was run again on fresh seeds" in text
    assert "planned run" not in text
    assert f"The search as a whole has {len(manifest.cells)} runs." in text


def test_it_names_no_device_hour_or_date() -> None:
    text = of(judged_results())
    assert not re.search(r"\bcpu\b|\bgpu\b|seconds|20\d\d-", text)
    assert "cost.md" in text


def test_a_name_gets_no_markup() -> None:
    text = of(judged_results({"*base* <b>": (6, 7, 8), "b": (6, 7, 9)}))
    assert r"'\*base\* &lt;b&gt;'" in text


def test_a_report_holds_it_with_the_macros(store: MemoryStore, tmp_path: Path) -> None:
    manifest, records = known_sweep()
    put_sweep(store, manifest, records.values())
    report = write_report(store, "known", tmp_path, style="paper")
    names = {path.name for path in report.paths}
    assert {"checklist.md", "capsweep.sty", "capsweep-known.tex"} <= names
    assert {"ablation-paper.md", "ablation-paper.tex", "ablation-paper-table.tex"} <= names
    assert "ablation-paper.csv" not in names
    fragment = (tmp_path / "known" / "ablation-table.tex").read_text()
    assert fragment.startswith("% Table ablation of sweep known, written by capsweep report.\n")
