import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.aggregation.rendering.csv_text import to_csv
from sweeps.aggregation.rendering.latex import to_latex
from sweeps.aggregation.rendering.markdown import to_markdown
from sweeps.aggregation.tables.ablation_table import ablation_table
from sweeps.aggregation.tables.cost_table import cost_table
from sweeps.aggregation.tables.trials_table import trials_table
from sweeps.records.trial_record import Outcome
from tests.sweeps.aggregation.known_sweep import (
    by_key,
    finished,
    known_sweep,
    manifest_of,
    unfinished,
)
from tests.sweeps.conftest import GOLDEN


def written() -> dict[str, str]:
    """Return each result and cost file of the known sweep."""
    manifest, records = known_sweep()
    table, cost = ablation_table(manifest, records), cost_table(manifest, records)
    return {
        "ablation.md": to_markdown(table),
        "ablation.csv": to_csv(values_of(table)),
        "ablation.tex": to_latex(table),
        "cost.md": to_markdown(cost),
        "cost.csv": to_csv(cost),
        "trials.csv": to_csv(trials_table(manifest, records)),
    }


def values_of(table):
    """Return what programs read of a table."""
    assert table.for_programs is not None
    return table.for_programs


@pytest.mark.parametrize("name", sorted(written()))
def test_the_known_sweep_gives_the_golden_file(name):
    assert written()[name] == (GOLDEN / name).read_text()


@settings(max_examples=20)
@given(st.permutations(list(known_sweep()[1])))
def test_the_order_of_records_never_changes_a_table(order):
    manifest, records = known_sweep()
    shuffled = {key: records[key] for key in order}

    assert ablation_table(manifest, shuffled) == ablation_table(manifest, records)
    assert cost_table(manifest, shuffled) == cost_table(manifest, records)
    assert to_csv(trials_table(manifest, shuffled)) == to_csv(trials_table(manifest, records))


@pytest.mark.parametrize(
    ("changes", "start"),
    [
        ({"threads": 4}, "numbers of threads, 1 (10 trials), 4 (3 trials): sums are rounded"),
        ({"device": "cuda: H100"}, "devices, cpu (10 trials), cuda: H100 (3 trials): sums are "),
        ({"threads": None, "device": ""}, ""),
    ],
)
def test_a_table_of_trials_of_different_machines_says_so(changes, start):
    manifest, records = known_sweep()
    arm = manifest.arms[0].name
    moved = {
        key: trial.model_copy(update=changes) if trial.arm == arm else trial
        for key, trial in records.items()
    }
    notes = [n for n in ablation_table(manifest, moved).notes if "trained on different" in n]
    start = start and f"The trials were trained on different {start}"
    assert [note.startswith(start) for note in notes] == [True] * bool(start)


@pytest.mark.parametrize(("is_all", "who"), [(True, "All trials"), (False, "baseline")])
def test_a_table_says_which_trials_had_less_than_single_precision(is_all, who):
    manifest, records = known_sweep()
    changed = [
        arm.model_copy(update={"config": {**arm.config, "precision": "bf16"}})
        if is_all or arm.name == manifest.baseline
        else arm
        for arm in manifest.arms
    ]
    who = manifest.baseline if who == "baseline" else who
    table = ablation_table(manifest.model_copy(update={"arms": tuple(changed)}), records)
    sentence = f"{who}: matrix products and convolutions were computed in bfloat16"
    assert sum(note.startswith(sentence) for note in table.notes) == 1
    assert not any("bfloat16" in note for note in ablation_table(manifest, records).notes)


def row(table, arm):
    fields = [field for column in table.columns for field in column.fields]
    for cells in table.rows:
        if cells[0].values[0] == arm:
            return dict(zip(fields, [v for cell in cells for v in cell.values], strict=True))
    raise AssertionError(arm)


def difference_of(table, arm):
    return next(cells[3] for cells in table.rows if cells[0].values[0] == arm)


def test_a_difference_is_paired_by_seed_in_percentage_points():
    table = values_of(ablation_table(*known_sweep()))

    assert row(table, "one round")["difference_points"] == pytest.approx(100 * 3 / 360)
    assert row(table, "one round")["difference_n"] == 3


def test_without_predictions_nothing_is_bold_however_clear():
    wrong = {"base": (5, 6, 7), "clear": (95, 96, 98)}
    trials = [finished(arm, seed, n) for arm, row in wrong.items() for seed, n in enumerate(row)]
    table = ablation_table(manifest_of([*wrong]), by_key(*trials))

    assert not any(cell.is_bold for row in table.rows for cell in row)
    assert difference_of(table, "clear").text == "+25.09 ± 0.40"
    alone = "clear: ± covers new seeds alone and nothing is bold, as predictions are missing."
    assert alone in table.notes


def test_the_baseline_has_no_difference_to_itself():
    assert difference_of(ablation_table(*known_sweep()), "three rounds").text == ""


def test_a_difference_on_fewer_pairs_than_the_arm_has_trials_says_so():
    trials = [finished("base", 0, 5), *(finished("arm", seed, 6 + seed) for seed in (0, 1, 2))]
    table = ablation_table(manifest_of(["base", "arm"]), by_key(*trials))

    assert difference_of(table, "arm").text == "+0.28 (n = 1)"


def test_no_minus_stands_before_a_zero():
    trials = [finished("base", 0, 5), finished("arm", 0, 5, test_error=5 / 360 - 1e-9)]
    table = ablation_table(manifest_of(["base", "arm"], [0]), by_key(*trials))

    assert difference_of(table, "arm").text == "0.00"


def test_arms_with_equal_figures_on_every_seed_stand_in_one_row_for_readers():
    table = ablation_table(*known_sweep())

    names = [cells[0].text for cells in table.rows]
    assert names[:3] == ["three rounds (baseline)", "one round = uniform", "no decoder"]
    assert [note for note in table.notes if note.startswith("one round and uniform: losses")]
    values = values_of(table)
    assert row(values, "uniform")["identical_to"] == "one round"
    assert row(values, "one round")["identical_to"] is None


@pytest.mark.parametrize("figure", ["train_loss", "validation_loss", "validation_error"])
def test_arms_that_differ_in_one_figure_of_one_seed_are_not_identical(figure):
    manifest, records = known_sweep()
    trial = finished("uniform", 2, 12, **{figure: 0.123})

    table = ablation_table(manifest, records | by_key(trial))
    assert not any(" = " in cells[0].text for cells in table.rows)


def test_arms_that_lack_a_seed_are_not_called_identical():
    trials = [finished(arm, seed, 5) for arm in ("a", "b") for seed in (0, 1)]

    table = ablation_table(manifest_of(["a", "b"]), by_key(*trials))
    assert not any(" = " in cells[0].text for cells in table.rows)


@pytest.mark.parametrize(
    ("outcome", "reason", "sentence"),
    [
        (Outcome.FAILED, "ValueError: x", "Arm b, seed 1: failed: ValueError: x"),
        (Outcome.DIVERGED, "loss nan", "Arm b, seed 1: diverged: loss nan"),
        (Outcome.RUNNING, "", "Arm b, seed 1: unfinished: running after 4 epochs"),
    ],
)
def test_a_cell_that_does_not_count_is_named_with_its_reason(outcome, reason, sentence):
    trials = [finished(arm, seed, 5 + seed) for arm in ("a", "b") for seed in (0, 1, 2)]
    records = by_key(*trials) | by_key(unfinished("b", 1, outcome, reason))

    table = ablation_table(manifest_of(["a", "b"]), records)
    assert sentence in table.notes
    assert row(table, "b")["n"] == 2


def test_a_finished_trial_without_a_finite_test_error_counts_as_failed():
    records = by_key(finished("a", 0, 5), finished("b", 0, 5, test_error=float("nan")))
    table = ablation_table(manifest_of(["a", "b"], [0]), records)

    assert row(table, "b")["num_failed"] == 1
    assert "Arm b, seed 0: failed: finished without a finite test error" in table.notes


def test_a_record_of_another_sweep_changes_nothing():
    manifest, records = known_sweep()

    more = records | by_key(finished("stranger", 0, 300))
    assert ablation_table(manifest, more) == ablation_table(manifest, records)


def test_results_do_not_depend_on_what_trials_cost():
    manifest, records = known_sweep()
    costly = {
        key: trial.model_copy(
            update={
                "gradient_checkpointing": True,
                "duration_seconds": 9e9,
                "device": "cuda",
                "threads": 8,
                "record_id": "other",
            }
        )
        for key, trial in records.items()
    }

    assert ablation_table(manifest, costly) == ablation_table(manifest, records)
    assert to_csv(trials_table(manifest, costly)) == to_csv(trials_table(manifest, records))


def test_trials_csv_keeps_every_digit():
    manifest, records = known_sweep()
    rows = list(csv.DictReader(io.StringIO(to_csv(trials_table(manifest, records)))))

    assert float(rows[1]["test_error"]) == 7 / 360
    assert len(rows) == len(manifest.cells)


def test_a_sweep_on_mixed_devices_is_marked_in_its_costs():
    records = by_key(finished("a", 0, 5), finished("a", 1, 5, device="cuda", threads=4))
    notes = " ".join(cost_table(manifest_of(["a"], [0, 1]), records).notes)

    assert "different devices" in notes
    assert "cpu (1 trial), cuda (1 trial)" in notes
    assert "different numbers of threads" in notes


def test_the_costs_have_the_time_of_all_trials_also_of_those_that_did_not_finish():
    records = by_key(
        finished("a", 0, 5, duration_seconds=600.0),
        finished("a", 1, 5, device="cuda", duration_seconds=3600.0),
        finished("a", 2, 5, outcome=Outcome.DIVERGED, device="cuda", duration_seconds=1800.0),
        finished("a", 3, 5, outcome=Outcome.FAILED, duration_seconds=None),
    )
    notes = " ".join(cost_table(manifest_of(["a"], range(4)), records).notes)
    assert "did not finish: 10 min on cpu and 1 h 30 min on cuda. Trials that share" in notes
    none = cost_table(manifest_of(["a"], [0]), {})
    assert "All trials together" not in " ".join(none.notes)


def test_gradient_checkpointing_is_told_in_the_costs_where_a_trial_had_it():
    records = by_key(finished("a", 0, 5), finished("a", 1, 5, gradient_checkpointing=True))
    table = cost_table(manifest_of(["a"], [0, 1]), records)

    assert row(table, "a")["gradient_checkpointing"] == "no, yes"
    assert any("1 ran with gradient checkpointing and 1 without" in note for note in table.notes)
    without = cost_table(manifest_of(["a"], [0, 1]), by_key(finished("a", 0, 5)))
    assert "gradient_checkpointing" not in row(without, "a")


def test_memory_that_a_machine_cannot_tell_is_empty_and_noted():
    records = by_key(finished("a", 0, 5, peak_memory_bytes=None))
    table = cost_table(manifest_of(["a"], [0]), records)

    assert row(table, "a")["peak_memory_mebibytes"] is None
    assert any("1 of 1 trials" in note for note in table.notes)


def test_a_sweep_without_any_record_has_a_table_all_the_same():
    table = ablation_table(manifest_of(["a", "b"]), {})

    assert [cells[1].text for cells in table.rows] == ["0 of 3", "0 of 3"]
    assert to_markdown(table)
    assert to_latex(table)


def test_the_column_of_gaps_is_hidden_from_readers_only_where_there_are_none():
    table = ablation_table(manifest_of(["a"], [0]), by_key(finished("a", 0, 5)))

    assert "Not counted" not in to_markdown(table)
    assert "num_missing" in to_csv(table)
    assert "Not counted" in to_markdown(ablation_table(manifest_of(["a"], [0]), {}))
