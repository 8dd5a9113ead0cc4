"""Runs of arms stand between sweep and trials: derived, made again, and nobody's records."""

import math
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mlflow.entities import Run, ViewType

from capsmodel.metrics import EpochMetrics
from sweeps.aggregation.report import summarise
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Outcome, TrialRecord
from sweeps.tracking.mlflow.mlflow_store import MlflowStore
from sweeps.tracking.mlflow.mlflow_writer import MlflowWriter
from sweeps.tracking.mlflow.tags import who_tags
from sweeps.tracking.sweep_summary import SweepSummary
from tests.sweeps.aggregation.known_sweep import finished, manifest_of, put_sweep, unfinished
from tests.sweeps.execution.examples import spec
from tests.sweeps.tracking.breaking import Breaking, Killed

TYPE = "capsweep.type"
PARENT = "mlflow.parentRunId"
NOTE = "mlflow.note.content"
ARMS = ("base", "other")
TRIALS = [finished(arm, seed, 6 + seed) for arm in ARMS for seed in (0, 1)]


class Sweep:
    """A sweep in an embedded store, and what is shown of it."""

    def __init__(self, store: MlflowStore, manifest: Manifest, trials: list[TrialRecord]) -> None:
        self.store, self.manifest = store, manifest
        self.id = put_sweep(store, manifest, trials)
        writer = store.writer()
        assert isinstance(writer, MlflowWriter)
        self.writer = writer

    def summed_up(self) -> SweepSummary:
        keys = self.manifest.cell_keys().values()
        return summarise(self.manifest, self.store.records(keys))

    def show(self) -> None:
        self.writer.write_summary(self.id, self.summed_up())

    def runs(self, kind: str, search: str = "") -> dict[str, Run]:
        condition = f"tags.`{TYPE}` = '{kind}'" + (f" AND {search}" if search else "")
        runs = self.writer.client.search_runs([self.writer.experiment_id], condition)
        return {str(run.info.run_name): run for run in runs}

    def tree(self) -> dict[str, set[str]]:
        """Return which runs lie below which, by their names."""
        runs = self.writer.client.search_runs([self.writer.experiment_id])
        names = {run.info.run_id: str(run.info.run_name) for run in runs}
        tree: dict[str, set[str]] = {}
        for run in runs:
            parent = names.get(run.data.tags.get(PARENT, ""), "")
            tree.setdefault(parent, set()).add(names[run.info.run_id])
        return tree

    def readers(self) -> list[MlflowStore]:
        address, artifacts = self.store.address, Path(self.store.address[10:]).parent / "artifacts"
        return [MlflowStore(address, artifacts, by_client=by_client) for by_client in (True, False)]

    def answers(self) -> list[object]:
        """Return what both readers say of all that there is, and of what is no record."""
        keys = [*self.manifest.cell_keys().values()]
        answers: list[object] = []
        for reader in self.readers():
            answers += [reader.sweeps(), reader.sweep_id("known"), reader.records(keys)]
            answers += [reader.find(keys[0][:6]), reader.manifest("known")]
        return answers


@pytest.fixture
def sweep(mlflow_store: MlflowStore) -> Sweep:
    return Sweep(mlflow_store, manifest_of(ARMS, seeds=(0, 1), description="Which?"), TRIALS)


def dump(store: MlflowStore) -> list[str]:
    with closing(sqlite3.connect(store.address[10:])) as opened:
        return [*opened.iterdump()]


def shown_state(sweep: Sweep) -> Mapping[str, Any]:
    """Return all that is shown, without ids and times."""
    runs = sweep.writer.client.search_runs([sweep.writer.experiment_id])
    names = {run.info.run_id: run.info.run_name for run in runs}
    state: dict[str, Any] = {}
    for run in runs:
        tags = {**run.data.tags, PARENT: names.get(run.data.tags.get(PARENT, ""))}
        tags.pop("capsweep.shown_sha256", None)
        data = [
            (dataset_input.dataset.name, dataset_input.dataset.digest)
            for dataset_input in run.inputs.dataset_inputs
        ]
        state.setdefault(str(run.info.run_name), []).append((tags, run.data.metrics, data))
    return state


def test_each_arm_has_a_run_between_the_sweep_and_its_trials(sweep: Sweep) -> None:
    sweep.show()
    assert sweep.tree() == {
        "": {"known"},
        "known": {*ARMS},
        "base": {"base, seed 0", "base, seed 1"},
        "other": {"other, seed 0", "other, seed 1"},
    }
    shown = {arm.name: arm for arm in sweep.summed_up().arms}
    for name, run in sweep.runs("arm").items():
        assert run.data.metrics == shown[name].numbers
        assert run.data.tags[NOTE] == shown[name].note
        assert run.data.tags.items() >= who_tags().items()
        assert run.info.status == "FINISHED"
    (sweep_run,) = sweep.runs("sweep").values()
    assert sweep_run.data.metrics == sweep.summed_up().numbers
    assert sweep_run.data.tags["capsweep.best_arm"] == "base"


def test_no_reader_sees_any_of_it(sweep: Sweep) -> None:
    before = sweep.answers()
    sweep.show()
    assert sweep.answers() == before
    for reader in sweep.readers():
        for run in sweep.runs("arm").values():
            with pytest.raises(Exception, match="There is no trial"):
                reader.find(run.info.run_id)
    assert sweep.writer.find_sweep("known") == (sweep.id, True)
    keys = sweep.manifest.cell_keys().values()
    arms = {run.info.run_id for run in sweep.runs("arm").values()}
    trials = [sweep.writer.find_trial(key) for key in keys]
    assert not arms & {trial.record_id for trial in trials if trial}


def test_arms_are_shown_in_the_order_of_the_manifest_the_latest_first(
    mlflow_store: MlflowStore,
) -> None:
    arms = ["zero", "one", "two", "a"]
    trials = [finished(arm, seed, 6) for arm in arms for seed in (0, 1)]
    sweep = Sweep(mlflow_store, manifest_of(arms, seeds=(0, 1)), trials)
    sweep.show()
    runs = sorted(sweep.runs("arm").values(), key=lambda run: -run.info.start_time)
    assert [run.info.run_name for run in runs] == arms


def test_an_arm_with_a_trial_to_come_waits_and_then_is_done(mlflow_store: MlflowStore) -> None:
    trials = [*TRIALS[:3], unfinished("other", 1, Outcome.INTERRUPTED, "")]
    sweep = Sweep(mlflow_store, manifest_of(ARMS, seeds=(0, 1)), trials)
    sweep.show()
    other = sweep.runs("arm")["other"]
    assert (other.info.status, other.data.metrics["num_trials"]) == ("SCHEDULED", 1)
    put_sweep(mlflow_store, sweep.manifest, [TRIALS[3]])
    sweep.show()
    updated = sweep.runs("arm")["other"]
    assert updated.info.run_id == other.info.run_id
    assert (updated.info.status, updated.data.metrics["num_trials"]) == ("FINISHED", 2)


def test_showing_it_again_writes_nothing(sweep: Sweep) -> None:
    sweep.show()
    before = dump(sweep.store)
    sweep.show()
    assert dump(sweep.store) == before


@pytest.mark.parametrize("after", [False, True], ids=["before a call", "after a call"])
def test_what_was_killed_midway_is_made_whole_by_the_next_launch(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    real = sweep.writer.client
    for at_call in range(1, 60):
        client = Breaking(real, at_call, after)
        monkeypatch.setattr(sweep.writer, "client", client)
        try:
            sweep.show()
        except Killed:
            assert sweep.store.sweeps() == ["known"]
        else:
            break
    else:
        pytest.fail("it never came to its end")
    assert at_call > 5
    monkeypatch.setattr(sweep.writer, "client", real)
    assert len(sweep.runs("arm")) == 2
    assert len(shown_state(sweep)["base"]) == 1
    assert sweep.tree()["base"] == {"base, seed 0", "base, seed 1"}
    (sweep_run,) = sweep.runs("sweep").values()
    assert sweep_run.data.tags["capsweep.shown_sha256"] == sweep.summed_up().digest


def test_deleted_runs_of_arms_are_made_again_and_change_no_record(sweep: Sweep) -> None:
    sweep.show()
    before, records = shown_state(sweep), sweep.answers()
    for run in sweep.runs("arm").values():
        sweep.writer.client.delete_run(run.info.run_id)
    assert sweep.answers() == records
    assert sweep.tree()[""] == {"known", *(f"{arm}, seed {s}" for arm in ARMS for s in (0, 1))}
    sweep.show()
    assert shown_state(sweep) == before


def test_with_a_sweep_the_runs_of_its_arms_are_deleted(sweep: Sweep) -> None:
    sweep.show()
    sweep.writer.delete_record(sweep.id)
    assert sweep.runs("arm") == {}
    assert sweep.runs("sweep") == {}
    assert len(sweep.runs("trial")) == len(TRIALS)


def test_a_trial_of_two_sweeps_stays_where_it_is_and_is_found_under_both(sweep: Sweep) -> None:
    sweep.show()
    manifest = manifest_of(ARMS, seeds=(0, 1), sweep="second")
    second = Sweep(sweep.store, manifest, [])
    second.show()
    for name in ("known", "second"):
        trials = sweep.runs("trial", f"tags.`capsweep.sweep.{name}` LIKE '%'")
        assert len(trials) == 4
        of_arm = sweep.runs("trial", f"tags.`capsweep.sweep.{name}` = 'other'")
        assert {*of_arm} == {"other, seed 0", "other, seed 1"}
    arms = {
        run.info.run_id for run in sweep.runs("arm", "tags.`capsweep.sweep` = 'known'").values()
    }
    assert {run.data.tags[PARENT] for run in sweep.runs("trial").values()} == arms


def test_a_trial_whose_sweep_was_deleted_goes_to_the_one_that_holds_it(sweep: Sweep) -> None:
    sweep.show()
    for run in (*sweep.runs("arm").values(), *sweep.runs("sweep").values()):
        sweep.writer.client.delete_run(run.info.run_id)
    second = Sweep(sweep.store, manifest_of(ARMS, seeds=(0, 1), sweep="second"), [])
    second.show()
    assert second.tree()["base"] == {"base, seed 0", "base, seed 1"}


def test_what_left_the_sweep_is_shown_in_it_no_more(sweep: Sweep) -> None:
    sweep.show()
    sweep.manifest = manifest_of(["base"], seeds=(0, 1))
    sweep.show()
    assert {*sweep.runs("arm")} == {"base"}
    assert {*sweep.runs("trial", "tags.`capsweep.sweep.known` LIKE '%'")} == {
        "base, seed 0",
        "base, seed 1",
    }
    assert sweep.tree()["known"] == {"base", "other, seed 0", "other, seed 1"}
    sweep.manifest = manifest_of(["base"], seeds=(0,))
    sweep.show()
    assert sweep.runs("arm") == {}
    assert "base, seed 0" in sweep.tree()["known"]


def test_a_number_that_is_not_known_any_more_is_not_left_standing(sweep: Sweep) -> None:
    sweep.show()
    keys = [key for (arm, _), key in sweep.manifest.cell_keys().items() if arm == "other"]
    sweep.writer.mark_replaced(keys)
    sweep.show()
    metrics = sweep.runs("arm")["other"].data.metrics
    assert metrics["num_trials"] == 0
    assert math.isnan(metrics["test_error"])
    before = dump(sweep.store)
    sweep.show()
    assert dump(sweep.store) == before


def test_a_number_that_somebody_wrote_stays(sweep: Sweep) -> None:
    sweep.show()
    sweep.writer.client.log_metric(sweep.id, "reviewers_score", 0.7)
    sweep.writer.mark_replaced(sweep.manifest.cell_keys().values())
    sweep.show()
    (sweep_run,) = sweep.runs("sweep").values()
    assert sweep_run.data.metrics["reviewers_score"] == 0.7
    assert math.isnan(sweep_run.data.metrics["test_error"])


def test_a_note_that_somebody_wrote_stays_and_an_empty_one_does_not(sweep: Sweep) -> None:
    client = sweep.writer.client
    client.set_tag(sweep.id, NOTE, "")
    sweep.show()
    (sweep_run,) = sweep.runs("sweep").values()
    assert sweep_run.data.tags[NOTE].startswith("Which?\n\n")
    assert "`capsweep report known`" in sweep_run.data.tags[NOTE]
    client.set_tag(sweep.id, NOTE, "my own words")
    sweep.writer.write_summary(sweep.id, replace(sweep.summed_up(), best="other"))
    (sweep_run,) = sweep.runs("sweep").values()
    assert sweep_run.data.tags[NOTE] == "my own words"
    assert sweep_run.data.tags["capsweep.best_arm"] == "other"


def test_a_trial_shows_its_data_and_its_commit_once(sweep: Sweep) -> None:
    trial = sweep.summed_up().trials[0]
    described = replace(
        trial, data="digits", data_fingerprint="ab" * 32, git_revision="c0ffee-dirty"
    )
    shown = replace(sweep.summed_up(), trials=(described,))
    for best in ("base", "other"):
        sweep.writer.write_summary(sweep.id, replace(shown, best=best))
    run = sweep.writer.client.get_run(trial.record_id)
    assert run.data.tags["mlflow.source.git.commit"] == "c0ffee"
    (dataset_input,) = run.inputs.dataset_inputs
    assert (dataset_input.dataset.name, dataset_input.dataset.digest) == (
        "digits",
        ("ab" * 32)[:36],
    )
    assert {tag.key: tag.value for tag in dataset_input.tags} == {"mlflow.data.context": "training"}


def test_nothing_shown_names_a_folder(sweep: Sweep, tmp_path: Path) -> None:
    sweep.show()
    client = sweep.writer.client
    for run in client.search_runs([sweep.writer.experiment_id], "", ViewType.ALL):
        texts = [*run.data.tags.values()]
        texts += [dataset_input.dataset.source for dataset_input in run.inputs.dataset_inputs]
        assert not [text for text in texts if str(tmp_path) in text or str(Path.home()) in text]


def test_a_run_has_errors_before_health(sweep: Sweep) -> None:
    line = EpochMetrics(
        epoch=16,
        health={"gradient_norm": 1.0},
        metrics={"own": 2.0},
        train_loss=0.1,
        validation_loss=0.1,
        validation_error=0.1,
    )
    record_id = sweep.writer.create_trial(spec("f" * 20), sweep.id, 1)
    sweep.writer.log_epochs(record_id, [(line, 1)])
    assert [*sweep.writer.client.get_run(record_id).data.metrics] == [
        "validation_error",
        "validation_loss",
        "train_loss",
        "own",
        "health.gradient_norm",
    ]
    sweep.show()
    for kind in ("arm", "sweep"):
        for run in sweep.runs(kind).values():
            assert next(iter(run.data.metrics)) == "test_error"


def test_every_filter_that_the_page_of_documentation_names_can_be_asked(sweep: Sweep) -> None:
    sweep.show()
    page = (Path(__file__).parents[4] / "docs" / "dashboard.md").read_text(encoding="utf-8")
    lines = [line.strip() for line in page.splitlines() if line.startswith("    ")]
    filters = [line.split("  ")[0] for line in lines if line.startswith(("tags.", "params."))]
    assert len(filters) == 6
    for condition in filters:
        sweep.writer.client.search_runs([sweep.writer.experiment_id], condition)
    (of_sweep,) = [condition for condition in filters if "sweep.quickstart` LIKE" in condition]
    trials = sweep.runs("trial", of_sweep.replace("quickstart", "known"))
    assert len(trials) == 4


def test_odd_rows_keep_nobody_from_showing_the_sweep(sweep: Sweep) -> None:
    sweep.show()
    with closing(sqlite3.connect(sweep.store.address[10:])) as opened, opened:
        opened.execute("update runs set start_time = 'odd' where run_uuid = ?", (sweep.id,))
        opened.execute("update latest_metrics set value = 'odd' where key = 'num_trials'")
        opened.execute("update tags set value = x'00' where key = 'capsweep.shown_sha256'")
        opened.execute("update tags set value = ? where key = ?", ("' OR '1' = '1", PARENT))
    for run in sweep.runs("arm").values():
        sweep.writer.client.delete_run(run.info.run_id)
    sweep.show()
    assert sweep.tree()["base"] == {"base, seed 0", "base, seed 1"}
    assert {*sweep.runs("arm")} == {*ARMS}


def test_a_store_that_shows_all_of_a_finished_sweep_says_so_without_being_opened(
    sweep: Sweep,
) -> None:
    by_client, by_sql = sweep.readers()
    assert by_sql.settled("known") is None, "nothing is shown yet"
    sweep.show()
    assert by_sql.settled("known") is None, "the launch has not ended"
    sweep.writer.settle_sweep(sweep.id, 0)
    shown = sweep.summed_up()
    settled = by_sql.settled("known")
    assert settled is not None
    assert (settled.record_id, settled.summary_digest) == (sweep.id, shown.digest)
    assert settled.arms == tuple(sorted(arm.name for arm in shown.arms))
    assert by_client.settled("known") is by_sql.settled("unknown") is None

    (arm, *_) = sweep.runs("arm").values()
    sweep.writer.client.delete_run(arm.info.run_id)
    settled = by_sql.settled("known")
    assert settled is not None
    assert len(settled.arms) == len(shown.arms) - 1, "the next launch makes it again"


@pytest.mark.parametrize("loss", ["log", "view", "interrupted"])
def test_a_store_that_lacks_something_of_a_sweep_is_opened(sweep: Sweep, loss: str) -> None:
    sweep.show()
    sweep.writer.settle_sweep(sweep.id, 0)
    _, by_sql = sweep.readers()
    assert by_sql.settled("known") is not None
    if loss == "log":
        sweep.writer.client.set_tag(sweep.id, "capsweep.log_sha256", "")
    elif loss == "view":
        experiment, key = sweep.writer.experiment_id, "mlflow.sharedViewState.capsweep"
        sweep.writer.client.set_experiment_tag(experiment, key, "{}")
    else:
        sweep.writer.settle_sweep(sweep.id, 130)
    assert by_sql.settled("known") is None


def test_the_numbers_of_a_launch_that_was_broken_off_do_not_stay(sweep: Sweep) -> None:
    sweep.show()
    sweep.writer.settle_sweep(sweep.id, 0)
    _, by_sql = sweep.readers()
    shown = sweep.summed_up()
    settled = by_sql.settled("known")
    assert settled is not None
    assert settled.shows(shown)

    sweep.writer.log_metrics(sweep.id, {"num_trials": 1.0}, round(1000 * time.time()), 0)
    settled = by_sql.settled("known")
    assert settled is not None
    assert not settled.shows(shown)
    sweep.show()
    assert sweep.runs("sweep")["known"].data.metrics == shown.numbers
