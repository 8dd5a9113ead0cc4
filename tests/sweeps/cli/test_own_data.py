"""A data set of a user's own that is wrong ends a launch before it begins."""

import pytest

from sweeps.execution.launch.launch import print_own_data
from sweeps.execution.plan.changes import Changes
from sweeps.execution.plan.definition import define
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
    "a sentence of its own": (10, "raise ValueError('No disk.')", "No disk."),
    "a fingerprint": (
        10,
        "return super().load(device)\n\n    fingerprint = 'mine'",
        "The data 'mine' declare a fingerprint, which is now computed from the images that load() "
        "returns: delete it.",
    ),
    "files() that are no files": (
        10,
        "return super().load(device)\n\n    def files(self):\n        return ['/']",
        "files() of data 'mine' lists '/', which is no file: list each file that load() reads.",
    ),
    "a bug": (
        10,
        "return super().load(device).training",
        "The data 'mine' cannot be loaded: AttributeError: 'DataSplits' object has no attribute "
        "'training' ({folder}/mine.py, line 16: return super().load(device).training).",
    ),
    "test images that were trained on": (
        10,
        "splits = super().load(device)\n        return replace(splits, test=splits.train)",
        "1257 images occur in both the training split of data 'mine' and the test split",
    ),
    "grey values to 16": (
        10,
        "s = super().load(device)\n        "
        "return replace(s, train=replace(s.train, images=16 * s.train.images))",
        "the split has 0 to 16; scale it to [0, 1], or hand the grey values 0 to 255 as uint8.",
    ),
    "a file that is missing": (10, "open('/nowhere')", "The data 'mine' cannot be loaded: [Errno"),
}


@pytest.mark.parametrize(("classes", "load", "sentence"), CASES.values(), ids=CASES)
def test_a_run_ends_with_one_sentence(shell: Shell, classes: int, load: str, sentence: str) -> None:
    file = shell.folder / "mine.py"
    file.write_text(TEXT.format(classes=classes, load=load), encoding="utf-8")
    assert sentence.format(folder=shell.folder) in shell.refused("run", str(file))


def test_the_images_of_each_split_are_counted(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    file = shell.folder / "mine.py"
    without_nine = "test=s.test.take((s.test.labels != 9).nonzero()[:, 0])"
    file.write_text(
        TEXT.format(classes=10, load=f"s = super().load(device); return replace(s, {without_nine})")
    )
    known = [
        "Data 'mine': 1,257 training, 180 validation and 324 test images.",
        "No image of class 9 is in the test split of data 'mine'.",
    ]
    print_own_data(define(file, Changes(), ()))
    assert capsys.readouterr().out.splitlines() == known
    print_own_data(define(file, Changes(settings={"batch_size": 100_000}), ()))
    large = "The batch size 100,000 is more than the 1,257 training images, so that an epoch is one"
    assert capsys.readouterr().out.splitlines() == [
        *known,
        f"{large} step (arm 'base').",
        f"{large} step (arm 'leaky').",
    ]
