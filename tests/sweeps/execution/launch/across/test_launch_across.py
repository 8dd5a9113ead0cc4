"""Tests of launches across data sets: one after the other, extended, refused, and limited."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from capsmodel.data import ImageFolder
from search_spaces import ListedArms, Sweep
from search_spaces.data_set_columns import first_seed_of
from search_spaces.plans.until_decided import UntilDecided
from search_spaces.tables import DataSetsTable
from sweeps.aggregation.best_configs import best_configs
from sweeps.aggregation.comparison import compare
from sweeps.aggregation.frames import trials
from sweeps.aggregation.report.making_across import compared_across
from sweeps.aggregation.results.across_results import read_across
from sweeps.aggregation.tables.trials_table import DATA_SET
from sweeps.execution.launch.across.launch_across import PlanAcross, plan_across
from sweeps.execution.launch.result import SweepResult
from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.launch_process.launch_lock import sweep_lock
from sweeps.execution.plan.definition import declared_sweep
from sweeps.records.errors import BadInput
from tests.capsmodel.data.pictures import write_classes
from tests.capsmodel.small_config import small_config
from tests.sweeps.execution.launch.launches import ADDRESS, Launches
from tests.sweeps.execution.search.examples import RATE, confirm, search

DIGITS: dict[str, Any] = {"digits": {"data": "digits"}}
MAPPED: dict[str, Any] = {"mapped": {"data": "affine_digits", "stopping.epochs": 2}}
ARMS: dict[str, dict[str, Any]] = {"slow": {RATE: 0.001}, "fast": {RATE: 0.002}}


def across(data_sets: Mapping[str, Any] = DIGITS | MAPPED, **changes: Any) -> Sweep:
    fields: dict[str, Any] = {
        "name": "example",
        "base": small_config(),
        "plan": ListedArms(baseline="slow", arms=ARMS),
        "seeds": (0, 1),
        "across": data_sets,
    }
    return Sweep(**(fields | changes))


@pytest.fixture
def launches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Launches:
    return Launches(tmp_path, across(), monkeypatch)


def launched(launches: Launches, sweep: Sweep, **options: Any) -> SweepResult:
    launches._sweep = sweep  # pyright: ignore[reportPrivateUsage]
    return launches.run(**options)


def planned(launches: Launches, sweep: Sweep, **options: Any) -> PlanAcross:
    places: dict[str, Any] = {"storage": launches.storage.root, "tracking_uri": ADDRESS}
    return plan_across(declared_sweep(sweep), LaunchOptions(**(places | options)))


def test_every_arm_is_trained_on_each_data_set_and_again_nothing(launches: Launches) -> None:
    result = launches.run()
    assert (result.exit_code, result.num_trained, result.num_cells) == (0, 8, 8)
    assert launches.store.sweeps() == ["example--digits", "example--mapped"]
    assert launches.num_epochs_trained() == 4 * 3 + 4 * 2
    assert result.report
    assert result.report.provenance.sweep == "example"
    assert len(result.report.provenance.trial_keys) == 8
    again = launches.run()
    assert (again.exit_code, again.num_trained, again.num_filled) == (0, 0, 8)


def test_frames_and_rankings_have_the_data_set(launches: Launches) -> None:
    launches.run()
    frame = trials("example", launches.store)
    assert frame.columns[0] == DATA_SET
    assert frame[DATA_SET].tolist() == ["digits"] * 4 + ["mapped"] * 4
    first = first_seed_of("mapped")
    assert {*frame.query("data_set == 'mapped'").seed} == {first, first + 1}
    best = best_configs("example", launches.store, count=1)
    assert [(config.data_set, config.arm) for config in best] == [
        ("digits", "slow"),
        ("mapped", "slow"),
    ]


def test_two_of_them_are_compared_on_the_data_sets_that_both_have(launches: Launches) -> None:
    launches.run()
    launched(launches, across(DIGITS | {"placed": MAPPED["mapped"]}, name="other"))
    frame = compare("example", "other", tracking_uri=launches.store)
    assert {*frame[DATA_SET]} == {"digits"}
    assert {*frame["sweep"]} == {"example--digits", "other--digits"}
    assert frame.attrs["units"]["mean"] == "fraction"
    launched(
        launches, across(MAPPED | {"placed": {"data": "mnist"}}, name="third"), only=("mapped",)
    )
    with pytest.raises(BadInput, match="no data set in common"):
        compare("other", "third", tracking_uri=launches.store)


def test_only_some_are_trained_and_the_report_says_which_are_missing(launches: Launches) -> None:
    result = launches.run(only=("mapped",))
    assert result.num_trained == 4
    assert launches.store.sweeps() == ["example--mapped"]
    assert result.report
    assert "digits was not launched." in result.report.provenance.data
    assert launches.run().num_trained == 4


def test_seeds_arms_and_data_sets_are_added(launches: Launches) -> None:
    launches.run()
    assert launches.run(add_seeds=(2,)).num_trained == 4
    more = across(plan=ListedArms(baseline="slow", arms=ARMS | {"faster": {RATE: 0.003}}))
    assert launched(launches, more).num_trained == 2 * 3
    placed = {"placed": {"data": {"kind": "affine_digits", "rotation": 0}}}
    wider = across(placed | DIGITS | MAPPED, plan=more.plan)
    result = launched(launches, wider)
    assert result.num_trained == 3 * 2, "seeds that an option added belong to the data sets there"
    assert result.report
    assert result.report.tables[0].columns[1].title == "placed"


def test_what_was_launched_unlike_has_no_overall_verdict(launches: Launches) -> None:
    def alarms(result: SweepResult) -> str:
        assert result.report
        return " ".join(n for n in result.report.tables[0].notes if n.endswith("on all data sets."))

    assert alarms(launches.run()) == ""
    other = across(plan=ListedArms(baseline="slow", arms=ARMS | {"fast": {RATE: 0.009}}))
    mixed = launched(launches, other, only=("mapped",), replace=True)
    assert alarms(mixed).startswith("Not the same arm on all data sets: fast.")
    assert alarms(launched(launches, other, replace=True)) == ""
    longer = launched(launches, other, only=("digits",), epochs=5, replace=True)
    assert longer.report
    table = longer.report.tables[0]
    assert table.warning.startswith(
        "digits: The sweep was not launched as declared: stopping.epochs"
    )
    assert table.columns[-1].fields == ("departures",)
    assert alarms(longer).startswith("mapped: launched with another base or other options than")
    baseline = across(plan=ListedArms(baseline="fast", arms=ARMS | {"fast": {RATE: 0.009}}))
    launched(launches, other, replace=True)
    launched(launches, baseline, only=("digits",), replace=True)
    results = compared_across(read_across(launches.store, "example"))
    assert results.why_no_overall == "the data sets have unlike baselines: fast, slow"
    more = across(DIGITS | MAPPED | {"KMNIST": {"data": "kmnist"}}, plan=other.plan)
    launched(launches, more, epochs=5, replace=True, only=("digits", "mapped"))
    parts = [launches.store.manifest(f"example--{name}").part_of for name in ("digits", "mapped")]
    assert [part.data_sets for part in parts if part] == [("digits", "mapped", "KMNIST")] * 2


def test_data_sets_with_unlike_margins_have_no_overall_verdict(launches: Launches) -> None:
    launches.run()
    launched(launches, across(margin_points=1.0), only=("digits",), replace=True)
    results = compared_across(read_across(launches.store, "example"))
    assert results.why_no_overall == "the data sets were launched with unlike bases or options"


def test_looks_of_other_seeds_are_another_plan(launches: Launches) -> None:
    definitions: list[str] = []
    for first_seed in (0, 10):
        looks = UntilDecided(first=3, most=4, first_seed=first_seed)
        name = f"from-{first_seed}"
        launched(launches, across(seeds=looks, name=name))
        plan = launches.store.manifest(f"{name}--digits").plan
        assert plan
        definitions.append(plan.definition)
    assert definitions[0] != definitions[1]


def test_the_table_is_that_of_the_last_launch(launches: Launches) -> None:
    launches.run()
    table = DataSetsTable(ranks=True, published={"mapped": {"fast": 1.5}})
    launched(launches, across(across_table=table), only=("mapped",))
    assert read_across(launches.store, "example").table == table
    launched(launches, across())
    assert read_across(launches.store, "example").table == DataSetsTable()
    parts = [launches.store.manifest(f"example--{name}").part_of for name in ("digits", "mapped")]
    assert [part.revision for part in parts if part] == [3, 3]


def test_the_same_launch_again_changes_nothing_of_the_table(launches: Launches) -> None:
    launches.run()
    table = DataSetsTable(ranks=True)
    for _ in range(3):
        launched(launches, across(across_table=table), only=("mapped",))
    part = launches.store.manifest("example--mapped").part_of
    assert part
    assert part.revision == 2


def test_seeds_of_options_are_checked_too(launches: Launches) -> None:
    own = {
        "digits": {**DIGITS["digits"], "seeds": (0, 1)},
        "mapped": {**MAPPED["mapped"], "seeds": (2, 3)},
    }
    launched(launches, across(own))
    with pytest.raises(BadInput, match="have seed 2 in common"):
        launched(launches, across(own), add_seeds=(2,), only=("digits",))


def test_a_command_is_told_once_at_the_end(launches: Launches, tmp_path: Path) -> None:
    launches.run(notify=f"tee -a {tmp_path / 'told'}")
    (line,) = (tmp_path / "told").read_text().splitlines()
    message = json.loads(line)
    assert (message["sweep"], message["outcome"], message["num_cells"]) == (
        "example",
        "complete",
        8,
    )


def test_more_proposals_may_change_what_the_other_data_sets_judge(launches: Launches) -> None:
    confirming = confirm(best=1, seeds=(101, 102))
    sweep = across(plan=search(sampler="random", trials=2, confirm=confirming), seeds=())
    launched(launches, sweep)
    before = [arm.name for arm in launches.store.manifest("example--mapped").arms]
    for number in (6, 12):
        assert launched(launches, sweep, trials=number).exit_code == 0
    after = launches.store.manifest("example--mapped")
    confirmed = launches.store.manifest("example--digits").search
    assert confirmed
    assert confirmed.confirmation
    assert [arm.name for arm in after.arms] == ["base", *(confirmed.confirmation.arms or ())]
    assert before != [arm.name for arm in after.arms], "other arms are confirmed"
    with pytest.raises(BadInput, match="whose seeds stand in its file"):
        launched(launches, sweep, seeds=(0,))


def test_a_data_set_shares_the_trials_of_a_single_sweep(launches: Launches) -> None:
    own = {"digits": {**DIGITS["digits"], "seeds": (0, 1)}, **MAPPED}
    base = across(own).columns()["digits"].base
    single = Sweep(name="single", base=base, plan=across().plan, seeds=(0, 1))
    assert launched(launches, single).num_trained == 4
    assert launched(launches, across(own)).num_trained == 4


def test_a_data_set_that_is_gone_or_renamed_is_refused(launches: Launches) -> None:
    launches.run()
    for data_sets in (
        DIGITS | {"Mapped digits": MAPPED["mapped"]},
        DIGITS | {"x": {"data": "mnist"}},
    ):
        with pytest.raises(BadInput, match="The data set 'mapped' was launched") as error:
            launched(launches, across(data_sets))
        assert "example--mapped" in str(error.value)
    assert launched(launches, across(name="other")).num_trained == 0, "the trials are there"


def test_the_name_of_a_single_sweep_is_refused(launches: Launches) -> None:
    launched(launches, across({}))
    with pytest.raises(BadInput, match="was launched as a sweep of one data set"):
        launched(launches, across())


def test_a_plan_of_looks_keeps_its_data_sets(launches: Launches) -> None:
    looks = UntilDecided(first=3, most=4)
    launched(launches, across(seeds=looks))
    manifest = launches.store.manifest("example--digits")
    assert manifest.plan
    assert manifest.plan.num_data_sets == 2
    more = DIGITS | MAPPED | {"placed": {"data": {"kind": "affine_digits", "rotation": 0}}}
    with pytest.raises(BadInput, match="planned for 2 data sets and it has 3 now"):
        launched(launches, across(more, seeds=looks))


def test_a_search_is_judged_on_the_other_data_sets(launches: Launches) -> None:
    plan = search(sampler="random", trials=4, confirm=confirm(best=2, seeds=(101, 102)))
    sweep = across(plan=plan, seeds=())
    assert planned(launches, sweep).num_to_come == 2 * 2
    result = launched(launches, sweep)
    assert result.exit_code == 0
    tuned, judged = (launches.store.manifest(f"example--{name}") for name in ("digits", "mapped"))
    assert tuned.search
    assert tuned.search.confirmation
    names = tuned.search.confirmation.arms
    assert names
    assert [arm.name for arm in judged.arms] == ["base", *names]
    first = first_seed_of("mapped")
    assert judged.seeds == (first + 101, first + 102)
    assert result.report
    assert planned(launches, sweep).num_to_come == 0
    assert launched(launches, sweep).num_trained == 0


def test_a_data_set_that_cannot_be_launched_does_not_keep_the_others_from_theirs(
    launches: Launches,
) -> None:
    launches.run(only=("digits",))
    with sweep_lock("example--digits", launches.storage):  # as another process holds it
        result = launches.run(add_seeds=(2,))
    assert result.exit_code == 3
    assert result.num_trained == 6
    assert result.stop_reason.startswith("Data set 'digits': ")


def test_a_table_says_why_a_data_set_has_no_results(launches: Launches, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    write_classes(folder, ("cat", "dog"), 20)
    own = {"own": {"data": ImageFolder(folder, size=8)}}
    assert launched(launches, across(DIGITS | own)).num_trained == 8
    folder.rename(tmp_path / "elsewhere")
    own = {"own": {"data": ImageFolder(folder, size=8)}}
    for only in (None, ("own",)):
        with pytest.raises(BadInput, match="There is no folder"):
            launched(launches, across(DIGITS | own), only=only)
    without = launched(launches, across(DIGITS | own), only=("digits",), add_seeds=(2,))
    assert without.num_trained == 2
    assert without.report
    reason = f"The last launch left own out: There is no folder '{folder}'"
    assert reason in " ".join(without.report.provenance.data)
    (tmp_path / "elsewhere").rename(folder)
    again = launched(launches, across(DIGITS | own), add_seeds=(2,))
    assert again.num_trained == 2
    assert again.report
    assert "left own out" not in " ".join(again.report.provenance.data)


def test_a_sweep_needs_the_files_of_one_data_set(tmp_path: Path) -> None:
    gone = {name: {"data": ImageFolder(tmp_path / name)} for name in ("own", "other")}
    with pytest.raises(ValueError, match="Data set 'own': There is no folder"):
        across(gone)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"only": ("digit",)}, "Unknown data set 'digit'. Did you mean 'digits'?"),
        ({"budget_epochs": 3}, "choose one with --only"),
        ({"settings": {"data.kind": "digits"}}, "would make all the same"),
        ({"settings": {"model.no": 1}}, "Data set 'digits': "),
    ],
)
def test_options_that_do_not_fit_are_refused_before_anything_is_written(
    launches: Launches, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(BadInput) as error:
        launches.run(**options)
    assert sentence in str(error.value)
    assert launches.store.sweeps() == []


def test_a_plan_names_each_data_set_and_what_does_not_apply(launches: Launches) -> None:
    cnn = {"model": {"kind": "cnn", "conv_channels": (4,), "conv_kernel": 3, "hidden": (4,)}}
    kernels = {**DIGITS, "mapped": {**MAPPED["mapped"], "model.primary_kernel": 5}}
    sweep = across(kernels, plan=ListedArms(baseline="slow", arms=ARMS | {"CNN": cnn}))
    plan = planned(launches, sweep)
    assert (plan.num_cells, plan.refusal) == (12, None)
    assert [note for note in plan.notes_on("mapped") if "does not apply" in note] == [
        "The arm 'CNN' has a part of another kind, to which model.primary_kernel of this data set "
        "does not apply."
    ]
    assert not [note for note in plan.notes_on("digits") if "does not apply" in note]
