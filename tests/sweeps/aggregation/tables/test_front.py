"""The front of a search with two objectives: as a table, as a figure, and as `capsweep best`."""

import csv
import io
from typing import Any

import numpy as np
import pytest

from search_spaces.plans.search import BASE
from sweeps.aggregation.best_configs import ranked_configs
from sweeps.aggregation.ranking_sentences import ranking_sentences
from sweeps.aggregation.rendering.csv_text import to_csv
from sweeps.aggregation.rendering.figure_style import drawn
from sweeps.aggregation.rendering.latex import to_latex
from sweeps.aggregation.results.front_results import FrontResults, front_results
from sweeps.aggregation.results.predictions import Predictions, SplitPredictions
from sweeps.aggregation.tables.columns import with_departures
from sweeps.aggregation.tables.confirmation_table import confirmation_table
from sweeps.aggregation.tables.front_figure import front_figure
from sweeps.aggregation.tables.front_table import front_table
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import TrialRecord
from tests.sweeps.aggregation.known_sweep import by_key, finished, put_sweep, trial_key
from tests.sweeps.aggregation.small_search import FRESH, arm_name, search_with_base, trained

SIZES = {BASE: 500, "proposal 0": 900, "proposal 1": 400, "proposal 2": 300, "proposal 3": 450}
WRONG = {0: 4, 1: 6, 2: 60, 3: 7}
IMAGES = 600


def weighed(chosen: tuple[int, ...] = (0, 1), **sizes: int) -> Manifest:
    """Return a search with a cost: proposals 0, 1 and 2 are its front, 3 lies behind 1."""
    written = search_with_base(chosen).model_dump(mode="json")
    for arm in written["arms"]:
        arm["num_parameters"] = sizes.get(arm["name"].replace(" ", "_"), SIZES[arm["name"]])
    written["search"] |= {"cost": "num_parameters"}
    return Manifest.model_validate(written)


def records() -> dict[str, TrialRecord]:
    base = [finished(BASE, seed, 8) for seed in (0, *FRESH)]
    return trained(WRONG, {0: (5, 6, 7), 1: (9, 9, 12)}) | by_key(*base)


def predictions(**wrong: int) -> dict[str, Predictions]:
    """Return validation images on which arms err, the first so many unless told otherwise."""
    labels = np.zeros(IMAGES, dtype=np.uint8)
    predicted = {}
    for number, count in WRONG.items():
        classes = labels.copy()
        first = wrong.get(f"from_{number}", 0)
        classes[first : first + count] = 1
        test = SplitPredictions(labels, labels)
        predicted[trial_key(arm_name(number), 0)] = Predictions(
            "x", test, SplitPredictions(classes, labels)
        )
    return predicted


def front(**more: Any) -> FrontResults:
    return front_results(weighed(), records(), predictions(**more))


def rows(results: FrontResults) -> list[dict[str, str]]:
    table = front_table(results, weighed()).for_programs
    assert table
    return list(csv.DictReader(io.StringIO(to_csv(table))))


def test_the_front_stands_first_the_smallest_at_its_head_and_programs_read_all() -> None:
    table = front_table(front(), weighed())
    shown = [[cell.text for cell in row] for row in table.rows]
    assert [row[0] for row in shown] == [
        "proposal 2",
        "proposal 1",
        "proposal 0",
        "base (baseline)",
    ]
    assert [row[2] for row in shown] == ["300", "400", "900", "500"]
    assert [row[3] for row in shown] == ["10.00", "1.00", "0.67", "1.33"]
    assert shown[3][5] == "dominated, by how much is not known, by proposal 1"
    assert shown[1][6] == "1.67 (0.29)"
    assert shown[3][6] == "1.33 (0.00)"
    assert any(
        note.startswith("In brackets: the standard deviation over seeds") for note in table.notes
    )
    assert table.lead == (
        "3 of 4 proposals that ran to full length are on the front. Better than the base in both: "
        "proposal 1."
    )
    read = rows(front())
    assert [row["standing"] for row in read[:4]] == ["front"] * 3 + ["within noise"]
    assert read[3]["dominated_by"] == "proposal 1"
    assert read[3]["num_parameters"] == "450"


def test_each_row_of_the_csv_says_what_the_launch_changed() -> None:
    manifest = weighed().model_copy(update={"departures": {"trials": (40, 4)}})
    table = front_table(front_results(manifest, records(), predictions()), manifest)
    programs = with_departures(manifest, table).for_programs
    assert programs is not None
    lines = csv.DictReader(io.StringIO(to_csv(programs)))
    assert {line["departures"] for line in lines} == {
        "The sweep was launched smaller than declared: trials 4 instead of 40 (--trials)."
    }


def test_what_errs_on_more_images_than_chance_would_is_dominated() -> None:
    sure = WRONG | {3: 30}
    trials = trained(sure) | by_key(*(finished(BASE, seed, 8) for seed in (0, *FRESH)))
    predicted = predictions()
    labels = np.zeros(IMAGES, dtype=np.uint8)
    classes = labels.copy()
    classes[:30] = 1
    key = trial_key(arm_name(3), 0)
    predicted[key] = Predictions("x", predicted[key].test, SplitPredictions(classes, labels))
    results = front_results(weighed(), trials, predicted)
    assert {arm.name: arm.standing for arm in results.arms}["proposal 3"] == "dominated"
    notes = " ".join(front_table(results, weighed()).notes)
    assert "Of the other 1 proposals 1 are dominated by more than noise" in notes


def test_without_predictions_and_seeds_nothing_is_said_of_noise() -> None:
    results = front_results(weighed(), records())
    assert {arm.standing for arm in results.arms} == {"front", "not judged"}
    assert any("neither predictions" in note for note in front_table(results, weighed()).notes)


def test_a_base_that_is_better_than_some_of_the_front_is_told() -> None:
    manifest = weighed(base=300)
    results = front_results(manifest, records(), predictions())
    table = front_table(results, manifest)
    assert "None is better than the base in both." in table.lead
    assert any(note.endswith("these of the front: proposal 2.") for note in table.notes)


def test_before_anything_has_ended_there_is_no_front_and_the_figure_says_so() -> None:
    results = front_results(weighed(), {})
    assert results.arms == ()
    assert "there is no front" in " ".join(front_table(results, weighed()).notes)
    assert b"<svg" in drawn(lambda: front_figure(results), "svg")


def test_the_figure_is_the_same_for_the_same_results_and_tells_shapes_apart() -> None:
    first = drawn(lambda: front_figure(front()), "svg")
    assert drawn(lambda: front_figure(front()), "svg") == first
    axes = front_figure(front()).axes[0]
    markers = {str(line.get_marker()) for line in axes.get_lines() if line.get_marker() != "None"}
    assert {"o", "s", "^"} < markers
    assert any("odot" in marker for marker in markers)


def test_latex_holds_the_front() -> None:
    assert "proposal 2" in to_latex(front_table(front(), weighed()))


def test_a_search_with_one_objective_has_no_front() -> None:
    with pytest.raises(BadInput, match="has one objective"):
        front_results(search_with_base([0]), records())


def test_the_confirmation_says_that_its_arms_stand_for_the_front() -> None:
    table = confirmation_table(weighed(), records())
    assert "Parameters" in [column.title for column in table.columns]
    assert any("arms that stand for the front" in note for note in table.notes)
    titles = [
        column.title for column in confirmation_table(search_with_base([0]), records()).columns
    ]
    assert "Parameters" not in titles


def test_best_gives_the_front_by_the_fresh_seeds(store: Any) -> None:
    put_sweep(store, weighed(), records().values())
    ranking = ranked_configs("known", store)
    names = [(config.arm, config.num_parameters) for config in ranking.configs]
    assert names == [("proposal 0", 900), ("proposal 1", 400)]
    assert any(
        "The front by the fresh seeds" in line for line in ranking_sentences("known", ranking)
    )


def test_best_leaves_out_what_fresh_seeds_show_to_be_dominated(store: Any) -> None:
    manifest = weighed(proposal_0=300)
    put_sweep(store, manifest, records().values())
    assert [config.arm for config in ranked_configs("known", store).configs] == ["proposal 0"]
