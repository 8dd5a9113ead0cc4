"""Two sweeps side by side: which arms stand beside each other, and what is said of them."""

import hashlib

import pytest

from sweeps.aggregation.comparison.arm_matching import match_arms
from sweeps.aggregation.comparison.side_by_side import compare_sweeps, side_by_side
from sweeps.aggregation.rendering.csv_text import to_csv
from sweeps.aggregation.results.arms import arm_results
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from tests.sweeps.aggregation.known_sweep import (
    finished,
    known_sweep,
    manifest_of,
    put_sweep,
    trial_key,
)


def sweep_of(name, arms, seeds=(0, 1, 2), key=trial_key, **more):
    """Return a sweep of arms with given configs, and records of its finished trials."""
    manifest = Manifest.model_validate(
        {
            "sweep": name,
            "baseline": next(iter(arms)),
            "arms": [
                {"name": arm, "config": config, "num_parameters": 10}
                for arm, config in arms.items()
            ],
            "seeds": list(seeds),
            "cells": [
                {"arm": arm, "seed": seed, "trial_key": key(arm, seed)}
                for arm in arms
                for seed in seeds
            ],
        }
    )
    facts = {"data_fingerprint": "digits-1", "epochs": 15} | more
    records = {
        key(arm, seed): finished(arm, seed, 5 + seed, **facts).model_copy(
            update={"trial_key": key(arm, seed)}
        )
        for arm in arms
        for seed in seeds
    }
    return manifest, records


def other_key(arm, seed):
    return hashlib.sha256(f"another version/{arm}/{seed}".encode()).hexdigest()[:20]


def test_sweeps_of_other_lengths_or_data_say_so_also_where_no_arm_stands_in_both():
    first = sweep_of("long", {"a": {"x": 1}})
    short = {"epochs": 1, "data_fingerprint": "digits-2"}
    second = sweep_of("short", {"b": {"x": 2}}, key=other_key, **short)

    notes = compared(first, second).notes
    assert "Epochs of all trials differ: long 15; short 1." in notes
    assert "Data of all trials differ: long digits-1; short digits-2." in notes
    assert not [note for note in compared(first, first).notes if "of all trials" in note]


def compared(first, second):
    matched = list(match_arms(arm_results(*first), arm_results(*second)))
    return side_by_side(first[0], second[0], matched)


def differs(table):
    place = next(n for n, column in enumerate(table.columns) if column.title == "Differs in")
    return {row[0].text: row[place].text for row in table.rows}


A, B, C = ({"batch_size": size, "stopping": {"epochs": 15}} for size in (32, 64, 128))


def test_arms_match_by_their_configs_and_else_by_their_names():
    first = sweep_of("one", {"a": A, "b": B, "only": C})
    second = sweep_of("two", {"b": A, "a": {"batch_size": 7}, "more": {"batch_size": 9}})
    matched = list(match_arms(arm_results(*first), arm_results(*second)))
    names = [
        (match.first and match.first.arm.name, match.second and match.second.arm.name, match.by)
        for match in matched
    ]
    # b has the name of an arm that a's config has taken
    expected = [("a", "b", "config"), ("b", None, ""), ("only", None, "")]
    assert names == [*expected, (None, "a", ""), (None, "more", "")]

    third = sweep_of("three", {"b": {"batch_size": 7}})
    (match,) = (
        match for match in match_arms(arm_results(*first), arm_results(*third)) if match.second
    )
    assert (match.name, match.by) == ("b", "name")


def test_the_same_trials_of_both_are_counted_and_nothing_differs():
    table = compared(sweep_of("one", {"a": A, "b": B}), sweep_of("two", {"a": A, "c": B}))

    assert differs(table)["a"] == ""
    assert (
        "with equal settings, data, epochs and seeds" not in table.lead
    )  # b and c have other keys
    assert any("3 of the trials are the same in both sweeps" in note for note in table.notes)


def test_another_protocol_shows_in_the_keys_of_equal_settings_seeds_and_data():
    table = compared(sweep_of("one", {"a": A}), sweep_of("two", {"a": A}, key=other_key))

    assert differs(table) == {"a": "code protocol"}
    assert any(note.startswith("Code protocols differ") for note in table.notes)
    assert "code protocol" in table.lead


@pytest.mark.parametrize(
    ("arms", "seeds", "more", "difference", "note"),
    [
        (
            {"a": A},
            (0, 1, 2),
            {"data_fingerprint": "digits-2"},
            "data: digits-1 | digits-2",
            "Data",
        ),
        ({"a": A}, (0, 1, 2), {"epochs": 3}, "epochs: 15 | 3", "Epochs differ: a"),
        ({"a": A}, (0, 1, 2, 7), {}, "seeds: 0-2 | 0-2, 7", "Seeds differ: a"),
        ({"a": B}, (0, 1, 2), {}, "settings: batch_size 32 | 64", "If settings differ, keys"),
    ],
    ids=["data", "epochs", "seeds", "settings"],
)
def test_what_keeps_results_from_comparing_is_said(arms, seeds, more, difference, *, note):
    table = compared(sweep_of("one", {"a": A}), sweep_of("two", arms, seeds, **more))

    assert difference in differs(table)["a"]
    assert any(line.startswith(note) for line in table.notes)


def test_no_difference_and_no_bold_stands_across_two_sweeps():
    first, second = sweep_of("one", {"a": A}), sweep_of("two", {"a": A})
    worse = {
        key: record.model_copy(update={"metrics": {"test_error": 0.5}})
        for key, record in second[1].items()
    }
    table = compared(first, (second[0], worse))

    assert not any(cell.is_bold for row in table.rows for cell in row)
    assert not any(
        f.startswith(("difference", "p", "verdict")) for c in table.columns for f in c.fields
    )
    assert "first_mean" in to_csv(table)
    assert "no difference and no bold" in table.notes[0]


def test_files_are_written_beside_the_first_ones_report(store, tmp_path):
    manifest, records = known_sweep()
    put_sweep(store, manifest, records.values())
    put_sweep(store, manifest_of(["three rounds", "new"], sweep="other"), [])
    comparison = compare_sweeps("known", "other", store, reports=tmp_path)

    assert {path.name for path in comparison.paths} == {
        f"compare-other.{e}" for e in ("md", "csv", "tex")
    }
    assert {path.parent for path in comparison.paths} == {tmp_path / "known"}
    assert "| new |" in (tmp_path / "known" / "compare-other.md").read_text()


@pytest.mark.parametrize(
    ("other", "message"),
    [("known", "compared with itself"), ("unknown", "no sweep 'unknown'"), ("other", "of its own")],
)
def test_what_cannot_be_compared_is_refused_and_nothing_written(other, message, store, tmp_path):
    tables = [{"kind": "ablation", "name": "compare-other"}]
    put_sweep(store, manifest_of(["a"], tables=tables), [])
    put_sweep(store, manifest_of(["a"], sweep="other"), [])

    with pytest.raises(BadInput, match=message):
        compare_sweeps("known", other, store, reports=tmp_path / "reports")
    assert not (tmp_path / "reports").exists()
