"""Weights that a sweep does not keep go, here and in the records, and no others."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.launch.weights import (
    WeightsDeleted,
    WeightsToKeep,
    keep_weights,
    unwanted_weights,
    weights_to_keep,
)
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.manifest_evaluation import ManifestEvaluation
from sweeps.records.trial_record import ARTIFACT_WEIGHTS, Outcome, TrialRecord
from sweeps.storage.locations import Storage
from sweeps.tracking.store import FreedWeights
from tests.sweeps.aggregation.known_sweep import (
    by_key,
    finished,
    known_sweep,
    manifest_of,
    put_sweep,
    put_trial,
    trial_key,
    unfinished,
)
from tests.sweeps.aggregation.small_search import FRESH, confirmed_search
from tests.sweeps.tracking.memory_store import MemoryStore, MemoryWriter

SIZE = 1000


class Place:
    """A storage folder and a tracking store with a sweep of two arms, each with two seeds."""

    def __init__(self, folder: Path) -> None:
        self.store = MemoryStore()
        self.records = self.store.writer()
        self.storage = Storage(folder / "storage")
        self.manifest = manifest_of(["good", "bad"], [0, 1])
        self.keys = {
            (arm, seed): trial_key(arm, seed) for arm in ("good", "bad") for seed in (0, 1)
        }
        put_sweep(self.store, self.manifest, [])
        for arm, wrong in (("good", 5), ("bad", 50)):
            for seed in (0, 1):
                self.put(finished(arm, seed, wrong, epochs=1))

    def put(self, trial: TrialRecord) -> None:
        record_id = put_trial(self.store, trial)
        cell = self.cell(trial.trial_key)
        cell.path.mkdir(parents=True)
        cell.weights.write_bytes(b"x" * SIZE)
        cell.log.write_text("log")
        for path in (cell.weights, cell.log):
            self.records.upload(record_id, path)

    def cell(self, key: str) -> CellFolder:
        return CellFolder(self.storage.cells, key)

    def keep(self, option: str) -> WeightsDeleted:
        kept = weights_to_keep(option)
        return keep_weights(self.manifest, kept, self.storage, self.store, writer=self.records)

    def here(self) -> set[tuple[str, int]]:
        """Return the cells whose folders hold weights."""
        return {place for place, key in self.keys.items() if self.cell(key).weights.exists()}

    def recorded(self) -> set[tuple[str, int]]:
        """Return the cells whose records hold weights."""
        records, holds = self.store.records(self.keys.values()), self.store.holds
        return {p for p, key in self.keys.items() if holds(records[key], ARTIFACT_WEIGHTS)}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


GOOD = {("good", 0), ("good", 1)}
ALL = GOOD | {("bad", 0), ("bad", 1)}


@pytest.mark.parametrize(
    ("option", "kept"),
    [("all", WeightsToKeep(None)), ("none", WeightsToKeep(0)), ("best:3", WeightsToKeep(3))],
)
def test_whose_weights_are_kept_is_said_in_a_word(option: str, kept: WeightsToKeep) -> None:
    assert weights_to_keep(option) == kept


@pytest.mark.parametrize(
    "option", ["", "All", "best", "best:", "best:0", "best:-1", "best:1.5", "best:3x", "best: 3"]
)
def test_other_words_are_refused_in_one_sentence(option: str) -> None:
    with pytest.raises(BadInput, match=r"'all', 'none' or 'best:K' .* given was '") as error:
        weights_to_keep(option)
    assert error.value.exit_code == 2


def unwanted(
    sweep: tuple[Manifest, dict[str, TrialRecord]], num_best: int | None, locked: Iterable[str] = ()
) -> set[str]:
    return set(unwanted_weights(*sweep, WeightsToKeep(num_best), set(locked)))


def test_all_weights_are_kept_unless_asked_otherwise() -> None:
    assert unwanted(known_sweep(), None) == set()


def test_the_weights_of_all_seeds_of_the_best_arms_are_kept() -> None:
    of_best = {trial_key(arm, seed) for arm in ("three rounds", "no decoder") for seed in range(3)}
    gone = unwanted(known_sweep(), 2)
    assert not gone & of_best
    assert {trial_key("uniform", seed) for seed in range(3)} <= gone


def test_trials_that_have_not_ended_are_left_alone() -> None:
    manifest, records = known_sweep()
    gone = unwanted((manifest, records), 0)
    assert gone == {key for key, record in records.items() if record.outcome.is_final}
    assert trial_key("late", 1) not in gone


def test_of_a_confirmed_arm_the_trials_that_found_it_are_kept_too() -> None:
    gone = unwanted(confirmed_search(), 1)
    assert not gone & {trial_key("proposal 3", seed) for seed in (0, *FRESH)}
    assert {trial_key("proposal 1", seed) for seed in (0, *FRESH)} <= gone


def test_a_trial_that_two_arms_share_is_kept_for_the_better() -> None:
    manifest, records = known_sweep()
    cells = [
        cell.model_copy(update={"trial_key": trial_key("three rounds", cell.seed)})
        if cell.arm == "uniform"
        else cell
        for cell in manifest.cells
    ]
    shared = manifest.model_copy(update={"cells": tuple(cells)})
    assert trial_key("three rounds", 0) not in unwanted((shared, records), 1)


def test_test_errors_do_not_decide_whose_weights_are_kept() -> None:
    records = by_key(finished("good", 0, 5, test_error=0.9), finished("bad", 0, 50, test_error=0.0))
    assert unwanted((manifest_of(["good", "bad"], [0]), records), 1) == {trial_key("bad", 0)}


def test_weights_that_are_not_kept_go_from_folders_and_records(place: Place) -> None:
    deleted = place.keep("best:1")
    assert deleted == WeightsDeleted(num_trials=2, freed_bytes=4 * SIZE)
    assert place.here() == place.recorded() == GOOD
    assert deleted.sentences == ("The weights of 2 trials were not kept: 0.0 MiB are free.",)


def test_nothing_but_weights_is_deleted(place: Place) -> None:
    place.keep("none")
    assert place.here() == place.recorded() == set()
    for key, record in place.store.records(place.keys.values()).items():
        assert place.store.artifact(record, "log.txt").read_text() == "log"
        assert place.cell(key).log.exists()


def test_all_are_kept_without_a_look_at_the_store(place: Place) -> None:
    place.store.backend.is_unreachable = True
    deleted = place.keep("all")
    assert deleted == WeightsDeleted()
    assert deleted.sentences == ()
    assert place.here() == ALL


def test_doing_it_again_frees_nothing_more(place: Place) -> None:
    place.keep("best:1")
    assert place.keep("best:1") == WeightsDeleted()


def test_killed_midway_the_next_call_does_the_rest(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        """Stands in for SIGKILL."""

    def die(_: CellFolder) -> int:
        raise Killed

    with monkeypatch.context() as killed:
        killed.setattr("sweeps.execution.launch.weights.delete_weights", die)
        with pytest.raises(Killed):
            place.keep("none")
    assert len(place.recorded()) == 3
    assert place.keep("none") == WeightsDeleted(num_trials=4, freed_bytes=7 * SIZE)
    assert place.here() == place.recorded() == set()


def test_trials_of_another_sweeps_current_manifest_keep_their_weights(place: Place) -> None:
    other = manifest_of(["bad", "more"], [1], sweep="other")
    put_sweep(place.store, other, [])
    place.keep("best:1")
    assert place.here() == place.recorded() == GOOD | {("bad", 1)}


def test_another_sweep_that_cannot_be_read_keeps_all_weights(place: Place) -> None:
    other = manifest_of(["bad"], [0], sweep="other")
    sweep_id = put_sweep(place.store, other, [])
    place.records.set_sweep_log(sweep_id, "{}")
    deleted = place.keep("none")
    assert deleted.num_trials == 0
    assert "log of sweep 'other' is not valid" in deleted.sentences[0]
    assert place.here() == place.recorded() == ALL


def test_a_trial_that_is_being_trained_is_left_alone(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_busy(cell: CellFolder) -> bool:
        return cell.trial_key == place.keys["bad", 0]

    monkeypatch.setattr(CellFolder, "is_busy", is_busy)
    place.keep("none")
    assert place.here() == place.recorded() == {("bad", 0)}


def test_a_failed_trials_files_are_left_alone(place: Place) -> None:
    place.manifest = manifest_of(["good", "bad", "broken"], [0, 1])
    put_sweep(place.store, place.manifest, [])
    place.keys["broken", 0] = trial_key("broken", 0)
    place.put(unfinished("broken", 0, Outcome.FAILED, "ValueError: no"))
    place.keep("none")
    assert place.here() == {("broken", 0)}


def test_a_store_that_cannot_delete_keeps_its_copies_and_that_is_said(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> FreedWeights:
        return FreedWeights(0, "The tracking store does not delete weights: never.")

    monkeypatch.setattr(MemoryWriter, "delete_weights", refuse)
    deleted = place.keep("best:1")
    assert place.recorded() == ALL
    assert place.here() == GOOD
    assert (deleted.num_trials, deleted.freed_bytes) == (2, 2 * SIZE)
    assert deleted.error == "The tracking store does not delete weights: never."
    assert len(deleted.sentences) == 2


EVALUATION = ManifestEvaluation(evaluation_key="ab" * 10, kind="look", looks_at="test")


def test_weights_stay_until_every_declared_evaluation_is_recorded(place: Place) -> None:
    place.manifest = place.manifest.model_copy(update={"evaluations": (EVALUATION,)})
    looked_at = place.keys["good", 0]
    trial = place.records.find_trial(looked_at)
    assert trial is not None
    place.records.record_evaluation(trial.record_id, EVALUATION.evaluation_key, "look")
    assert place.keep("none").num_trials == 1
    assert place.here() == set(place.keys) - {("good", 0)}


def test_another_sweeps_evaluations_hold_the_trials_that_are_its_own(place: Place) -> None:
    other = manifest_of(["good"], [0, 1], sweep="other")
    other = other.model_copy(update={"evaluations": (EVALUATION,)})
    put_sweep(place.store, other, [])
    place.keep("none")
    assert place.here() == {("good", 0), ("good", 1)}
