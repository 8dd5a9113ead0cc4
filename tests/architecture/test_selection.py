"""Selection never sees the test split: one value is asked for numbers, and it refuses them.

The law is held against every choice that is made of records: whatever stands in their test figures,
nothing is chosen otherwise. That no module beside these finds another way is seen by its words.
"""

import ast
import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from capsmodel.evaluation import Confidence, Evaluation, ShiftedTestError
from capsmodel.metrics import Objective
from search_spaces.evaluation_key import evaluation_key
from sweeps.aggregation.results.ranking import confirmed_arms, first_choice, ranking
from sweeps.aggregation.results.search_results import search_results
from sweeps.aggregation.sensitivity.sensitivity import sensitivity
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.launch.weights import WeightsToKeep, unwanted_weights
from sweeps.execution.plan.plan_runner import TrialFacts
from sweeps.execution.plan.trial_measures import TrialMeasures
from sweeps.records.evaluation_names import evaluation_metric
from sweeps.records.manifest import Manifest
from sweeps.records.manifest_evaluation import ManifestEvaluation
from sweeps.records.trial_record import TrialRecord
from tests.sweeps.aggregation.known_search import floats, searched
from tests.sweeps.aggregation.known_sweep import known_sweep, with_metrics
from tests.sweeps.aggregation.small_search import confirmed_search, search_of, trained

ROOT = Path(__file__).parents[2]
CHOOSING = (
    "capsmodel/stopping.py",
    "search_spaces/plans",
    "sweeps/aggregation/results/ranking.py",
    "sweeps/aggregation/results/search_results.py",
    "sweeps/aggregation/sensitivity",
    "sweeps/execution/launch/weights.py",
    "sweeps/execution/plan/trial_measures.py",
    "sweeps/execution/search",
)
WORDS = {"test_error", "test_errors", "extra_test_errors", "TEST_ERROR", "METRIC_TEST_ERROR"}
WORDS |= {"EXTRA_TEST_ERROR", "METRIC_EXTRA_TEST_ERRORS"}
WORDS |= {"EVALUATION", "evaluations", "evaluation_metric", "recorded_evaluations"}
ALLOWED = {
    # weights are kept until they have been looked at: it asks whether, and not what for
    "sweeps/execution/launch/weights.py": {"evaluations"},
    # a search may limit metrics of evaluations that look at validation images
    "search_spaces/plans/limited_measures.py": {"evaluations"},
    "sweeps/execution/plan/trial_measures.py": {"evaluations"},
}

Records = Mapping[str, TrialRecord]


def rank(manifest: Manifest, records: Records) -> object:
    return [
        (ranked.arm.arm.name, ranked.values, ranked.is_confirmed)
        for ranked in ranking(manifest, records)
    ]


def keep(manifest: Manifest, records: Records) -> object:
    return unwanted_weights(manifest, records, WeightsToKeep(1))


def search(manifest: Manifest, records: Records) -> object:
    result = search_results(manifest, records)
    values = [(proposal.state, proposal.value, proposal.repeats) for proposal in result.proposals]
    return (
        values,
        first_choice(manifest, records),
        [arm.arm.name for arm in confirmed_arms(manifest, records)],
    )


def explain(manifest: Manifest, records: Records) -> object:
    result = sensitivity(manifest, records)
    return [
        (setting.best, setting.best_marginal(result.results.objective))
        for setting in result.settings
    ]


UNCONFIRMED = (search_of(), trained({0: 30, 1: 6, 2: 12, 3: 9}))
PLANTED = searched([floats("rate")], [{"rate": n / 8} for n in range(8)], lambda p: p["rate"])
CHOICES = [
    (rank, known_sweep()),
    (rank, confirmed_search()),
    (rank, UNCONFIRMED),
    (keep, known_sweep()),
    (keep, confirmed_search()),
    (search, confirmed_search()),
    (search, UNCONFIRMED),
    (explain, PLANTED),
]
EVALUATION_KEY = "ab" * 10
OF_THE_TEST_SPLIT = (
    "test_error",
    "test_error.familiar",
    evaluation_metric("shifted_test_error", EVALUATION_KEY, "error.shift_1"),
)
POISON = st.one_of(st.none(), st.floats(0, 1), st.just(math.nan), st.just(math.inf))


@pytest.mark.parametrize(("choose", "known"), CHOICES)
@given(data=st.data())
def test_nothing_is_chosen_otherwise_whatever_the_test_figures_are(
    choose: Callable[[Manifest, Records], object],
    known: tuple[Manifest, Records],
    data: st.DataObject,
) -> None:
    manifest, records = known
    poisoned = {key: with_test_figures(record, data.draw) for key, record in records.items()}
    assert choose(manifest, poisoned) == choose(manifest, records)


def with_test_figures(
    record: TrialRecord, draw: Callable[[st.SearchStrategy[float | None]], float | None]
) -> TrialRecord:
    figures = {name: draw(POISON) for name in OF_THE_TEST_SPLIT}
    result = {EVALUATION_KEY: {"error.shift_1": figures[OF_THE_TEST_SPLIT[-1]] or 0.0}}
    return with_metrics(record, **figures).model_copy(update={"evaluations": result})


def test_a_plan_is_told_how_a_trial_ended_without_what_was_found_of_the_test_split(
    tmp_path: Path,
) -> None:
    _, records = known_sweep()
    plain = next(record for record in records.values() if record.is_counted)
    poisoned = with_metrics(plain, **dict.fromkeys(OF_THE_TEST_SPLIT, 0.5))
    reported = TrialFacts(tmp_path, {plain.trial_key: poisoned}.get).ended(plain.trial_key)
    assert reported is not None
    assert reported.metrics == {
        name: v for name, v in plain.metrics.items() if name != "test_error"
    }


def test_a_law_of_choices_bites_where_the_validation_figures_change() -> None:
    manifest, records = known_sweep()
    worse = {
        key: with_metrics(record, validation_error=0.9) if record.arm == "three rounds" else record
        for key, record in records.items()
    }
    assert rank(manifest, worse) != rank(manifest, records)


@given(data=st.data())
def test_what_a_limit_goes_by_is_the_same_whatever_the_test_figures_are(
    data: st.DataObject,
) -> None:
    limits = {"seconds_per_epoch": 2.0, "shifted_test_error.error.shift_1": 0.5}
    of_test = ManifestEvaluation(
        evaluation_key=EVALUATION_KEY, kind="shifted_test_error", looks_at="test"
    )
    manifest = search_of(measured_limits=limits).model_copy(update={"evaluations": (of_test,)})
    plain = next(iter(trained({0: 30}).values())).model_copy(update={"duration_seconds": 5.0})
    poisoned = with_test_figures(plain, data.draw)

    def measures(record: TrialRecord) -> object:
        here = Path("no such folder")
        reader = TrialMeasures(manifest, partial(CellFolder, here), {record.trial_key: record}.get)
        return reader.at_end(record.trial_key)

    assert measures(poisoned) == measures(plain) == {"seconds_per_epoch": 5.0 / plain.epochs}


@pytest.mark.parametrize("name", OF_THE_TEST_SPLIT)
def test_a_manifest_whose_search_chooses_by_the_test_split_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match=r"selection never sees .* test split"):
        search_of(objective=name)


@pytest.mark.parametrize("evaluation", [ShiftedTestError(), Confidence()], ids=lambda e: e.kind)
def test_nothing_is_chosen_by_what_an_evaluation_found_under_its_name_in_records(
    evaluation: Evaluation,
) -> None:
    key = evaluation_key(evaluation)
    for metric in evaluation.metrics:
        name = evaluation_metric(evaluation.kind, key, metric.name)
        with pytest.raises(ValueError, match="selection never sees what an evaluation found"):
            Objective(metric.model_copy(update={"name": name, "direction": "smaller"}))


def chosen_in(path: Path) -> list[str]:
    """Return the words for test figures that a module has, in names and in texts of one word."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    result: list[str] = []
    for node in ast.walk(tree):
        word: Any = getattr(node, "id", None) or getattr(node, "attr", None)
        if isinstance(node, ast.Constant):
            word = node.value
        if isinstance(word, str) and word in WORDS:
            result.append(word)
    return result


@pytest.mark.parametrize("place", CHOOSING)
def test_what_chooses_has_no_word_for_test_figures(place: str) -> None:
    path = ROOT / place
    modules = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    assert modules
    result = {str(module.relative_to(ROOT)): set(chosen_in(module)) for module in modules}
    result = {name: used - ALLOWED.get(name, set()) for name, used in result.items()}
    assert {name: used for name, used in result.items() if used} == {}
