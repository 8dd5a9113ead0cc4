"""A sweep says which arms there are, and refuses in one sentence what cannot be."""

from typing import Any, Literal

import pytest
from pydantic import ValidationError
from torch import nn

from capsmodel import TrainingConfig
from capsmodel.evaluation import CapsuleActivity, Confidence, ShiftedTestError
from capsmodel.models import CapsNet
from capsmodel.overrides import with_settings
from capsmodel.routing import RandomRouting, UniformRouting, VectorRouting
from capsmodel.settings.messages import explain
from search_spaces import (
    AblationTable,
    ConfirmationTable,
    CurvesFigure,
    GridCell,
    GridRow,
    GridTable,
    ListedArms,
    Plan,
    PublishedRow,
    PublishedTable,
    SensitivityTable,
    Sweep,
)
from search_spaces.tables import Curve
from tests.search_spaces.declared import ARMS, Mine, refusal, searching, sweep


class AlsoMine(Mine):
    """Another of the same kind."""


class Impostor(Mine):
    """Of a built-in kind."""

    kind: Literal["random"] = "random"  # pyright: ignore[reportIncompatibleVariableOverride]


class Nameless(VectorRouting):
    """Without a kind."""

    def route(self, votes: Any, *, generator: Any) -> Any:
        raise NotImplementedError


def test_arms_are_built_in_the_order_they_are_listed() -> None:
    arms = sweep().arms()
    assert [arm.name for arm in arms] == list(ARMS)
    assert arms[2].config.model.routing == UniformRouting()
    assert arms[0].config == TrainingConfig()


def test_what_an_arm_changes_is_told_in_plain_json() -> None:
    arms = sweep({"base": {}, "x": {"model.routing": RandomRouting(), "batch_size": 3}}).arms()
    assert arms[1].changes == {
        "model.routing": {"kind": "random", "low": 0.8, "high": 1.2, "bias": False},
        "batch_size": 3,
    }
    assert sweep().arms()[3].changes["model.reconstruction.hidden"] == [4, 5]


def test_an_object_inside_plain_values_is_told_in_plain_json_too() -> None:
    value = {"kind": "capsnet", "routing": UniformRouting()}
    arm = sweep({"base": {}, "x": {"model": value}}).arms()[1]
    assert arm.changes == {
        "model": {"kind": "capsnet", "routing": {"kind": "uniform", "bias": False}}
    }


def test_an_arm_that_cannot_be_is_named() -> None:
    with pytest.raises(ValueError, match=r"^Arm 'x': Unknown setting 'batch'"):
        sweep({"base": {}, "x": {"batch": 1}}).arms()


def test_two_arms_of_one_configuration_are_refused() -> None:
    arms = {"base": {}, "again": {"model.routing": {"kind": "dynamic", "iterations": 3}}}
    with pytest.raises(ValueError, match="'base' and 'again' are the same configuration"):
        sweep(arms).arms()


def test_the_baseline_is_one_of_the_arms() -> None:
    with pytest.raises(ValueError, match="'bass' is not one of the arms: base, one"):
        ListedArms(baseline="bass", arms={"base": {}, "one": {}})


@pytest.mark.parametrize(
    "name",
    [
        *("", "A", "-a", "../x", "a b", "a\n", "a/b", "a;b"),
        pytest.param("a" * 65, id="too long"),
        pytest.param("é", id="a letter with an accent"),
    ],
)
def test_a_name_that_is_no_name_of_a_file_is_refused(name: str) -> None:
    assert refusal(name=name) == (
        f"name must be a text of up to 64 small letters, digits, _ and - that begins with a "
        f"letter or a digit, got {name!r}."
    )


def test_a_seed_is_listed_once_and_is_no_negative_number() -> None:
    assert refusal(seeds=(1, 2, 1)) == "A seed is listed twice: 1, 2, 1."
    assert refusal(seeds=(0, -1)).endswith("got -1 at place 2.")
    assert "seeds must be a list of at least 1" in refusal(seeds=())
    assert refusal(seeds=(2**63,)).endswith(f"below {2**63}, got {2**63} at place 1.")


def test_built_in_kinds_cannot_be_overridden() -> None:
    assert refusal(parts=(Impostor,)) == (
        "The kind 'random' of Impostor is built in and cannot be overridden: choose another kind."
    )


def test_two_custom_parts_have_distinct_kinds() -> None:
    assert refusal(parts=(Mine, AlsoMine)) == "Two parts are called 'mine': choose another kind."


def test_an_own_part_has_a_kind() -> None:
    assert refusal(parts=(Nameless,)).startswith("Nameless has no kind: give it one")


def test_what_is_no_part_is_refused() -> None:
    assert refusal(parts=(int,)).startswith("parts lists classes of your own parts, got int")
    assert refusal(parts=(nn.Linear,)) == (
        "Linear is a torch.nn.Module and no part yet: write the decorator @capsmodel.model above "
        "its class."
    )
    assert refusal(base=3)
    assert refusal(plan=3)


def test_an_own_part_is_declared() -> None:
    arms = {"base": {}, "mine": {"model.routing": Mine()}}
    with pytest.raises(ValueError, match=r"declare it, Sweep\(parts=\[Mine\], \.\.\.\)\."):
        sweep(arms).arms()
    assert sweep(arms, parts=(Mine,)).arms()[1].config.model.routing == Mine()


def test_an_own_part_may_be_given_by_its_kind() -> None:
    arms = {"base": {}, "mine": {"model.routing": "mine"}}
    assert sweep(arms, parts=(Mine,)).arms()[1].config.model.routing == Mine()
    with pytest.raises(ValueError, match="Arm 'mine': Unknown routing 'mine'"):
        sweep(arms).arms()


# Profiles and kinds.


def test_an_arm_may_be_a_profile() -> None:
    arms = sweep({"base": {}, "official": {"model.profile": "official", "batch_size": 8}}).arms()
    assert arms[1].config.model == CapsNet.of_profile("official")
    assert arms[1].changes == {
        "model.primary_coupling": "uniform",
        "model.initialisation": "truncated",
        "model.initial_bias": 0.1,
        "model.routing.bias": True,
        "batch_size": 8,
    }


def test_what_is_told_of_an_arm_never_names_a_profile() -> None:
    model = {"kind": "capsnet", "profile": "official"}
    nested = {"kind": "capsnet", "routing": {"kind": "em", "profile": "official"}}
    arms = sweep({"base": {}, "x": {"model": model}, "y": {"model": nested}}).arms()
    for arm in arms:
        assert "profile" not in str(arm.changes)
        assert with_settings(TrainingConfig(), arm.changes) == arm.config


def test_tables_of_one_name_are_refused() -> None:
    tables = (AblationTable(name="x"), CurvesFigure(name="x"))
    assert refusal(tables=tables) == "Two tables are called 'x': give one another name."


def test_all_pairs_are_compared_of_at_most_eight_arms() -> None:
    tables = (AblationTable(all_pairs=True),)
    eight = {f"arm {size}": {"batch_size": size} for size in range(1, 9)}
    assert sweep(eight, tables=tables).tables == tables
    with pytest.raises(ValueError, match="of at most 8 arms, and the sweep has 9: leave all_pairs"):
        sweep({**eight, "one more": {"batch_size": 9}}, tables=tables)


def test_the_rows_of_a_published_table_are_arms() -> None:
    row = PublishedRow(labels=("a",), arm="on")
    table = PublishedTable(name="t", title="T", headings=("A",), rows=(row,))
    assert refusal(tables=(table,)).startswith(
        "Unknown arm in the table 't' 'on'. Did you mean 'one'?"
    )
    nowhere = table.model_copy(update={"rows": (PublishedRow(labels=("a",), arm=None),)})
    assert sweep(tables=(nowhere,)).tables == (nowhere,)


def test_a_metric_that_does_not_fit_its_table_is_refused_with_those_that_do() -> None:
    assert refusal(tables=(CurvesFigure(metric="test_error"),)) == (
        "Unknown epoch metric in the figure 'curves' 'test_error'. Known: train_loss, "
        "validation_loss, validation_error."
    )
    row = GridRow(label="x", cells=(GridCell(arm="one", metric="validation_loss"),))
    assert refusal(tables=(GridTable(name="t", title="T", columns=("A",), rows=(row,)),)) == (
        "Unknown error in the table 't' 'validation_loss'. Did you mean 'validation_error'? Known: "
        "validation_error, test_error."
    )


def test_tables_of_the_other_kind_of_plan_are_refused() -> None:
    sentence = refusal(tables=(SensitivityTable(),))
    assert (
        sentence == "A design has nothing for a table of the kind 'sensitivity': only a search has."
    )
    search = searching()
    fields = {name: getattr(search, name) for name in Sweep.model_fields}
    with pytest.raises(ValueError, match="no baseline for an ablation table"):
        Sweep.model_validate({**fields, "tables": (AblationTable(),)})
    plan = search.plan.model_copy(update={"confirm": None})
    with pytest.raises(ValueError, match="confirms nothing"):
        Sweep.model_validate({**fields, "plan": plan, "tables": (ConfirmationTable(),)})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("NA", "programs read that in its table as a missing value"),
        ("null", "as a missing value"),
        ("two  spaces", "nor two in a row"),
        (" ahead", "no space at its ends"),
    ],
)
def test_names_that_files_would_not_hold_are_refused(name: str, message: str):
    with pytest.raises(ValueError, match=message):
        sweep({"base": {}, name: {"batch_size": 8}})


def test_every_name_that_pandas_reads_as_missing_is_refused():
    from io import StringIO

    import pandas as pd

    from search_spaces.plans.base import MISSING

    frame = pd.read_csv(StringIO("arm,x\n" + "".join(f"{name},1\n" for name in sorted(MISSING))))
    assert frame["arm"].isna().all()
    values = ["none", "No", "nothing", "0", "na", "N A", "NAs"]
    frame = pd.read_csv(StringIO("arm,x\n" + "".join(f"{name},1\n" for name in values)))
    assert not frame["arm"].isna().any()


def test_an_evaluation_may_be_given_by_its_kind() -> None:
    by_kind = Sweep.model_validate({**dict(sweep()), "evaluations": ["confidence"]})
    assert by_kind.evaluations == (Confidence(),)


@pytest.mark.parametrize("evaluation", ["confidenc", {"kind": "confidenc"}])
def test_an_unknown_evaluation_gets_the_nearest_name(evaluation: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        Sweep.model_validate({**dict(sweep()), "evaluations": [evaluation]})
    assert explain(caught.value).startswith(
        "Unknown evaluation 'confidenc'. Did you mean 'confidence'? Known: "
    )


@pytest.mark.parametrize(
    ("figure", "sentence"),
    [
        (Curve(x="shft"), "Unknown coordinate in the figure 'curve-shft' 'shft'. Did you mean"),
        (
            Curve(x="shift", evaluation="confidence"),
            "Unknown coordinate in the figure 'curve-shift' 'shift'. Known: none.",
        ),
        (
            Curve(x="shift", evaluation="pictures"),
            "Unknown evaluation in the figure 'curve-shift' 'pictures'. Known: ",
        ),
    ],
)
def test_a_figure_over_a_coordinate_needs_an_evaluation_with_it(
    figure: Curve, sentence: str
) -> None:
    fields = {**dict(sweep()), "evaluations": [ShiftedTestError(), Confidence()]}
    assert Sweep.model_validate({**fields, "tables": [Curve(x="shift")]})
    without = {**fields, "evaluations": [CapsuleActivity()], "tables": [Curve(x="threshold")]}
    with pytest.raises(ValidationError, match="Unknown coordinate"):
        Sweep.model_validate(without)  # its curves are of no primary figure
    with pytest.raises(ValidationError) as caught:
        Sweep.model_validate({**fields, "tables": [figure]})
    assert explain(caught.value).startswith(sentence)


def test_a_plan_that_defines_a_method_by_its_former_name_is_refused_with_the_new_one() -> None:
    with pytest.raises(TypeError, match="'told_baseline', which is called 'baseline_name' now"):

        class Former(Plan):  # pyright: ignore[reportUnusedClass]
            def told_baseline(self, definition: object) -> str:
                return ""


def test_a_former_name_of_the_package_is_refused_with_the_new_one() -> None:
    with pytest.raises(ImportError, match="'CustomTable' now: import CustomTable"):
        from search_spaces import OwnTable  # noqa: F401  # pyright: ignore
