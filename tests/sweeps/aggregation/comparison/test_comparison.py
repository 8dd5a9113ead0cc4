"""Sweeps side by side, and in what two trials or two sweeps differ."""

import pandas as pd
import pytest

from sweeps.aggregation.best_configs import best_configs
from sweeps.aggregation.comparison import compare, diff
from sweeps.aggregation.comparison.diff import Changed, Several, changed_only
from sweeps.records.errors import BadInput
from tests.sweeps.aggregation.known_sweep import (
    finished,
    known_sweep,
    manifest_of,
    put_config,
    put_sweep,
    put_trial,
    trial_key,
)
from tests.sweeps.aggregation.rendering.seen_html import checked
from tests.sweeps.aggregation.small_search import confirmed_search


def put(store, sweep, arms, *, seeds=(0, 1), epochs=3):
    """Put a sweep of arms, name -> (config, wrong images of each seed)."""
    manifest = manifest_of(arms, seeds, sweep=sweep)
    configured = tuple(
        arm.model_copy(update={"config": arms[arm.name][0]}) for arm in manifest.arms
    )
    cells = tuple(
        cell.model_copy(update={"trial_key": trial_key(f"{sweep} {cell.arm}", cell.seed)})
        for cell in manifest.cells
    )
    put_sweep(store, manifest.model_copy(update={"arms": configured, "cells": cells}), [])
    for arm, (config, wrong) in arms.items():
        for seed, count in zip(seeds, wrong, strict=True):
            key = trial_key(f"{sweep} {arm}", seed)
            trial = finished(arm, seed, count, epochs=epochs, record_id=f"run-{key}")
            record_id = put_trial(store, trial.model_copy(update={"trial_key": key}))
            put_config(store, record_id, config)


EM = {"model": {"routing": {"kind": "em", "iterations": 2}}, "epochs": 3}
DYNAMIC = {"model": {"routing": {"kind": "dynamic"}, "dims": [8, 16]}, "epochs": 3}


@pytest.fixture
def pair(store):
    """Return a store with "one" and "two", whose arm of one config has another name."""
    put(store, "one", {"em": (EM, (6, 9)), "dynamic": (DYNAMIC, (3, 4)), "own": ({}, (50, 50))})
    put(store, "two", {"ours": (DYNAMIC, (5, 5)), "em": ({**EM, "epochs": 9}, (1, 2))})
    return store


def test_arms_of_equal_configs_stand_together_then_those_of_equal_names(pair):
    frame = compare("one", "two", tracking_uri=pair)

    assert [(*row,) for row in frame[["arm", "sweep", "own_name", "matched_by"]].to_numpy()] == [
        ("em", "one", "em", ""),
        ("em", "two", "em", "name"),
        ("dynamic", "one", "dynamic", ""),
        ("dynamic", "two", "ours", "config"),
        ("own", "one", "own", ""),
    ]
    assert [*frame["rank"]] == [2, 1, 1, 2, 3]
    protocol = "code protocol"  # as equal settings and seeds have other keys
    assert [*frame["differs_in"]] == [*["settings: epochs 3 | 9"] * 2, protocol, protocol, ""]


def test_each_row_of_an_arm_says_in_what_it_differs_between_the_sweeps(store):
    lengths = {"short": 15, "long": 20, "longest": 30}
    for name, epochs in lengths.items():
        put(store, name, {"em": ({**EM, "epochs": epochs}, (6, 9))}, epochs=epochs)
    put(store, "again", {"em": ({**EM, "epochs": 15}, (6, 9))}, epochs=15, seeds=(0, 2))

    frame = compare("long", "short", tracking_uri=store)
    assert [*frame["differs_in"]] == ["settings: epochs 20 | 15; epochs: 20 | 15"] * 2
    frame = compare("short", "longest", "again", tracking_uri=store)
    text = "settings: epochs 15 | 30 | 15; epochs: 15 | 30 | 15; seeds: 0-1 | 0-1 | 0, 2"
    assert [*frame["differs_in"]] == [text] * 3


def test_means_and_intervals_are_those_of_the_ranking(pair):
    frame = compare("one", "two", tracking_uri=pair).set_index(["sweep", "own_name"])

    for sweep in ("one", "two"):
        for best in best_configs(sweep, pair):
            row = frame.loc[(sweep, best.arm)]
            assert (row["mean"], row["rank"]) == (best.value.mean, best.rank)
            if best.value.deviation is not None:
                assert row["sd"] == best.value.deviation
            assert pd.isna(row["low"]), "there are no predictions"
    assert frame.attrs["metric"] == "validation_error"
    assert frame.attrs["units"]["mean"] == "fraction"


def test_another_metric_and_more_sweeps_are_compared_as_well(pair):
    put(pair, "three", {"anew": (EM, (7,))}, seeds=[0])
    frame = compare("two", "one", "three", metric="test_error", tracking_uri=pair)

    wide = frame.pivot(index="arm", columns="sweep", values="mean")
    assert wide.loc["em", "one"] == pytest.approx(7.5 / 360)
    assert pd.isna(wide.loc["em", "three"]), "its config is that of em in one, not in two"
    alone = frame[frame["sweep"] == "three"].iloc[0]
    assert (alone["num_trials"], alone["num_planned"]) == (1, 1)
    assert pd.isna(alone["low"])


def test_trials_that_did_not_finish_have_no_part_in_a_mean(pair):
    manifest, records = known_sweep()
    put_sweep(pair, manifest, records.values())
    frame = compare("known", "one", tracking_uri=pair).set_index("own_name")

    wild = frame.loc["wild"]
    assert (wild["num_trials"], wild["num_planned"], wild["mean"]) == (1, 3, 30 / 600)


def test_of_a_search_the_confirmed_are_compared_by_their_fresh_seeds(pair):
    manifest, records = confirmed_search()
    put_sweep(pair, manifest, [t.model_copy(update={"epochs": 1}) for t in records.values()])
    frame = compare("known", "one", tracking_uri=pair).set_index("own_name")

    best = best_configs("known", pair)[0]
    row = frame.loc[best.arm]
    assert (row["mean"], row["num_trials"], row["rank"]) == (best.value.mean, 3, 1)


@pytest.mark.parametrize(
    ("names", "more", "sentence"),
    [
        ((), {}, "Two sweeps or more are compared, none was given"),
        (("one",), {}, "given was 'one' alone"),
        (("one", "one"), {}, "'one' would be compared with itself"),
        (("one", "twoo"), {}, "Did you mean 'two'"),
        (("one", "two"), {"metric": "tst_error"}, "Did you mean 'test_error'"),
    ],
)
def test_what_cannot_be_compared_is_refused(names, more, sentence, pair):
    with pytest.raises(BadInput, match=sentence):
        compare(*names, tracking_uri=pair, **more)


def test_two_trials_differ_in_their_settings_and_results(pair):
    keys = trial_key("one em", 0), trial_key("two ours", 1)
    difference = diff(keys[0][:7], keys[1], pair)

    assert (difference.kind, difference.first, difference.second) == ("trials", *keys)
    assert difference.settings == {
        "model.routing": ("em", "dynamic"),
        "model.routing.iterations": (2, None),
        "model.dims": (None, "8, 16"),
        "seed": (0, 1),
    }
    assert difference.results["test_error"] == (6 / 360, 5 / 360)
    assert difference.results["outcome"] == ("finished", "finished")
    row = difference.frame.set_index("name").loc["test_error"]
    assert row["difference"] == pytest.approx(-1 / 360)
    assert row["unit"] == "fraction"
    seen = checked(difference)
    assert "\N{MINUS SIGN}0.28 points" in seen.text
    assert "not there" in seen.text
    assert repr(difference).startswith(
        f"<Difference {keys[0][:8]} {keys[1][:8]}: 4 settings differ"
    )


def test_two_seeds_of_an_arm_differ_in_the_seed_alone(pair):
    difference = diff(trial_key("one em", 0), trial_key("one em", 1), pair)

    assert difference.settings == {"seed": (0, 1)}
    assert difference.circumstances == {}


def test_two_sweeps_differ_in_what_their_arms_have(pair):
    difference = diff("one", "two", pair)

    assert difference.settings == {"epochs": (3, "3, 9")}, "whatever the order of the arms"
    assert difference.results["best arm"] == ("dynamic", "em")
    means = difference.results["validation error of em"]
    assert means == (pytest.approx(7.5 / 600), pytest.approx(1.5 / 600))
    assert difference.results["arms of one alone"] == ("own", None)
    assert "Nothing is tested across two sweeps" in checked(difference).text


def test_numbers_in_a_list_are_shown_short_and_told_apart_in_full():
    rates = Several([0.1, 0.000533566166798042, "dynamic"])
    row = Changed("setting", "optimiser.learning_rate", rates, "rate 0.000533566166798042")
    assert row.texts == ("0.1, 0.00053357, dynamic", "rate 0.000533566166798042")
    assert row.first == "0.1, 0.000533566166798042, dynamic"
    others = Several([0.1, 0.00053356616, "dynamic"])
    assert [*changed_only("setting", {"rate": rates}, {"rate": others})]


@pytest.mark.parametrize(
    ("first", "second", "sentence"),
    [
        ("one", trial_key("one em", 0), "'one' is a sweep and .* a trial: give two of one sort"),
        ("one", "one", "Sweep one would be compared with itself"),
        (trial_key("one em", 0), trial_key("one em", 0)[:6], "would be compared with itself"),
        ("one", "tow", "'tow' is neither a sweep nor .* Did you mean 'two'"),
        ("one", "", "'' is neither a sweep nor the beginning of a trial key"),
        ("0000", "one", "There is no trial '0000'"),
    ],
)
def test_what_cannot_be_held_against_each_other_is_refused(first, second, sentence, pair):
    with pytest.raises(BadInput, match=sentence):
        diff(first, second, pair)
