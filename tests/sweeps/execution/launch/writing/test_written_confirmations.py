"""The winner of a sweep that tunes its arms is trained on at the rate that was chosen for it."""

import pytest

from capsmodel.config import TrainingConfig
from capsmodel.overrides import with_settings
from search_spaces.sweep_file import module_from_text
from search_spaces.trial_key import trial_key
from sweeps.execution.launch.writing.confirm import confirmation_of, winner_of
from sweeps.execution.launch.writing.launched_sweep import LaunchedSweep, launched_sweep
from sweeps.execution.launch.writing.options import ConfirmOptions
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.tracking.store import RecordStore
from tests.capsmodel.small_config import small_config
from tests.sweeps.aggregation.known_sweep import finished, put_sweep
from tests.sweeps.aggregation.tables.test_tuned_arms import RATE, RATES, manifest_of

CHOSEN = {"dynamic": RATES[2], "uniform": RATES[1]}


def config_of(arm: str) -> TrainingConfig:
    routing, _, tuning = arm.partition(", tuning ")
    rate = RATES[int(tuning) - 1] if tuning else CHOSEN[routing]
    return with_settings(small_config(), {"model.routing": routing, RATE: rate})


def tuned() -> Manifest:
    """Return a sweep of two arms, each at the rate that its tunings have chosen."""
    manifest = manifest_of()
    arms = [
        arm.model_copy(update={"config": config_of(arm.name).model_dump(mode="json")})
        for arm in manifest.arms
    ]
    cells = [
        cell.model_copy(update={"trial_key": trial_key(config_of(cell.arm), cell.seed)})
        for cell in manifest.cells
    ]
    return manifest.model_copy(update={"arms": tuple(arms), "cells": tuple(cells)})


def put(store: RecordStore, manifest: Manifest) -> LaunchedSweep:
    """Put the sweep into a store; its arm of equal shares errs least."""
    wrong = {"uniform": 5}
    trials = [
        finished(cell.arm, cell.seed, wrong.get(cell.arm, 9), trial_key=cell.trial_key)
        for cell in manifest.cells
    ]
    put_sweep(store, manifest, trials)
    return launched_sweep("known", store)


def test_it_keeps_its_own_rate_and_no_seed_that_tuned_or_ranked_it(store: RecordStore) -> None:
    launched = put(store, tuned())
    winner = winner_of(launched, store, None)
    sweep, text = confirmation_of(launched, winner, ConfirmOptions(epochs=7, seeds=2))
    assert sweep == module_from_text(text).SWEEP
    length = {"stopping.epochs": 7}
    assert {arm.name: arm.config for arm in sweep.arms()} == {
        arm: with_settings(config_of(arm), length) for arm in ("dynamic", "uniform")
    }
    assert (winner.name, sweep.seeds) == ("uniform", (201, 202))


def test_without_the_baseline_there_is_nothing_to_compare_it_with(store: RecordStore) -> None:
    manifest = tuned()
    still = {
        "arms": tuple(arm for arm in manifest.arms if arm.name != "dynamic"),
        "cells": tuple(cell for cell in manifest.cells if cell.arm != "dynamic"),
    }
    launched = put(store, manifest.model_copy(update=still))
    winner = winner_of(launched, store, None)
    with pytest.raises(BadInput, match="'dynamic', is still to be chosen: let the sweep end"):
        confirmation_of(launched, winner, ConfirmOptions())
