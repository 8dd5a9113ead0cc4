"""A recorded trial is shown, and its model loaded, where its weights were kept."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from capsmodel.training.training import Training
from search_spaces.sweep_file import sweep_from_file
from search_spaces.trial_key import trial_key as trial_key_of
from sweeps.aggregation.best_configs import best_configs
from sweeps.aggregation.named_models import load_model, named_trial
from sweeps.aggregation.trial_view import show
from sweeps.records import trial_record as names
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Outcome
from tests.capsmodel.small_config import small_config
from tests.golden.stores.archive import STORAGE
from tests.golden.stores.questions import FINISHED_SEARCH
from tests.sweeps.aggregation.known_sweep import (
    finished,
    manifest_of,
    put_config,
    put_sweep,
    put_trial,
    trial_key,
    unfinished,
)
from tests.sweeps.aggregation.small_search import FRESH, confirmed_search


def test_asking_for_no_configuration_is_refused(store):
    with pytest.raises(BadInput, match="At least one"):
        best_configs("known", store, count=0)


def test_a_trial_is_shown_with_config_curve_and_weights(store, tmp_path):
    run = put_trial(store, finished("a", 0, 5, epochs=2))
    put_config(store, run, {"batch_size": 7})
    put_artifact_of(store, run, tmp_path)
    view = show(trial_key("a", 0)[:6], store)

    assert view.record.record_id == run
    assert view.config == {"batch_size": 7}
    assert [*view.curve["validation_error"]] == [1, 2]
    assert [epoch for epoch, *_ in view.epochs()] == [1, 2]
    assert view.weights is not None
    assert Path(view.weights).name == names.ARTIFACT_WEIGHTS


def test_a_trial_that_did_not_finish_has_no_weights(store):
    run = put_trial(store, unfinished("a", 0, Outcome.FAILED, "x"))
    put_config(store, run, {})

    assert show(run, store).weights is None


def test_a_trial_whose_weights_were_not_kept_has_none_to_show(store):
    run = put_trial(store, finished("a", 0, 5))
    put_config(store, run, {})

    assert show(run, store).weights is None


def test_a_model_whose_weights_were_not_kept_gets_one_sentence(store):
    put_sweep(store, manifest_of(["a"], [0]), [])
    put_trial(store, finished("a", 0, 5))

    sentence = rf"weights of trial {trial_key('a', 0)} \(arm 'a', seed 0\) are missing: .*--retrain"
    with pytest.raises(BadInput, match=sentence) as error:
        best_configs("known", store)[0].load_model()
    assert "\n" not in str(error.value)


def one_arm_sweep(config: dict[str, object]) -> Manifest:
    manifest = manifest_of(["small"], [0, 1])
    arm = manifest.arms[0].model_copy(update={"config": config})
    return manifest.model_copy(update={"arms": (arm,)})


@pytest.fixture
def trained_sweep(store, tmp_path):
    """Put a sweep of one arm with two seeds, the second with the lower validation error."""
    config = small_config()
    put_sweep(store, one_arm_sweep(config.model_dump(mode="json")), [])
    trained = {}
    for seed, error in ((0, 0.5), (1, 0.25)):
        run = put_trial(store, finished("small", seed, 5, epochs=1, validation_error=error))
        trained[seed] = Training(config, seed=seed).trained()
        trained[seed].save(tmp_path / names.ARTIFACT_WEIGHTS)
        store.writer().upload(run, tmp_path / names.ARTIFACT_WEIGHTS)
    return trained


@pytest.mark.parametrize(("asked", "loaded"), [(None, 1), (0, 0), (1, 1)])
def test_the_model_is_that_of_the_best_seed_or_of_the_one_asked_for(
    asked, loaded, trained_sweep, store
):
    images = torch.rand(4, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    model = best_configs("known", store)[0].load_model(asked)

    assert model.seed == loaded
    expected = trained_sweep[loaded].predict(images).lengths
    assert torch.equal(model.predict(images).lengths, expected)


def test_the_model_of_a_confirmed_arm_is_that_of_its_best_fresh_seed(store, tmp_path):
    config = small_config()
    manifest, records = confirmed_search()
    arm = manifest.arms[3].model_copy(update={"config": config.model_dump(mode="json")})
    put_sweep(store, manifest.model_copy(update={"arms": (*manifest.arms[:3], arm)}), [])
    for trial in records.values():
        run = put_trial(store, trial.model_copy(update={"epochs": 1}))
        if trial.arm == "proposal 3":
            Training(config, seed=trial.seed).trained().save(tmp_path / names.ARTIFACT_WEIGHTS)
            store.writer().upload(run, tmp_path / names.ARTIFACT_WEIGHTS)
    model = best_configs("known", store)[0].load_model()

    assert model.seed == FRESH[0]


def test_the_model_of_a_sweep_is_that_of_its_best_trial_by_validation(store, tmp_path):
    manifest = manifest_of(["a", "b"], [0, 1])
    config = small_config()
    arms = [
        arm.model_copy(update={"config": config.model_dump(mode="json")}) for arm in manifest.arms
    ]
    put_sweep(store, manifest.model_copy(update={"arms": tuple(arms)}), [])
    with pytest.raises(
        BadInput, match="No trial of the sweep 'known' has finished, so that it has"
    ):
        load_model("known", store)
    errors = {("a", 0): (0.5, 0), ("a", 1): (0.1, 1), ("b", 0): (0.3, 50), ("b", 1): (0.2, 90)}
    for (arm, seed), (error, wrong) in errors.items():  # that with the fewest wrong is not chosen
        more = {"epochs": 1, "validation_error": error}
        run = put_trial(store, finished(arm, seed, wrong, **more))
        put_config(store, run, config.model_dump(mode="json"))
        Training(config, seed=seed).trained().save(tmp_path / names.ARTIFACT_WEIGHTS)
        store.writer().upload(run, tmp_path / names.ARTIFACT_WEIGHTS)

    assert load_model("known", store).seed == 1
    record, why = named_trial("known", store)
    assert (record.arm, record.seed) == ("b", 1)
    assert why == (
        f"Trial {trial_key('b', 1)} of known (arm 'b', seed 1): the best arm by mean validation "
        f"error, and its trial with the lowest validation error."
    )
    assert named_trial(trial_key("a", 0)[:8], store).why == ""


def test_a_seed_that_did_not_finish_cannot_be_loaded(trained_sweep, store):
    with pytest.raises(BadInput, match=r"no finished trial with seed 9\. Finished: 0, 1"):
        best_configs("known", store)[0].load_model(9)


def test_a_part_that_is_not_capsmodels_asks_for_its_class(store, tmp_path):
    config = json.loads(small_config().model_dump_json())
    config["model"]["routing"] = {"kind": "my_routing"}
    put_sweep(store, one_arm_sweep(config), [])
    run = put_trial(store, finished("small", 0, 5))
    put_artifact_of(store, run, tmp_path)

    sentence = r"uses the routing 'my_routing', which is not part of capsmodel: pass its class"
    with pytest.raises(BadInput, match=sentence):
        best_configs("known", store)[0].load_model()


def test_a_family_with_one_built_in_member_asks_for_the_class_too(store, tmp_path):
    config = json.loads(small_config().model_dump_json())
    config["stopping"] = {"kind": "when_bored"}
    put_sweep(store, one_arm_sweep(config), [])
    put_artifact_of(store, put_trial(store, finished("small", 0, 5)), tmp_path)

    with pytest.raises(BadInput, match="uses the stopping 'when_bored'"):
        best_configs("known", store)[0].load_model()


def put_artifact_of(store, run, tmp_path):
    save_file({"layer.weight": torch.zeros(3)}, tmp_path / names.ARTIFACT_WEIGHTS)
    store.writer().upload(run, tmp_path / names.ARTIFACT_WEIGHTS)


def test_weights_that_do_not_fit_their_config_are_refused(store, tmp_path):
    put_sweep(store, one_arm_sweep(small_config().model_dump(mode="json")), [])
    put_artifact_of(store, put_trial(store, finished("small", 0, 5)), tmp_path)

    with pytest.raises(BadInput):
        best_configs("known", store)[0].load_model()


def test_the_config_of_a_ranked_arm_is_what_its_trials_were_trained_with(tmp_path):
    FINISHED_SEARCH.unpacked(tmp_path)
    sweep, _ = sweep_from_file(tmp_path / f"{FINISHED_SEARCH.sweep}.py")
    ranked = best_configs(FINISHED_SEARCH.sweep, storage=str(tmp_path / STORAGE))
    for best in ranked:
        config = best.training_config(parts=sweep.parts)
        assert isinstance(best.config, dict), "plain JSON stays"
        assert [trial_key_of(config, each.seed) for each in best.trials] == [
            each.trial_key for each in best.trials
        ]


def test_a_config_with_a_part_that_is_missing_names_it_and_its_recorded_code(store, tmp_path):
    config = json.loads(small_config().model_dump_json()) | {"loss": {"kind": "paced"}}
    put_sweep(store, one_arm_sweep(config), [])
    run = put_trial(store, finished("small", 0, 5))
    (best,) = best_configs("known", store)
    with pytest.raises(BadInput) as refused:
        best.training_config()
    assert str(refused.value) == (
        "The training config uses the loss 'paced', which is not part of capsmodel: pass its "
        "class, training_config(parts=[...])."
    )
    (tmp_path / names.ARTIFACT_SOURCE).write_text("class Paced(Loss): ...")
    store.writer().upload(run, tmp_path / names.ARTIFACT_SOURCE)
    with pytest.raises(BadInput, match=r"parts=\[\.\.\.\]\); its code lies in .*parts\.py\.$"):
        best.training_config()
