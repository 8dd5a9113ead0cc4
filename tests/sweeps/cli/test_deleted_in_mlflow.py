"""What somebody has deleted in MLflow's pages is said to be, with the command that restores it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from mlflow import MlflowClient

from sweeps.tracking.mlflow.mlflow_store import MlflowStore
from sweeps.tracking.mlflow.runs import EXPERIMENT
from sweeps.tracking.opening import open_store
from tests.golden.stores.archive import unpack
from tests.sweeps.cli.shell import Shell

ARCHIVE = Path(__file__).parents[2] / "golden" / "stores" / "finished_design.tar.xz"
SWEEP = "small_design"
REPAIR = f"`capsweep repair {SWEEP}` records it again"
KEY = "47a6ef8b8b5f62e7d77b"  # of uniform, seed 1


@pytest.fixture
def client(shell: Shell) -> MlflowClient:
    return MlflowClient(f"sqlite:///{unpack(ARCHIVE, shell.folder) / 'capsweep-store'}/mlflow.db")


def delete_parent(client: MlflowClient) -> None:
    client.delete_run(open_store().sweep_id(SWEEP))


def delete_experiment(client: MlflowClient) -> None:
    experiment = client.get_experiment_by_name(EXPERIMENT)
    assert experiment is not None
    client.delete_experiment(experiment.experiment_id)


def delete_trial(client: MlflowClient) -> None:
    client.delete_run(open_store().find(KEY).record_id)


@pytest.mark.parametrize("delete", [delete_parent, delete_experiment])
def test_a_sweep_that_was_deleted_is_said_to_be_and_repaired(
    shell: Shell, client: MlflowClient, delete: Callable[[MlflowClient], None]
) -> None:
    delete(client)
    sentences = {shell.refused(command, SWEEP) for command in ("status", "report", "best")}
    (sentence,) = sentences
    assert sentence.startswith(f"The sweep '{SWEEP}' was deleted in MLflow, in the storage folder ")
    assert REPAIR in sentence
    assert shell("repair", SWEEP).code == 0
    assert shell("status", SWEEP).code == 0


def test_a_trial_that_was_deleted_is_said_to_be(shell: Shell, client: MlflowClient) -> None:
    delete_trial(client)
    sentence = f"1 trial of '{SWEEP}' has no record, as its run was deleted in MLflow: {REPAIR}."
    for command in ("status", "best"):
        assert sentence in shell(command, SWEEP).out.replace("\n", " ")
    assert f"The run of trial '{KEY[:8]}' was deleted in MLflow" in shell.refused("show", KEY[:8])


@pytest.mark.parametrize("delete", [delete_parent, delete_experiment, delete_trial])
def test_both_readers_find_what_was_deleted(
    shell: Shell, client: MlflowClient, delete: Callable[[MlflowClient], None]
) -> None:
    delete(client)
    store = open_store()
    assert isinstance(store, MlflowStore)
    by_client = MlflowStore(store.address, shell.folder, by_client=True)
    for kind in ("sweep", "trial"):
        assert by_client._deleted(kind) == store._deleted(kind)
    is_trial = delete is delete_trial
    assert store._deleted("sweep") == (set() if is_trial else {SWEEP})
    assert (KEY in store.deleted([KEY])) is (delete is not delete_parent)


def test_what_capsweep_itself_deleted_is_not_said_to_be_deleted_in_mlflow(
    shell: Shell, client: MlflowClient
) -> None:
    del client
    assert shell("delete", SWEEP, "--yes").code == 0
    assert "There is no sweep" in shell.refused("status", SWEEP)
