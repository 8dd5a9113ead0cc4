"""The table and the figure of an evaluation by which arms are compared."""

import csv
import io
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from capsmodel.metrics import Metric
from search_spaces.tables import Curve, EvaluationsTable
from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.rendering.csv_text import to_csv
from sweeps.aggregation.rendering.figure_style import drawn
from sweeps.aggregation.rendering.table import Table, shown
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.tables.compared_evaluation_table import MOST_POINTS
from sweeps.aggregation.tables.evaluations_notes import evaluation_text
from sweeps.aggregation.tables.kinds import headlines, make
from sweeps.records.errors import BadInput
from sweeps.records.manifest_evaluation import ManifestEvaluation
from tests.sweeps.aggregation.evaluated import Values, curve_evaluation, evaluated
from tests.sweeps.aggregation.known_sweep import IMAGES, by_key, manifest_of
from tests.sweeps.aggregation.predicted import predictions_of, trials_of

PLACES = (0.0, 1.0, 2.0)
BELIEF = ManifestEvaluation(
    evaluation_key="cd" * 10,
    kind="belief",
    looks_at="validation",
    metrics=(Metric(name="mean", direction=None, moment="end"),),
)


def section(
    places: tuple[float, ...] = PLACES,
    *,
    by_image: bool = True,
    table: Any = None,
    of_arms: Mapping[str, Any] = MappingProxyType({}),
    **more: Any,
) -> Section:
    """Return the section of a sweep of a baseline, an arm as good, and one that falls behind."""
    chance = np.random.default_rng(0)
    hard = chance.normal(size=IMAGES)
    slopes = {"base": 0.1, "alike": 0.1, "worse": 0.5}

    def rows(arm: str) -> list[np.ndarray]:
        passed = hard + 0.3 * chance.normal(size=IMAGES)
        return [passed > 1.6 - slopes[arm] * place for place in places]

    values: Values = {arm: [rows(arm) for _ in range(3)] for arm in slopes}
    wrong = {
        arm: [np.flatnonzero(row[0]).tolist() for row in seeds] for arm, seeds in values.items()
    }
    moved = curve_evaluation(places)
    trials, wrong_images = evaluated(by_key(*trials_of(wrong)), {"moved": values}, moved)
    content = {"evaluations": [moved.model_dump(), BELIEF.model_dump()]} | more
    manifest = manifest_of([*slopes], **content)
    arms = tuple(arm.model_copy(update=of_arms) for arm in manifest.arms)
    manifest = manifest.model_copy(update={"arms": arms})
    trials = {key: trial.model_copy(update={"target": "missed"}) for key, trial in trials.items()}
    results = Results(
        manifest,
        trials,
        histories=lambda records, metric: {},
        find_predictions=lambda records: predictions_of(wrong, ""),
        find_wrong_images=lambda records: wrong_images if by_image else {},
    )
    made = make(table or EvaluationsTable(), results)
    assert made is not None
    return made


def read(table: Table) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(to_csv(table.for_programs or table))))


def test_each_arm_has_a_row_with_its_mean_difference_and_points() -> None:
    first, others = section().tables
    assert [column.title for column in shown(first).columns] == [
        "Arm",
        "Mean error (%)",
        "Difference",
        "Verdict",
        "From clean",
        "shift 0",
        "shift 1",
        "shift 2",
        "Parameters",
    ]
    assert [row[0].text for row in first.rows] == ["base (baseline)", "alike", "worse"]
    assert others.name == "evaluations"
    assert {row[0].values[0] for row in others.rows} == {"belief"}


def test_a_terminal_is_shown_the_comparison_below_the_table_of_test_errors() -> None:
    of_errors = Section("ablation", "ablation", tables=(Table("ablation", "Test error", (), ()),))
    by_evaluation = section()
    assert headlines([of_errors, by_evaluation]) == (*of_errors.tables, by_evaluation.tables[0])
    assert headlines([by_evaluation]) == by_evaluation.tables[:1]


def test_a_difference_in_bold_stands_above_the_table_and_its_points_are_marked() -> None:
    table = section().tables[0]
    assert table.lead.startswith(
        "By the mean error over shift from 0 to 2 pixels, different from the baseline: worse (+"
    )
    bold = {cell.text for cell in table.rows[-1] if cell.is_bold}
    assert "different" in bold
    assert table.rows[-1][8].is_bold  # the last point
    assert not table.rows[-1][6].is_bold  # nothing is moved there
    assert not any(cell.is_bold for row in table.rows[:-1] for cell in row)


def test_what_could_be_shown_stands_above_a_table_of_undecided_arms() -> None:
    rows = read(section().tables[0])
    arms = {row["arm"]: row for row in rows if row["figure"] == "primary"}
    assert float(arms["worse"]["detectable_points"]) > 0
    note = next(
        note for note in section().tables[0].notes if note.startswith("Bold: p < .05 over all")
    )
    assert "comparisons of arms and evaluations together" in note
    assert "A point in bold differs from the baseline's: only where its arm does" in note


def test_programs_read_a_row_an_arm_and_point_with_its_coordinate() -> None:
    rows = read(section().tables[0])
    points = [row for row in rows if row["figure"] == "point" and row["arm"] == "worse"]
    assert [(row["coordinate"], row["at"], row["axis_unit"]) for row in points] == [
        ("shift", "0.0", "pixels"),
        ("shift", "1.0", "pixels"),
        ("shift", "2.0", "pixels"),
    ]
    primary = next(row for row in rows if row["figure"] == "primary" and row["arm"] == "worse")
    assert (primary["coordinate"], primary["at"]) == ("", "")
    half = float(primary["simultaneous_half_width_points"])
    ends = [float(primary[f"simultaneous_points_{end}"]) for end in ("low", "high")]
    assert half == pytest.approx((ends[1] - ends[0]) / 2)
    means = [float(row["mean_percent"]) for row in points]
    assert float(primary["mean_percent"]) == pytest.approx(
        means[0] / 4 + means[1] / 2 + means[2] / 4
    )
    assert float(primary["from_clean_points"]) == pytest.approx(
        float(primary["mean_percent"]) - means[0]
    )


def test_an_arms_mean_is_that_of_the_weighted_values_of_its_trials() -> None:
    made = section()
    (trials,) = made.data
    assert trials.name == f"{made.tables[0].name}-trials"
    rows, means = read(trials), read(made.tables[0])
    assert len(rows) == len({(row["trial_key"], row["at"]) for row in rows}) == 3 * 3 * len(PLACES)
    for row in means[:3]:
        values = [float(r["value"]) * float(r["weight"]) for r in rows if r["arm"] == row["arm"]]
        assert row["figure"] == "primary"
        assert float(row["mean_percent"]) == pytest.approx(100 * sum(values) / 3)


def test_readers_see_six_points_at_most_the_first_and_the_last_among_them() -> None:
    places = tuple(float(n) for n in range(10))
    table = section(places).tables[0]
    titles = [column.title for column in table.columns if column.title.startswith("shift")]
    assert len(titles) == MOST_POINTS
    assert (titles[0], titles[-1]) == ("shift 0", "shift 9")
    assert len(read(table)) == 3 * (1 + len(places))


def test_an_evaluation_without_values_by_image_is_listed_as_it_was() -> None:
    made = section(by_image=False)
    (table,) = made.tables
    assert table.name == "evaluations"
    assert len(table.rows) == 3 * (len(PLACES) + 1)
    assert table.rows[0][1].values[3:] == ("shift", 0.0, "pixels")
    assert not any(cell.is_bold for row in table.rows for cell in row)
    assert len(made.figures) == 1


def test_the_curve_of_an_evaluation_is_drawn_once_and_always_alike() -> None:
    made = section()
    assert [figure.name for figure in made.figures] == ["evaluations-moved"]
    declared = Curve(x="shift")
    assert declared.name == "curve-shift"
    tables = [EvaluationsTable().model_dump(), declared.model_dump()]
    assert section(tables=tables).figures == ()
    own = section(table=declared, tables=tables)
    assert [figure.name for figure in own.figures] == ["curve-shift"]
    assert own.figures[0].image("svg") == drawn(section(table=declared).figures[0].draw, "svg")


def test_a_figure_over_a_coordinate_that_no_evaluation_has_is_refused() -> None:
    with pytest.raises(BadInput, match="no evaluation of the sweep 'known' has a curve over it"):
        section(table=Curve(x="epsilon"))


def test_settings_of_an_evaluation_are_words_and_lists_their_ends() -> None:
    settings = {
        "attack": {"kind": "pgd", "steps": 20},
        "epsilons": [0.0, 0.1, 0.3],
        "values": [],
        "norm": "linf",
        "is_targeted": False,
    }
    evaluation = curve_evaluation(settings=settings)
    assert evaluation_text(evaluation) == (
        "moved (attack pgd, steps 20, epsilons 0 to 0.3, norm linf, is_targeted False)"
    )


def test_a_table_of_arms_that_stop_in_a_window_says_which_are_matched_on_clean_images() -> None:
    window = {"metric": "validation_error", "at_or_below": 0.06, "window": 0.01}
    of_arms = {"config": {"stopping": window}}
    table = section(of_arms=of_arms, margin_points=5.0).tables[0]
    assert any(
        note.startswith("Matched: clean test errors of alike, worse") for note in table.notes
    )
    assert (
        "Trials that never reached their window and are in the means: 3 of 3 of base, 3 of 3 of "
        "alike, 3 of 3 of worse."
    ) in table.notes
    assert {row["arm"]: row["is_matched"] for row in read(table)} == {
        "base": "",
        "alike": "true",
        "worse": "true",
    }
    narrow = section(of_arms=of_arms, margin_points=0.01).tables[0]
    assert any(note.startswith("Not matched: clean test errors of alike") for note in narrow.notes)
    assert not any("atched" in note for note in section().tables[0].notes)


def test_multiply_adds_stand_behind_parameters_where_the_manifest_has_them() -> None:
    table = section(of_arms={"num_multiply_adds": 9120}).tables[0]
    assert [column.title for column in shown(table).columns][-1] == "Multiply-adds"
    assert [cell.text for row in table.rows for cell in row].count("9,120") == 3
    assert any(
        note.startswith("Multiply-adds: those of matrix products and") for note in table.notes
    )
    assert {row["num_multiply_adds"] for row in read(table)} == {"9120"}
    assert "Training times depend on the machine and are in cost.md." in table.notes
    assert not any("Multiply-adds" in note for note in section().tables[0].notes)
