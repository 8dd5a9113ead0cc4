"""Selection never sees the test split: one value is asked for numbers, and it refuses them.

The law is held against every choice that is made of records: whatever stands in their test figures,
nothing is chosen otherwise. That no module beside these finds another way is seen by its words.
"""

import ast
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sweeps.aggregation.results.ranking import confirmed_arms, ranking
from sweeps.aggregation.results.search_results import search_results
from sweeps.aggregation.sensitivity.sensitivity import sensitivity
from sweeps.execution.driver.kept_weights import WeightsToKeep, unwanted_weights
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import TrialRecord
from tests.sweeps.aggregation.known_search import floats, searched
from tests.sweeps.aggregation.known_sweep import known_sweep, with_metrics
from tests.sweeps.aggregation.small_search import confirmed_search, search_of, trained

ROOT = Path(__file__).parents[2]
CHOOSING = (
    "capsmodel/stopping",
    "search_spaces/plans",
    "sweeps/aggregation/results/ranking.py",
    "sweeps/aggregation/results/search_results.py",
    "sweeps/aggregation/sensitivity",
    "sweeps/execution/driver/kept_weights.py",
    "sweeps/execution/search",
)
WORDS = {"test_error", "test_errors", "extra_test_errors", "TEST_ERROR", "METRIC_TEST_ERROR"}
WORDS |= {"EXTRA_TEST_ERROR", "METRIC_EXTRA_TEST_ERRORS"}

Records = Mapping[str, TrialRecord]


def rank(manifest: Manifest, records: Records) -> object:
    return [(one.arm.arm.name, one.values, one.is_confirmed) for one in ranking(manifest, records)]


def keep(manifest: Manifest, records: Records) -> object:
    return unwanted_weights(manifest, records, WeightsToKeep(1))


def search(manifest: Manifest, records: Records) -> object:
    found = search_results(manifest, records)
    values = [(one.state, one.value, one.repeats) for one in found.proposals]
    return values, found.best, [arm.arm.name for arm in confirmed_arms(manifest, records)]


def explain(manifest: Manifest, records: Records) -> object:
    found = sensitivity(manifest, records)
    return [(one.best, one.best_marginal(found.results.objective)) for one in found.settings]


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
POISON = st.one_of(st.none(), st.floats(0, 1), st.just(math.nan), st.just(math.inf))


@pytest.mark.parametrize(("choose", "known"), CHOICES)
@given(data=st.data())
def test_nothing_is_chosen_otherwise_whatever_the_test_figures_are(
    choose: Callable[[Manifest, Records], object],
    known: tuple[Manifest, Records],
    data: st.DataObject,
) -> None:
    manifest, records = known
    names = {"test_error", "test_error.familiar"}
    poisoned = {
        key: with_metrics(record, **{name: data.draw(POISON) for name in names})
        for key, record in records.items()
    }
    assert choose(manifest, poisoned) == choose(manifest, records)


def test_a_law_of_choices_bites_where_the_validation_figures_change() -> None:
    manifest, records = known_sweep()
    worse = {
        key: with_metrics(record, validation_error=0.9) if record.arm == "three rounds" else record
        for key, record in records.items()
    }
    assert rank(manifest, worse) != rank(manifest, records)


@pytest.mark.parametrize("name", ["test_error", "test_error.familiar"])
def test_a_manifest_whose_search_chooses_by_the_test_split_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="selection never sees the test split"):
        search_of(objective=name)


def chosen_in(path: Path) -> list[str]:
    """Return the words for test figures that a module has, in names and in texts of one word."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: list[str] = []
    for node in ast.walk(tree):
        word: Any = getattr(node, "id", None) or getattr(node, "attr", None)
        if isinstance(node, ast.Constant):
            word = node.value
        if isinstance(word, str) and word in WORDS:
            found.append(word)
    return found


@pytest.mark.parametrize("place", CHOOSING)
def test_what_chooses_has_no_word_for_test_figures(place: str) -> None:
    path = ROOT / place
    modules = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    assert modules
    found = {str(module.relative_to(ROOT)): chosen_in(module) for module in modules}
    assert {name: words for name, words in found.items() if words} == {}
