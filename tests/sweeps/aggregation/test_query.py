import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from capsmodel.training import Training
from sweeps import records as names
from sweeps.aggregation.query import best_configs, show, trials
from sweeps.errors import BadInput
from sweeps.manifest import Manifest
from sweeps.records import Outcome
from tests.capsmodel.small_config import small_config
from tests.sweeps.aggregation.known_sweep import (
    finished,
    known_sweep,
    manifest_of,
    put_config,
    put_sweep,
    put_trial,
    trial_key,
    unfinished,
)


def test_a_frame_has_one_row_a_cell_in_the_sweeps_order(client, tracking_uri, tmp_path):
    manifest, records = known_sweep()
    put_sweep(client, manifest, records.values(), tmp_path)
    frame = trials("known", tracking_uri)

    cells = [(arm.name, seed) for arm in manifest.arms for seed in manifest.seeds]
    assert list(zip(frame["arm"], frame["seed"], strict=True)) == cells
    assert frame["outcome"].value_counts().to_dict() == {
        "finished": 13,
        "missing": 1,
        "diverged": 1,
        "failed": 1,
        "interrupted": 1,
        "pruned": 1,
    }
    assert frame["test_error"].dtype == "float64"
    assert frame.loc[0, "test_error"] == 6 / 360


def test_a_frame_of_an_untouched_sweep_is_all_missing(client, tracking_uri, tmp_path):
    put_sweep(client, manifest_of(["a"]), [], tmp_path)
    frame = trials("known", tracking_uri)

    assert set(frame["outcome"]) == {"missing"}
    assert frame["test_error"].isna().all()


def put_errors(client, tmp_path, errors, **more):
    """Put a sweep whose validation errors are given, arm -> one a seed."""
    manifest = manifest_of(errors, [0, 1])
    put_sweep(client, manifest, [], tmp_path)
    for arm, row in errors.items():
        for seed, error in enumerate(row):
            put_trial(client, finished(arm, seed, 5, epochs=1, validation_error=error, **more))


def test_arms_are_ranked_by_their_mean_last_epoch_validation_error(client, tracking_uri, tmp_path):
    put_errors(client, tmp_path, {"worst": (0.3, 0.5), "best": (0.1, 0.2), "middle": (0.2, 0.3)})
    ranked = best_configs("known", tracking_uri)

    assert [(best.rank, best.arm) for best in ranked] == [(1, "best"), (2, "middle"), (3, "worst")]
    assert ranked[0].validation_error.mean == pytest.approx(0.15)
    assert ranked[0].config == {"batch_size": 33}
    assert [trial.seed for trial in ranked[0].trials] == [0, 1]
    assert [best.arm for best in best_configs("known", tracking_uri, count=1)] == ["best"]


@pytest.mark.parametrize("test_error", [None, 0.0, 1.0, float("nan")])
def test_test_errors_never_change_a_ranking(test_error, client, tracking_uri, tmp_path):
    manifest = manifest_of(["a", "b"], [0])
    put_sweep(client, manifest, [], tmp_path)
    put_trial(client, finished("a", 0, 5, validation_error=0.1, test_error=test_error))
    put_trial(client, finished("b", 0, 5, validation_error=0.2, test_error=0.5))

    assert [best.arm for best in best_configs("known", tracking_uri)] == ["a", "b"]


def test_ranking_shows_nothing_of_the_test_split(client, tracking_uri, tmp_path):
    put_errors(client, tmp_path, {"a": (0.1, 0.2)}, test_error=0.777)

    assert "0.777" not in repr(best_configs("known", tracking_uri))


def test_equal_arms_keep_the_sweeps_order(client, tracking_uri, tmp_path):
    put_errors(client, tmp_path, {"z": (0.1, 0.2), "a": (0.2, 0.1)})

    assert [best.arm for best in best_configs("known", tracking_uri)] == ["z", "a"]


def test_only_finished_trials_are_ranked(client, tracking_uri, tmp_path):
    put_sweep(client, manifest_of(["a", "b"], [0, 1]), [], tmp_path)
    put_trial(client, finished("a", 0, 5, validation_error=0.4))
    put_trial(client, unfinished("a", 1, Outcome.DIVERGED, ""))
    put_trial(client, unfinished("b", 0, Outcome.PRUNED, ""))
    (best,) = best_configs("known", tracking_uri)

    assert (best.arm, best.num_trials, best.num_planned) == ("a", 1, 2)


def test_asking_for_no_configuration_is_refused(tracking_uri):
    with pytest.raises(BadInput, match="At least one"):
        best_configs("known", tracking_uri, count=0)


def test_a_trial_is_shown_with_config_curve_and_weights(client, tracking_uri, tmp_path):
    run = put_trial(client, finished("a", 0, 5, epochs=2))
    put_config(client, run, {"batch_size": 7}, tmp_path)
    put_artifact_of(client, run, tmp_path)
    view = show(trial_key("a", 0)[:6], tracking_uri)

    assert view.record.record_id == run
    assert view.config == {"batch_size": 7}
    assert len(view.curve) == 2
    assert view.weights is not None
    assert Path(view.weights).name == names.ARTIFACT_WEIGHTS


def test_a_trial_that_did_not_finish_has_no_weights(client, tracking_uri, tmp_path):
    run = put_trial(client, unfinished("a", 0, Outcome.FAILED, "x"))
    put_config(client, run, {}, tmp_path)

    assert show(run, tracking_uri).weights is None


def test_a_trial_whose_weights_were_not_kept_has_none_to_show(client, tracking_uri, tmp_path):
    run = put_trial(client, finished("a", 0, 5))
    put_config(client, run, {}, tmp_path)

    assert show(run, tracking_uri).weights is None


def test_a_model_whose_weights_were_not_kept_gets_one_sentence(client, tracking_uri, tmp_path):
    put_sweep(client, manifest_of(["a"], [0]), [], tmp_path)
    put_trial(client, finished("a", 0, 5))

    sentence = rf"weights of trial {trial_key('a', 0)} \(arm 'a', seed 0\) are not there: .*--fresh"
    with pytest.raises(BadInput, match=sentence) as error:
        best_configs("known", tracking_uri)[0].load_model()
    assert "\n" not in str(error.value)


def one_arm_sweep(config: dict[str, object]) -> Manifest:
    manifest = manifest_of(["small"], [0, 1])
    arm = manifest.arms[0].model_copy(update={"config": config})
    return manifest.model_copy(update={"arms": (arm,)})


@pytest.fixture
def trained_sweep(client, tmp_path):
    """Put a sweep of one arm with two seeds, the second with the lower validation error."""
    config = small_config()
    put_sweep(client, one_arm_sweep(config.model_dump(mode="json")), [], tmp_path)
    trained = {}
    for seed, error in ((0, 0.5), (1, 0.25)):
        run = put_trial(client, finished("small", seed, 5, epochs=1, validation_error=error))
        trained[seed] = Training(config, seed=seed).trained()
        trained[seed].save(tmp_path / names.ARTIFACT_WEIGHTS)
        client.log_artifact(run, str(tmp_path / names.ARTIFACT_WEIGHTS))
    return trained


@pytest.mark.parametrize(("asked", "loaded"), [(None, 1), (0, 0), (1, 1)])
def test_the_model_is_that_of_the_best_seed_or_of_the_one_asked_for(
    asked, loaded, trained_sweep, tracking_uri
):
    images = torch.rand(4, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    model = best_configs("known", tracking_uri)[0].load_model(asked)

    assert model.seed == loaded
    expected = trained_sweep[loaded].predict(images).lengths
    assert torch.equal(model.predict(images).lengths, expected)


def test_a_seed_that_did_not_finish_cannot_be_loaded(trained_sweep, tracking_uri):
    with pytest.raises(BadInput, match=r"no finished trial with seed 9\. Finished: 0, 1"):
        best_configs("known", tracking_uri)[0].load_model(9)


def test_a_part_that_is_not_capsmodels_asks_for_its_class(client, tracking_uri, tmp_path):
    config = json.loads(small_config().model_dump_json())
    config["model"]["routing"] = {"kind": "my_routing"}
    put_sweep(client, one_arm_sweep(config), [], tmp_path)
    run = put_trial(client, finished("small", 0, 5))
    put_artifact_of(client, run, tmp_path)

    sentence = r"uses the routing 'my_routing', which is not part of capsmodel: pass its class"
    with pytest.raises(BadInput, match=sentence):
        best_configs("known", tracking_uri)[0].load_model()


def test_a_family_with_one_built_in_member_asks_for_the_class_too(client, tracking_uri, tmp_path):
    config = json.loads(small_config().model_dump_json())
    config["stopping"] = {"kind": "when_bored"}
    put_sweep(client, one_arm_sweep(config), [], tmp_path)
    put_artifact_of(client, put_trial(client, finished("small", 0, 5)), tmp_path)

    with pytest.raises(BadInput, match="uses the stopping 'when_bored'"):
        best_configs("known", tracking_uri)[0].load_model()


def put_artifact_of(client, run, tmp_path):
    save_file({"layer.weight": torch.zeros(3)}, tmp_path / names.ARTIFACT_WEIGHTS)
    client.log_artifact(run, str(tmp_path / names.ARTIFACT_WEIGHTS))


def test_weights_that_do_not_fit_their_config_are_refused(client, tracking_uri, tmp_path):
    put_sweep(client, one_arm_sweep(small_config().model_dump(mode="json")), [], tmp_path)
    put_artifact_of(client, put_trial(client, finished("small", 0, 5)), tmp_path)

    with pytest.raises(BadInput):
        best_configs("known", tracking_uri)[0].load_model()


def test_ranking_loads_neither_torch_nor_ray(client, tracking_uri, tmp_path):
    put_errors(client, tmp_path, {"a": (0.1, 0.2), "b": (0.2, 0.3)})
    program = (
        "import sys; from sweeps.aggregation.query import best_configs; "
        f"assert best_configs('known', {tracking_uri!r})[0].arm == 'a'; "
        "print([m for m in ('torch', 'ray', 'capsmodel', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


def test_importing_queries_loads_no_heavy_package():
    program = (
        "import sys, sweeps.aggregation.query, sweeps.aggregation.report; heavy = "
        "('torch', 'ray', 'mlflow', 'pandas', 'numpy', 'scipy', 'matplotlib', 'capsmodel'); "
        "print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
