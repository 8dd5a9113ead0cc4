"""Looks of real trainings: by the folders of a launch, and by the store alone. It takes seconds."""

import shutil
from pathlib import Path
from typing import Any

import pytest

import sweeps
from capsmodel import TrainingConfig
from capsmodel.data import Digits
from capsmodel.evaluation import ShiftedTestError
from capsmodel.models import ConvNet
from capsmodel.optimisers import Adam
from capsmodel.stopping import FixedEpochs
from search_spaces import ListedArms, Sweep, UntilDecided
from search_spaces.looks import Look
from sweeps.execution.engine.engine import CannotGoOn
from sweeps.execution.launch.expected_trainings import expected_trainings
from sweeps.execution.launch.look_taker import LookTaker
from sweeps.execution.launch.result import SweepResult
from sweeps.tracking.opening import open_store
from tests.sweeps.tracking.memory_store import MemoryStore

RATE = "optimiser.learning_rate"
SWEEP = Sweep(
    name="until",
    base=TrainingConfig(
        model=ConvNet(conv_channels=(16,), conv_kernel=3, pooling=2, hidden=(64,)),
        loss="cross_entropy",
        data=Digits(),
        optimiser=Adam(learning_rate=0.005),
        stopping=FixedEpochs(epochs=3),
        batch_size=32,
    ),
    plan=ListedArms(
        baseline="base",
        arms={
            "base": {},
            "not trained": {RATE: 1e-7},
            "alike": {RATE: 0.0055},
        },
    ),
    seeds=UntilDecided(first=3, most=4),
)


def launched(folder: Path, storage: str, sweep: Sweep = SWEEP, **options: Any) -> SweepResult:
    places: dict[str, Any] = {
        "storage": folder / storage,
        "reports": folder / "reports",
        "engine": "inline",
    }
    return sweeps.run(sweep, **(places | options))


@pytest.fixture
def folder(tmp_path: Path, empty_database: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a store of two storages."""
    monkeypatch.delenv("CAPSWEEP_TRACKING_URI", raising=False)
    shutil.copy(empty_database, tmp_path / "mlflow.db")
    return tmp_path


def test_a_decided_arm_gets_no_more_and_the_log_has_the_verdicts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = f"sqlite:///{folder / 'mlflow.db'}"
    result = launched(folder, "first", tracking_uri=uri)
    assert (result.exit_code, result.num_trained) == (0, 3 + 4 + 4)
    store = open_store(uri, folder / "first")
    manifest = store.manifest("until")
    assert manifest.plan
    looks = [(look.num_seeds, dict(look.verdicts)) for look in manifest.plan.looked]
    assert looks[0] == (3, {"not trained": "different", "alike": "undecided"})
    assert looks[1][0] == 4
    assert [*looks[1][1]] == ["alike"]

    fields = {name: getattr(SWEEP, name) for name in type(SWEEP).model_fields}
    wider = Sweep(**{**fields, "name": "wider", "seeds": UntilDecided(most=12, margin_points=2.0)})
    survey = sweeps.plan(wider, storage=folder / "first", tracking_uri=uri)
    expected = expected_trainings(survey)
    assert expected
    assert (expected.difference_points, expected.is_margin) == (2.0, True)
    assert 9 <= expected.if_all_differ <= expected.if_none_differs <= 36

    before = manifest.model_copy(update={"plan": manifest.plan.model_copy(update={"looked": ()})})
    nowhere = LookTaker(folder / "empty" / "cells", store)
    again = nowhere.take(Look(3, ("not trained", "alike")), before)
    assert again == manifest.plan.looked[0], "the store tells the same as the folders"
    silent = MemoryStore()
    monkeypatch.setattr(silent, "exists", _silent)
    taker = LookTaker(folder / "empty" / "cells", silent)
    with pytest.raises(CannotGoOn, match="the look at 3 seeds needs trials that"):
        taker.take(Look(3, ("alike",)), before)


def test_where_an_arm_is_replaced_every_look_is_taken_anew(folder: Path) -> None:
    uri = f"sqlite:///{folder / 'mlflow.db'}"
    fields = {name: getattr(SWEEP, name) for name in type(SWEEP).model_fields}
    plan = ListedArms(baseline="base", arms={"base": {}, "arm": {RATE: 1e-7}})
    first = Sweep(**{**fields, "plan": plan})
    trained = ListedArms(baseline="base", arms={"base": {}, "arm": {RATE: 0.0055}})
    second = Sweep(**{**fields, "plan": trained})
    assert launched(folder, "first", first, tracking_uri=uri).num_trained == 6
    with pytest.raises(sweeps.BadInput, match="--replace"):
        launched(folder, "first", second, tracking_uri=uri)
    assert launched(folder, "first", second, tracking_uri=uri, replace=True).num_trained == 5
    manifest = open_store(uri, folder / "first").manifest("until")
    assert manifest.plan
    looks = [(look.num_seeds, dict(look.verdicts)) for look in manifest.plan.looked]
    assert looks == [(3, {"arm": "undecided"}), (4, {"arm": "undecided"})]


def test_the_primary_figure_of_an_evaluation_may_be_judged(folder: Path) -> None:
    uri = f"sqlite:///{folder / 'mlflow.db'}"
    fields = {name: getattr(SWEEP, name) for name in type(SWEEP).model_fields}
    looks = UntilDecided(first=3, most=4, primary_of="shifted_test_error")
    sweep = Sweep(**{**fields, "seeds": looks, "evaluations": (ShiftedTestError(pixels=1),)})
    trained = launched(folder, "first", SWEEP, tracking_uri=uri, name="before")
    assert trained.num_trained == 3 + 4 + 4
    evaluated = launched(folder, "first", sweep, tracking_uri=uri)
    assert evaluated.exit_code == 0
    assert evaluated.evaluations is not None
    assert evaluated.evaluations.num_made == 11, "of trials that were there before"
    manifest = open_store(uri, folder / "first").manifest("until")
    assert manifest.plan
    assert manifest.plan.judged_by == manifest.evaluations[0].evaluation_key
    assert [look.num_seeds for look in manifest.plan.looked] == [3, 4]
    assert manifest.plan.looked[0].verdicts["not trained"] == "different"
    table = (folder / "reports" / "until" / "evaluations-shifted_test_error.md").read_text()
    assert "different" in table


def _silent() -> bool:
    raise sweeps.StoreUnreachable("nobody answers")
