"""A report shows what each arm takes for what, and its surest mistakes, by the names of classes."""

from typing import Any

import numpy as np
import pytest

from capsmodel.evaluation import Confusion
from search_spaces.evaluation_key import evaluation_key
from sweeps.aggregation.rendering.figure_style import figure_style
from sweeps.aggregation.rendering.page.html_page import inline_drawing
from sweeps.aggregation.report.making import make_report
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.tables.confusion_figure import confused, confusion_drawing
from sweeps.records.manifest_evaluation import ManifestEvaluation
from tests.sweeps.aggregation.known_sweep import finished, manifest_of

KEY = evaluation_key(Confusion())


def arrays(*mistakes: tuple[int, float], names: str = "cat\nfiery dog") -> dict[str, Any]:
    """Return what a trial found: places of its mistakes, with the belief in each."""
    number = len(mistakes)
    return {
        "counts": np.array([[20 - number, number], [0, 7]]),
        "mistaken_places": np.array([place for place, _ in mistakes], int),
        "mistaken_beliefs": np.array([belief for _, belief in mistakes], np.float32),
        "mistaken_labels": np.zeros(number, int),
        "mistaken_predicted": np.ones(number, int),
        "mistaken_images": np.full((number, 1, 6, 6), 0.5, np.float32),
        "class_names": np.frombuffer(names.encode(), np.uint8),
    }


def test_trials_are_added_up_and_a_mistake_of_several_stands_once() -> None:
    shown = confused([arrays((3, 0.9), (4, 0.5)), arrays((4, 0.7))])
    assert shown.counts.tolist() == [[37, 3], [0, 14]]
    assert [round(mistake.belief, 3) for mistake in shown.mistakes] == [0.9, 0.7]
    assert shown.names == ("cat", "fiery dog")
    many = confused([arrays(*((place, 0.5) for place in range(15)))])
    assert len(many.mistakes) == 10


@pytest.mark.parametrize("mistakes", [(), ((3, 0.9),)])
def test_the_figure_has_the_names_the_counts_and_the_mistakes(mistakes: Any) -> None:
    with figure_style():
        drawing = confusion_drawing(confused([arrays(*mistakes)]), "base: test images of 1 trial")
    texts = {
        text.get_text() for text in drawing.findobj(lambda artist: hasattr(artist, "get_text"))
    }
    assert {"cat", "fiery dog", f"{20 - len(mistakes)}", "base: test images of 1 trial"} <= texts
    assert ("cat, taken for\nfiery dog (0.90)" in texts) == bool(mistakes)


def results(find_arrays: Any, arms: tuple[str, ...] = ("base", "other")) -> Results:
    evaluation = ManifestEvaluation(
        evaluation_key=KEY, kind="confusion", looks_at="test", metrics=Confusion().metrics
    )
    manifest = manifest_of([*arms], seeds=[0, 1])
    manifest = manifest.model_copy(
        update={"evaluations": (evaluation,), "tables": (*manifest.tables, TABLE)}
    )
    trials = [
        finished(arm, seed, 30).model_copy(update={"evaluations": {KEY: {"balanced_error": 0.1}}})
        for arm in arms
        for seed in (0, 1)
    ]
    return Results(
        manifest,
        {trial.trial_key: trial for trial in trials},
        lambda *_: {},
        find_arrays=find_arrays,
    )


TABLE = (
    manifest_of(["base"], [0])
    .tables[0]
    .model_copy(update={"kind": "evaluations", "name": "evaluations"})
)


def test_a_report_has_a_figure_for_each_arm_and_its_digest_knows_them() -> None:
    def find_arrays(trials: Any, key: str) -> Any:
        assert key == KEY
        return {trial.trial_key: arrays((3, 0.9)) for trial in trials}

    report = make_report(results(find_arrays))
    section = next(section for section in report.sections if section.kind == "evaluations")
    assert [figure.name for figure in section.figures] == [
        "evaluations-confusion-1",
        "evaluations-confusion-2",
    ]
    page = inline_drawing(section.figures[0].image("svg"), "f1-", "a picture")
    assert "data:image/png;base64," in page

    def other(trials: Any, key: str) -> Any:
        return {trial.trial_key: arrays((4, 0.9)) for trial in trials}

    assert make_report(results(other)).provenance.digest != report.provenance.digest
    nothing = make_report(results(lambda *_: {}))
    assert all(not section.figures for section in nothing.sections if section.kind == "evaluations")


def test_arms_without_a_figure_are_named() -> None:
    def find_arrays(trials: Any, key: str) -> Any:
        return {trial.trial_key: arrays((3, 0.9)) for trial in trials}

    report = make_report(results(find_arrays, ("base", "b", "c", "d", "e", "f")))
    section = next(section for section in report.sections if section.kind == "evaluations")
    assert len(section.figures) == 4
    assert section.notes == (
        "Confusions without a figure: e, f. See capsweep show TRIAL --pictures.",
    )
    fewer = make_report(results(find_arrays))
    assert all(not section.notes for section in fewer.sections if section.kind == "evaluations")
