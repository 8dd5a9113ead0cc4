"""A data set of a user's own whose labels are no classes ends a launch before it begins."""

import pytest

from tests.sweeps.cli.shell import Shell

TEXT = """
from dataclasses import replace
from typing import ClassVar, Literal

from capsmodel import TrainingConfig
from capsmodel.data import DataSplits, Digits
from capsmodel.models import CapsNet
from search_spaces import ListedArms, Sweep


class Mine(Digits):
    kind: Literal["mine"] = "mine"
    num_classes: ClassVar[int] = {classes}

    def load(self, device):
        {load}


SWEEP = Sweep(
    name="mine",
    description="Labels of my own.",
    parts=(Mine,),
    base=TrainingConfig(data=Mine(), model=CapsNet(conv_kernel=3, primary_kernel=3)),
    plan=ListedArms(baseline="base", arms={{"base": {{}}, "leaky": {{"model.routing": "leaky"}}}}),
    seeds=(0,),
)
"""
FROM_ONE = """splits = super().load(device)
        return replace(splits, test=replace(splits.test, labels=splits.test.labels + 1))"""
CASES = {
    "labels from 1 to 10": (10, FROM_ONE, "of the test split of data 'mine' is 10, which is no"),
    "five classes of ten": (5, "return super().load(device)", "with 5 classes, labels are 0 to 4"),
    "another fingerprint": (
        10,
        "raise ValueError('The fingerprint is abc.')",
        "The fingerprint is",
    ),
    "a file that is missing": (10, "open('/nowhere')", "The data 'mine' cannot be loaded: [Errno"),
}


@pytest.mark.parametrize(("classes", "load", "sentence"), CASES.values(), ids=CASES)
def test_a_run_ends_with_one_sentence(shell: Shell, classes: int, load: str, sentence: str) -> None:
    file = shell.folder / "mine.py"
    file.write_text(TEXT.format(classes=classes, load=load), encoding="utf-8")
    assert sentence in shell.refused("run", str(file))
