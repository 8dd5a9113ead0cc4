"""Trainings of the same networks for another number of epochs are found in all sweeps."""

from typing import Any

import pytest

from sweeps.execution.survey.estimate import Timing
from sweeps.execution.survey.other_lengths import timings_at_other_lengths
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.tracking.store import RecordStore
from tests.capsmodel.small_config import small_config
from tests.sweeps.aggregation.known_sweep import finished, manifest_of, put_sweep

CONFIG = small_config().model_dump(mode="json")
TARGET = {"kind": "target_metric", "at_or_below": 0.1}


def swept(sweep: str, configs: dict[str, dict[str, Any]]) -> Manifest:
    """Return a sweep of some arms with one seed."""
    manifest = manifest_of([*configs], [0], sweep=sweep)
    arms = tuple(arm.model_copy(update={"config": configs[arm.name]}) for arm in manifest.arms)
    return manifest.model_copy(update={"arms": arms})


def timed(arm: str, seconds: float, **more: Any) -> Any:
    return finished(arm, 0, 5, epochs=2, duration_seconds=seconds, **more)


def with_epochs(epochs: int) -> dict[str, Any]:
    return {**CONFIG, "stopping": {"kind": "fixed_epochs", "epochs": epochs}}


def found(store: RecordStore, config: dict[str, Any], fingerprint: str = "x") -> list[float]:
    timings = timings_at_other_lengths({"mine": config}, {"mine": fingerprint}, store)
    return [timing.seconds_per_epoch for timing in timings.get("mine", [])]


@pytest.fixture
def two_sweeps(store: RecordStore) -> RecordStore:
    """Return a store with five arms in two sweeps, one of which has other images."""
    one = {"short": with_epochs(2), "wide": {**with_epochs(2), "batch_size": 7}}
    target = {**CONFIG, "stopping": {**TARGET, "max_epochs": 2}}
    other = {"long": with_epochs(9), "other data": with_epochs(9), "target": target}
    trials = [timed("short", 2), timed("wide", 4)]
    put_sweep(store, swept("one", one), trials)
    fields = {"data_fingerprint": "y"}
    trials = [timed("long", 6), timed("other data", 8, **fields), timed("target", 10)]
    put_sweep(store, swept("other", other), trials)
    return store


def test_they_differ_in_epochs_and_seed_alone(two_sweeps: RecordStore) -> None:
    assert sorted(found(two_sweeps, with_epochs(40))) == [1.0, 3.0]
    assert sorted(found(two_sweeps, with_epochs(40), "y")) == [1.0, 3.0, 4.0]
    assert found(two_sweeps, {**with_epochs(40), "batch_size": 7}) == [2.0]
    assert found(two_sweeps, {**with_epochs(40), "batch_size": 8}) == []
    longer = {**CONFIG, "stopping": {**TARGET, "max_epochs": 40}}
    assert found(two_sweeps, longer) == [5.0]
    assert found(two_sweeps, {**CONFIG, "stopping": {**TARGET, "at_or_below": 0.2}}) == []


def test_two_arms_of_one_network_both_get_them(two_sweeps: RecordStore) -> None:
    configs = {"five": with_epochs(5), "six": with_epochs(6)}
    timings = timings_at_other_lengths(configs, {}, two_sweeps)
    assert {*timings} == {"five", "six"}
    assert timings["five"] == timings["six"]
    assert Timing(1.0, 2, "cpu") in timings["five"]


def test_a_damaged_sweep_does_not_matter(
    two_sweeps: RecordStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = type(two_sweeps).manifest

    def manifest(store: RecordStore, sweep: str) -> Manifest:
        if sweep == "one":
            raise BadInput("It is damaged.")
        return read(store, sweep)

    monkeypatch.setattr(type(two_sweeps), "manifest", manifest)
    assert found(two_sweeps, with_epochs(40)) == [3.0]
