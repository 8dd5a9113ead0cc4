"""What stands above an ablation table, and what has to be said below it."""

from collections.abc import Sequence
from math import inf, nan

import numpy as np
import pytest

from sweeps.aggregation.rendering.table import Table
from sweeps.aggregation.results.ablation_comparisons import ablation_comparisons
from sweeps.aggregation.results.arms import arm_results
from sweeps.aggregation.results.comparisons import evidence_needed
from sweeps.aggregation.statistics.added_seeds import level_of_evidence
from sweeps.aggregation.statistics.power import POWER
from sweeps.aggregation.tables.ablation_table import ablation_table
from sweeps.records.manifest import VERDICT_RULE, Manifest
from sweeps.records.trial_record import Outcome, TrialRecord
from tests.sweeps.aggregation.known_sweep import (
    by_key,
    finished,
    manifest_of,
    unfinished,
    with_metrics,
)
from tests.sweeps.aggregation.predicted import Wrong, predictions_of, trials_of

BASE = [range(5), range(6), range(7)]
CLEAR = [range(40), range(44), range(41)]
NEAR = [range(1, 6), range(2, 6), range(8)]


def table_of(
    wrong: Wrong, manifest: Manifest | None = None, others: Sequence[TrialRecord] = ()
) -> Table:
    chosen = manifest or manifest_of([*wrong])
    records = by_key(*trials_of(wrong), *others)
    return ablation_table(chosen, records, predictions=predictions_of(wrong))


def diverged(arm: str, seeds: Sequence[int]) -> list[TrialRecord]:
    return [unfinished(arm, seed, Outcome.DIVERGED, "nan") for seed in seeds]


def test_arms_without_a_result_are_not_undecided_but_named() -> None:
    wrong: Wrong = {"base": BASE, "near": NEAR}
    manifest = manifest_of(["base", "near", "wild"])
    lead = table_of(wrong, manifest, diverged("wild", range(3))).lead
    assert lead.startswith("Undecided: its difference lies between ")
    assert (
        "A next table like this one (360 test images and 3 seeds) would show an arm in bold "
        in lead
    )
    assert lead.endswith(" No result: wild (3 diverged).")


@pytest.mark.parametrize(
    ("losses", "text"),
    [
        ((nan, 1.0), "NaN"),
        ((inf, 1.0), "infinite"),
        ((1.0, -inf), "minus infinity"),
        ((inf, nan), "infinite or NaN"),
    ],
)
def test_what_the_loss_of_a_diverged_trial_became_is_said_as_it_is(
    losses: tuple[float, float], text: str
) -> None:
    train, validation = losses
    (wild,) = diverged("wild", [0])
    trial = with_metrics(wild, train_loss=train, validation_loss=validation)
    table = table_of({"base": BASE}, manifest_of(["base", "wild"]), [trial])
    start = f"Diverged: trials of wild whose loss became {text}, with the exact "
    assert [note for note in table.notes if note.startswith(start)]


def test_arms_of_one_row_are_counted_each() -> None:
    lead = table_of({"base": BASE, "clear": CLEAR, "near": NEAR, "same": NEAR}).lead
    assert "Undecided (2 arms): " in lead


def test_a_baseline_without_a_result_is_named_and_nothing_is_undecided() -> None:
    manifest = manifest_of(["base", "near"])
    table = table_of({"near": NEAR}, manifest, diverged("base", range(3)))
    assert table.lead == ("The baseline has no finished trial (3 diverged): nothing is compared.")
    assert not [note for note in table.notes if "common" in note]


def test_arms_identical_to_the_baseline_are_the_answer() -> None:
    table = table_of({"base": BASE, "same": BASE})
    assert table.lead == "Identical to the baseline: same."
    assert [note for note in table.notes if note.startswith("base and same: losses and errors")]


def test_where_all_are_decided_it_still_says_what_could_be_seen() -> None:
    wrong: Wrong = {"base": BASE, "near": NEAR}
    lead = table_of(wrong, manifest_of([*wrong], margin_points=3.0)).lead
    assert lead.startswith(
        "Equivalent to the baseline within ±3 points: near. A next table like this one (360 test "
    )
    assert "Undecided" not in lead


def test_each_spread_is_over_the_seeds_that_there_are() -> None:
    wrong: Wrong = {"base": BASE, "few": [range(5), range(7)]}
    table = table_of(wrong, manifest_of([*wrong]), diverged("few", [2]))
    assert table.notes[0] == "sd: the standard deviation over 2 to 3 seeds, a description."
    none = table_of({}, manifest_of(["a", "b"]), diverged("a", range(3)))
    assert none.notes[0] == "No arm has two finished trials, so there is no spread."
    of_one_seed = table_of({"a": [[1]], "b": [[2]]}, manifest_of(["a", "b"], [0]))
    assert of_one_seed.notes[0].startswith("Each arm has one seed")


def test_other_lengths_than_the_baselines_are_said() -> None:
    manifest = manifest_of(["base", "short"])
    stoppings = ({"stopping": {"epochs": 5}}, {"stopping": {"epochs": 2}})
    arms = tuple(
        arm.model_copy(update={"config": arm.config | stopping})
        for arm, stopping in zip(manifest.arms, stoppings, strict=True)
    )
    trials = [finished("base", seed, 9, epochs=5) for seed in range(3)]
    trials += [finished("short", seed, 40, epochs=2) for seed in range(3)]
    unlike = ablation_table(manifest.model_copy(update={"arms": arms}), by_key(*trials))
    assert "Epochs differ: the baseline has 5, short 2." in unlike.notes
    same = ablation_table(manifest, by_key(*trials))
    assert not [note for note in same.notes if note.startswith("Epochs")]


def added(num_seeds: int) -> Table:
    chance = np.random.default_rng(num_seeds)
    wrong: Wrong = {
        arm: [range(int(first)) for first in chance.integers(3, 30, num_seeds)]
        for arm in ("base", *"abcdef")
    }
    return table_of(wrong, manifest_of([*wrong], range(num_seeds), planned_seeds=(0, 1, 2)))


def test_after_seeds_were_added_too_few_of_them_can_show_nothing() -> None:
    assert added(4).lead.endswith(
        ". No difference can be tested, as after seeds were added it takes 5 of them at least."
    )
    assert "4 images" not in added(6).lead
    assert "would show an arm in bold in 8 of 10 cases if it errs " in added(6).lead


@pytest.mark.parametrize("num_seeds", [6, 10])
def test_after_seeds_were_added_what_can_be_seen_is_found_by_their_evidence(
    num_seeds: int,
) -> None:
    """A difference of that size passes the e-process in four of five draws of its seeds."""
    wrong: Wrong = {
        "base": [range(300, 306)] * num_seeds,
        "arm": [[*range(300, 306), *range(3 * (seed % 3))] for seed in range(num_seeds)],
    }
    manifest = manifest_of([*wrong], range(num_seeds), planned_seeds=(0, 1, 2))
    arms = arm_results(manifest, by_key(*trials_of(wrong)))
    (comparison,) = ablation_comparisons(manifest, arms, predictions_of(wrong))
    assert comparison.reach
    assert comparison.way
    error = float(np.sqrt(comparison.way.over_seeds))
    draws = np.random.default_rng(0).normal(
        comparison.reach.more.middle, error * np.sqrt(num_seeds), (20_000, num_seeds)
    )
    t = np.sqrt(num_seeds) * draws.mean(axis=1) / draws.std(axis=1, ddof=1)
    from scipy.special import stdtr

    p = 2 * stdtr(num_seeds - 1, -np.abs(t))
    assert (p < level_of_evidence(num_seeds, evidence_needed(1))).mean() > POWER - 0.01


def test_a_table_of_a_sweep_that_was_launched_under_another_rule_says_so() -> None:
    wrong: Wrong = {
        arm: [range(place, 6 + 2 * place + seed) for seed in range(3)]
        for place, arm in enumerate(("base", *"ab"))
    }
    note = "judged by its own seeds alone: verdicts may differ"
    assert note in " ".join(table_of(wrong).notes)
    shared = manifest_of([*wrong], verdict_rule="shared seeds")
    assert "beyond twice the others' variance" in " ".join(table_of(wrong, shared).notes)
    new = manifest_of([*wrong], verdict_rule=VERDICT_RULE)
    assert "verdicts may differ" not in " ".join(table_of(wrong, new).notes)
