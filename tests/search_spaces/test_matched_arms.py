"""An arm of equal size: the width that gives it as many parameters as another arm."""

import re
from typing import Any

import pytest

import capsmodel.losses
from capsmodel.config import num_parameters
from capsmodel.models import CapsNet, ConvNet
from capsmodel.overrides import with_settings
from search_spaces import ListedArms, MatchedArm, Sweep
from search_spaces.quickstart import SWEEP as QUICKSTART
from sweeps.aggregation.results.design_sentences import size_sentences
from sweeps.execution.plan.definition import Changes, define
from tests.pages import page, snippets

CNN = {"model": ConvNet(conv_channels=(32, 64), conv_kernel=3, pooling=2, hidden=(9,))}
MATCHED = MatchedArm(CNN, matched_to="capsules", width="model.hidden")


def sweep(matched: MatchedArm = MATCHED, **base: int) -> Sweep:
    arms = {"capsules": {}, "CNN": matched}
    return Sweep(
        name="sizes",
        base=with_settings(QUICKSTART.base, {f"model.{name}": base[name] for name in base}),
        plan=ListedArms(baseline="capsules", arms=arms),
        seeds=(0,),
    )


def test_quickstarts_cnn_is_found() -> None:
    expected = next(arm.config for arm in QUICKSTART.arms() if arm.name == "CNN of equal size")
    config = sweep().arms()[1].config
    assert isinstance(config.model, ConvNet)
    assert config.model == expected.model


@pytest.mark.parametrize("class_dim", [4, 16, 32])
def test_no_other_width_is_nearer(class_dim: int) -> None:
    capsules, cnn = (arm.config for arm in sweep(class_dim=class_dim).arms())
    assert isinstance(cnn.model, ConvNet)
    (width,) = cnn.model.hidden
    wanted = num_parameters(capsules)
    off = [
        abs(num_parameters(with_settings(cnn, {"model.hidden": (near,)})) - wanted)
        for near in (width - 1, width, width + 1)
    ]
    assert off[1] == min(off)


def test_the_last_of_several_widths_and_a_single_one_are_found() -> None:
    two = with_settings(CNN["model"], {"hidden": (50, 9)})
    (_, cnn) = sweep(MatchedArm({"model": two}, "capsules", "model.hidden")).arms()
    assert isinstance(cnn.config.model, ConvNet)
    assert cnn.config.model.hidden[0] == 50
    smaller = {"model.conv_channels": 16, "loss": "spread"}
    (capsules, narrow) = sweep(MatchedArm(smaller, "capsules", "model.primary_types")).arms()
    assert isinstance(narrow.config.model, CapsNet)
    assert narrow.changes["model.primary_types"] == narrow.config.model.primary_types
    assert num_parameters(narrow.config) == pytest.approx(num_parameters(capsules.config), rel=0.1)


def test_plan_and_table_say_how_far_off_it_is() -> None:
    manifest = define(sweep(), Changes(), ()).manifest
    sizes = {arm.name: arm.num_parameters for arm in manifest.arms}
    assert list(size_sentences(manifest)) == [
        f"CNN: its width was chosen for {sizes['CNN']:,} parameters, 0.1 % more than capsules "
        f"({sizes['capsules']:,}). It has model cnn (conv_channels [32, 64], conv_kernel 3, "
        f"pooling 2, hidden [207], dropout 0.5)."
    ]
    assert not list(size_sentences(define(QUICKSTART, Changes(), ()).manifest))


@pytest.mark.parametrize(
    ("matched", "problem"),
    [
        (
            MatchedArm(CNN, "capsule", "model.hidden"),
            "The arm 'CNN' must be matched_to one of the arms that list their settings (capsules), "
            "got 'capsule'.",
        ),
        (
            MatchedArm(CNN, "capsules", "model.hiden"),
            "Arm 'CNN': width must be the path of a whole number, or of several, such as "
            "'model.hidden', got 'model.hiden'.",
        ),
        (MatchedArm(CNN, "capsules", "loss"), "got 'loss'."),
        (MatchedArm(CNN, "capsules"), "Arm 'CNN': width must be the path of a whole number"),
        (MatchedArm({"model.routng": "em"}, "capsules", "model.hidden"), "Did you mean"),
    ],
)
def test_what_cannot_be_matched_is_refused(matched: MatchedArm, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        sweep(matched).arms()


def test_the_pages_example_can_be_declared() -> None:
    (example,) = [snippet for snippet in snippets(page("designs")) if "MatchedArm" in snippet]
    names: dict[str, Any] = {}
    exec(example, names)
    declared = Sweep(name="sizes", base=QUICKSTART.base, plan=names["plan"], seeds=(0,))
    assert declared.arms()[1].config.loss == capsmodel.losses.CrossEntropy()
