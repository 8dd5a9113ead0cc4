"""A sweep with a launch's changes becomes a manifest, or one sentence."""

from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

from capsmodel.config import num_multiply_adds
from capsmodel.data import Digits
from capsmodel.evaluation import Confidence, ShiftedTestError, TransferError
from capsmodel.routing import VectorRouting
from capsmodel.stopping import TargetMetric
from search_spaces import ListedArms, Sweep
from search_spaces.trial_key import trial_key
from sweeps.execution.launch.train_missing import TrialJobs
from sweeps.execution.launch_options import options_of
from sweeps.execution.launch_process.launch_lock import check_writable
from sweeps.execution.plan import definition as definition_module
from sweeps.execution.plan.definition import Changes, counts_of, define, multiply_adds
from sweeps.records.errors import BadInput
from sweeps.storage.locations import resolve_storage
from tests.capsmodel.small_config import small_config


class Mine(VectorRouting):
    """A user's own routing, never run here."""

    kind: Literal["mine"] = "mine"
    is_symmetric: ClassVar[bool] = True

    def route(self, votes: Any, *, generator: Any) -> Any:
        raise NotImplementedError


ARMS: dict[str, dict[str, Any]] = {"base": {}, "uniform": {"model.routing": "uniform"}}


def sweep(arms: dict[str, dict[str, Any]] = ARMS, **changes: Any) -> Sweep:
    settings: dict[str, Any] = {
        "name": "example",
        "base": small_config(),
        "plan": ListedArms(baseline=next(iter(arms)), arms=arms),
        "seeds": (0, 1),
    }
    return Sweep(**(settings | changes))


def refusal(launchable: Any, **changes: Any) -> str:
    with pytest.raises(BadInput) as caught:
        define(launchable, Changes(**changes), ())
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_manifest_holds_each_arm_with_each_seed_and_its_key() -> None:
    definition = define(sweep(), Changes(), ())
    manifest = definition.manifest
    assert (manifest.sweep, manifest.baseline, manifest.seeds) == ("example", "base", (0, 1))
    keys = manifest.cell_keys()
    assert len(keys) == 4
    for arm in sweep().arms():
        assert keys[arm.name, 1] == trial_key(arm.config, 1)
    assert definition.epochs == {"base": 3, "uniform": 3}


@pytest.mark.parametrize("is_shifted", [True, False, None])
def test_an_arm_says_whether_its_data_declare_a_shifted_test(
    monkeypatch: pytest.MonkeyPatch, is_shifted: bool | None
) -> None:
    monkeypatch.setattr(Digits, "shifted_test", is_shifted, raising=False)
    manifest = define(sweep(), Changes(), ()).manifest
    assert [arm.shifted_test for arm in manifest.arms] == [is_shifted] * 2
    assert ("shifted_test" in manifest.model_dump_json()) == (is_shifted is not None)


def test_a_trial_is_told_what_its_cell_needs() -> None:
    definition = define(sweep(), Changes(), ())
    cell = definition.manifest.cells[1]
    spec = definition.spec(cell)
    assert (spec.trial_key, spec.arm, spec.seed) == (cell.trial_key, cell.arm, cell.seed)
    assert spec.config["model"]["routing"]["kind"] == "uniform"
    assert spec.source is None
    assert spec.data_fingerprint


def seeds_of(current: tuple[int, ...] = (), **changes: Any) -> tuple[int, ...]:
    return define(sweep(), Changes(**changes), current).manifest.seeds


def test_seeds_replace_the_list_and_added_ones_extend_the_current_manifest() -> None:
    assert seeds_of() == (0, 1)
    assert seeds_of(seeds=(5, 6)) == (5, 6)
    assert seeds_of(add_seeds=(1, 7)) == (0, 1, 7)
    assert seeds_of((0, 1, 2), add_seeds=(2, 9)) == (0, 1, 2, 9)
    assert seeds_of((0, 1, 2)) == (0, 1), "the list of the sweep, which then is refused"


def test_epochs_are_short_for_the_stoppings() -> None:
    short, long = (
        define(sweep(), changes, ()).manifest
        for changes in (Changes(epochs=2), Changes(settings={"stopping.epochs": 2}))
    )
    assert short == long
    assert short != define(sweep(), Changes(), ()).manifest


CHOOSING = {
    "base": {},
    "stopped": {"stopping": TargetMetric(at_or_below=0.1, max_epochs=40)},
    "named": {"stopping.kind": "target_metric", "batch_size": 7},
}


def lengths(arms: dict[str, Any], **changes: Any) -> dict[str, int]:
    return define(sweep(arms), Changes(**changes), ()).epochs


def test_epochs_are_the_most_there_may_be_where_a_training_ends_with_a_target() -> None:
    settings = {"stopping": "target_metric", "stopping.at_or_below": 0.1}
    short, long = (
        define(sweep(), changes, ()).manifest
        for changes in (
            Changes(epochs=2, settings=settings),
            Changes(settings=settings | {"stopping.max_epochs": 2}),
        )
    )
    assert short == long
    assert short.arms[0].config["stopping"]["max_epochs"] == 2
    message = refusal(sweep(), epochs=1, settings=settings | {"stopping.max_epochs": 2})
    assert message == "The epochs are given twice: --epochs is short for stopping.max_epochs."


def test_epochs_reach_the_arms_that_choose_their_own_stopping() -> None:
    assert lengths(CHOOSING) == {"base": 3, "stopped": 40, "named": 50}
    assert lengths(CHOOSING, epochs=2) == {"base": 2, "stopped": 2, "named": 2}
    target = define(sweep(CHOOSING), Changes(epochs=2), ()).manifest.arms[1].config["stopping"]
    assert target["at_or_below"] == 0.1


def test_epochs_are_given_too_where_every_arm_chooses_its_own_stopping() -> None:
    arms = {name: arm for name, arm in CHOOSING.items() if name != "base"}
    assert lengths(arms, epochs=2) == {"stopped": 2, "named": 2}
    assert define(sweep(arms), Changes(), ()).manifest.departures == {}


def test_what_epochs_change_of_an_arm_is_a_departure() -> None:
    manifest = define(sweep(CHOOSING), Changes(epochs=2), ()).manifest
    assert manifest.departures == {
        "stopping.epochs": (3, 2),
        "of stopped stopping.max_epochs": (40, 2),
        "of named stopping.max_epochs": (50, 2),
    }


def test_a_setting_that_is_stored_only_where_it_is_no_default_departs_from_its_default() -> None:
    changes = Changes(settings={"weights": "best", "frozen": ["primary"], "data.split_seed": 4})
    assert define(sweep(), changes, ()).manifest.departures == {
        "weights": ("last", "best"),
        "frozen": ([], ["primary"]),
        "data.split_seed": (0, 4),
    }


def test_an_arm_that_varies_its_epochs_keeps_them_to_itself() -> None:
    assert "varied by the sweep itself" in refusal(
        sweep({"base": {}, "long": {"stopping.epochs": 30}}), epochs=2
    )


def test_another_name_leaves_every_key() -> None:
    original, other = (define(sweep(), Changes(name=name), ()).manifest for name in (None, "other"))
    assert other.sweep == "other"
    assert original.cells == other.cells


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seeds": ()}, "No seed is given"),
        ({"add_seeds": ()}, "No seed to add is given"),
        ({"seeds": (1, 1)}, "A seed is listed twice: 1, 1."),
        ({"seeds": (-1,)}, "seeds must be a list, each an integer at least 0"),
        ({"name": "A"}, "name must be a text of up to 64 small letters"),
        ({"epochs": 0}, "stopping.epochs must be an integer from 1 to 100000, got 0."),
        ({"epochs": 1, "settings": {"stopping.epochs": 1}}, "The epochs are given twice"),
        ({"settings": {"model.routing": "uniform"}}, "is varied by the sweep itself"),
        ({"settings": {"model.conv_kernel": 100}}, "does not fit 8 pixels"),
    ],
)
def test_what_cannot_be_is_one_sentence(changes: dict[str, Any], message: str) -> None:
    assert message in refusal(sweep(), **changes)


def test_an_arm_whose_network_cannot_be_built_is_named() -> None:
    arms = {"base": {}, "big": {"model.conv_kernel": 100}}
    assert refusal(sweep(arms)).startswith("Arm 'big': ")


@pytest.mark.parametrize("name", ["", "x" * 201])
def test_a_name_of_an_arm_that_no_record_can_hold_is_refused_where_it_is_written(name: str) -> None:
    with pytest.raises(ValueError, match="An arm's name has 1 to 200 characters"):
        sweep({name: {}})


def test_parts_of_a_sweep_without_a_file_are_refused() -> None:
    assert refusal(sweep(parts=(Mine,))).startswith("The sweep 'example' has parts of its own")


@pytest.mark.parametrize("launchable", ["", "nosuch", "no/such", "no.py", Path("no.py")])
def test_a_sweep_that_is_not_there_is_one_sentence(launchable: str | Path) -> None:
    assert refusal(launchable)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"cpus_per_trial": 0}, "cpus_per_trial must be an integer at least 1, got 0."),
        ({"gpus_per_trial": -1}, "gpus_per_trial must be a number at least 0 or auto, got -1."),
        (
            {"gpus_per_trial": float("inf")},
            "gpus_per_trial must be a number at least 0 or auto, got inf.",
        ),
        ({"max_concurrent": 0}, "max_concurrent must be an integer at least 1, got 0."),
        ({"share": 0}, "share must be a number above 0 at most 1000, got 0."),
        ({"retrain": "perhaps"}, "retrain must be true or false, got 'perhaps'."),
        ({"epoch": 3}, "Unknown option 'epoch'. Did you mean 'epochs'?"),
    ],
)
def test_an_option_that_cannot_be_is_one_sentence(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        options_of(arguments)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 1e30])
def test_a_time_limit_that_no_timer_takes_is_refused(seconds: float) -> None:
    with pytest.raises(BadInput, match="time_limit_seconds must be a number above 0"):
        options_of({"time_limit_seconds": seconds})


def test_gradient_checkpointing_is_told_to_workers_and_is_in_no_key(tmp_path: Path) -> None:
    definition = define(sweep(), Changes(), ())
    options = options_of({"gradient_checkpointing": True, "gpus_per_trial": 0})
    jobs = TrialJobs(resolve_storage(tmp_path), options, tmp_path)
    cell = definition.manifest.cells[0]
    spec = jobs.of(definition, cell).spec
    assert spec.gradient_checkpointing
    assert spec.trial_key == cell.trial_key


def test_an_evaluation_that_needs_another_trial_waits_for_all_trainings(tmp_path: Path) -> None:
    definition = define(sweep(), Changes(), ())
    evaluations = (Confidence(), TransferError(source="f" * 20))
    options, storage = options_of({}), resolve_storage(tmp_path)
    jobs = TrialJobs(storage, options, tmp_path, evaluations=evaluations)
    job = jobs.of(definition, definition.manifest.cells[0])
    assert [evaluation["kind"] for evaluation in job.evaluations] == ["confidence"]


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in ("file", "file/a", "file/a/b", "n" * 300):
        with pytest.raises(BadInput, match=r"^The storage folder .* cannot be written to \("):
            check_writable(tmp_path / path, "storage")
    check_writable(tmp_path / "a" / "b" / "c", "storage")
    assert not (tmp_path / "a").exists()


def test_multiply_adds_are_counted_where_evaluations_compare_arms() -> None:
    evaluated = sweep(evaluations=(ShiftedTestError(pixels=1),))
    counted = [arm.num_multiply_adds for arm in define(evaluated, Changes(), ()).manifest.arms]
    assert counted == [num_multiply_adds(arm.config) for arm in sweep().arms()]
    plain = define(sweep(), Changes(), ()).manifest
    assert "num_multiply_adds" not in plain.model_dump_json()


def test_multiply_adds_of_a_network_that_does_not_run_without_numbers_are_not_known() -> None:
    (arm,) = sweep({"mine": {"model.routing": Mine()}}, parts=(Mine,)).arms()
    assert multiply_adds(arm.config) is None


DOCSTRING = "Does a loss\n  of    its own help?\n\n    What follows is no question.\n"


def file_of(folder: Path, docstring: str, description: str = "") -> Path:
    """Return the file of a sweep with a docstring, and with a description if it is given."""
    declared = f"description={description!r}, " if description else ""
    path = folder / "mine.py"
    path.write_text(
        f'"""{docstring}"""\n'
        "from search_spaces import ListedArms, Sweep\n"
        "from search_spaces.quickstart import SWEEP as QUICKSTART\n"
        f"SWEEP = Sweep(name='mine', {declared}base=QUICKSTART.base, seeds=(0, 1),\n"
        "    plan=ListedArms(baseline='base', arms={'base': {}, 'slow': "
        "{'optimiser.learning_rate': 0.001}}))\n"
    )
    return path


def test_the_first_paragraph_of_a_files_docstring_is_the_question(tmp_path: Path) -> None:
    question = define(file_of(tmp_path, DOCSTRING), Changes(), ()).manifest.description
    assert question == "Does a loss of its own help?"
    declared = define(file_of(tmp_path, DOCSTRING, "Declared."), Changes(), ())
    assert declared.manifest.description == "Declared."
    assert define(file_of(tmp_path, ""), Changes(), ()).manifest.description == ""


@pytest.mark.parametrize(
    ("docstring", "question"),
    [("Why? " * 1000, f"{('Why? ' * 400)[:1997].rstrip()}..."), ("\\ud800 \\x1b[31m", "� �[31m")],
    ids=["long", "control characters"],
)
def test_a_docstring_of_any_kind_gives_one_line_that_can_be_stored(
    tmp_path: Path, docstring: str, question: str
) -> None:
    assert define(file_of(tmp_path, docstring), Changes(), ()).manifest.description == question


def test_a_docstring_is_in_no_key(tmp_path: Path) -> None:
    before = define(file_of(tmp_path, DOCSTRING), Changes(), ())
    after = define(file_of(tmp_path, "Another question."), Changes(), ())
    assert before.manifest.cells == after.manifest.cells
    assert before.decided_by == after.decided_by


def test_multiply_adds_that_an_earlier_launch_counted_are_not_counted_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evaluated = sweep(evaluations=(ShiftedTestError(pixels=1),))
    earlier = define(evaluated, Changes(), ()).manifest
    counts = counts_of(earlier)
    monkeypatch.setattr(definition_module, "num_multiply_adds", pytest.fail)
    assert define(evaluated, Changes(), (), counts=counts).manifest == earlier
    plain = define(sweep(), Changes(), (), counts=counts).manifest
    assert all(arm.num_multiply_adds is None for arm in plain.arms), "nothing compares arms there"
    assert counts_of(plain) == counts_of(None) == {}


def test_multiply_adds_of_a_changed_network_are_counted() -> None:
    evaluated = sweep(evaluations=(ShiftedTestError(pixels=1),))
    earlier = define(evaluated, Changes(), ()).manifest
    doubled = {key: 2 * (count or 0) for key, count in counts_of(earlier).items()}
    other = Changes(settings={"model.class_dim": 8})
    changed = define(evaluated, other, (), counts=doubled).manifest
    assert changed == define(evaluated, other, ()).manifest
