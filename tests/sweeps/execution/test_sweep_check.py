"""The check of a sweep finds each kind of bug in a user's file, and names the line."""

import re
from pathlib import Path

import pytest

from sweeps.execution.plan.changes import Changes
from sweeps.execution.sweep_check import CheckFailed, Tried, check_sweep, loaded_sweep

TEXT = """
from typing import Annotated, Literal

import torch
from pydantic import Field

from capsmodel import TrainingConfig
from capsmodel.data import Digits
from capsmodel.evaluation import Evaluation, Findings, beliefs_in
from capsmodel.functional import squash
from capsmodel.initialised import InitialisedModule
from capsmodel.losses import Loss
from capsmodel.models import CapsNet, Model, Network, Outputs
from capsmodel.routing import VectorRouting
from capsmodel.stopping import Stopping
from search_spaces import Cell, Plan, Sweep
from search_spaces.plans.decisions import DONE


class MyRouting(VectorRouting):
    kind: Literal["mine"] = "mine"
    rounds: Annotated[int, Field(ge=1)] = 2

    def route(self, votes, *, generator):
        logits = votes.new_zeros(votes.shape[:-1])
        for _ in range(self.rounds):
            shares = torch.softmax(logits, dim=2)
            poses = squash(torch.einsum("bio,biop->bop", shares, votes))
            logits = logits + torch.einsum("biop,bop->bio", votes, poses)
        return poses


class MyLoss(Loss):
    kind: Literal["my_loss"] = "my_loss"

    def loss(self, lengths, labels, progress):
        truth = torch.nn.functional.one_hot(labels, lengths.shape[1])
        return ((lengths - truth) ** 2).sum(dim=1).mean()


class Dense(InitialisedModule):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(inputs, outputs))

    def initialise(self, generator):
        torch.nn.init.normal_(self.weight, std=0.1, generator=generator)

    def forward(self, vectors):
        return torch.mm(vectors, self.weight)


class MyNetwork(Network):
    def __init__(self, channels, height, width, num_classes):
        super().__init__()
        self.dense = Dense(channels * height * width, num_classes)

    def forward(self, images, labels=None, generator=None):
        logits = self.dense(images.flatten(1))
        return Outputs(torch.sigmoid(logits), None)

    def penalty(self, outputs, images):
        return images.new_zeros(())


class MyModel(Model):
    kind: Literal["my_model"] = "my_model"

    def build(self, image_shape, num_classes):
        return MyNetwork(*image_shape, num_classes)


class MyData(Digits):
    kind: Literal["my_data"] = "my_data"

    def load(self, device):
        splits = super().load(device)
        return splits


class MyEvaluation(Evaluation):
    kind: Literal["my_evaluation"] = "my_evaluation"

    @property
    def metrics(self):
        return (self.metric("mean_belief"),)

    def evaluate(self, trained, data):
        beliefs = beliefs_in(trained, data.test)
        return Findings(metrics={"mean_belief": float(beliefs.mean())})


class MyStopping(Stopping):
    kind: Literal["my_stopping"] = "my_stopping"
    epochs: int = 2

    @property
    def num_epochs(self):
        return self.epochs

    def ends_with(self, history):
        return history[-1].validation_error < 0


class MyPlan(Plan):
    kind: Literal["my_plan"] = "my_plan"

    def next_cells(self, definition, known):
        arms = {"base": {}, "linear": {"model": MyModel()}, "once": {"model.routing.rounds": 1}}
        return [Cell(arm, changes, 0) for arm, changes in arms.items()] if not known.cells else DONE


SWEEP = Sweep(
    name="mine",
    description="All of my own.",
    parts=(MyRouting, MyLoss, MyModel, MyData, MyEvaluation, MyStopping),
    base=TrainingConfig(
        data=MyData(),
        model=CapsNet(
            conv_channels=8, conv_kernel=3, primary_types=2, primary_kernel=3,
            reconstruction="none", routing=MyRouting(),
        ),
        loss=MyLoss(),
        stopping=MyStopping(),
    ),
    plan=MyPlan(),
    evaluations=(MyEvaluation(),),
    seeds=(0,),
)
"""

# What is replaced, by what, and words of the error; the line is that of the new text.
BUGS = {
    "a wrong einsum": (
        'torch.einsum("bio,biop->bop", sh',
        'torch.einsum("boi,biop->bop", sh',
        "einsum()",
    ),
    "an unknown name": ("torch.softmax(logits", "torch.softmax(logit", "NameError: name 'logit'"),
    "poses that are not returned": ("        return poses", "        return None", "got None"),
    "poses of another shape": (
        "        return poses",
        "        return poses[:, :5]",
        "poses of shape [8, 10,",
    ),
    "a missing argument": ("squash(torch.einsum", "squash(x=torch.einsum", "TypeError"),
    "an exit": (
        "        logits = votes.new",
        "        raise SystemExit(0); votes.new",
        "SystemExit: 0",
    ),
    "an interruption": (
        "        return poses",
        "        raise KeyboardInterrupt",
        "KeyboardInterrupt",
    ),
    "an interruption in load": (
        "        return splits",
        "        raise KeyboardInterrupt",
        "The data 'my_data' cannot be used: KeyboardInterrupt",
    ),
    "an error that is no exception": (
        "        return splits",
        "        raise BaseException('over')",
        "BaseException: over",
    ),
    "the end of a generator": (
        "        return splits",
        "        raise GeneratorExit",
        "GeneratorExit",
    ),
    "a routing that is not finite": (
        "        return poses",
        "        return poses / 0",
        "the loss of the first step is inf",
    ),
    "a loss for each image": (
        ".sum(dim=1).mean()",
        ".sum(dim=1)",
        "must return one number, the mean over the images, got a tensor of shape [8]",
    ),
    "a loss without a gradient": (
        ".sum(dim=1).mean()",
        ".sum(dim=1).mean().detach()",
        "does not require grad",
    ),
    "a loss that is a plain number": (
        ".sum(dim=1).mean()",
        ".sum(dim=1).mean().item()",
        "The loss 'my_loss' must return one number, the mean over the images, got 0.",
    ),
    "one-hot labels of too few classes": (
        "one_hot(labels, lengths.shape[1])",
        "one_hot(labels, 3)",
        "Class values must be smaller",
    ),
    "a product of other sizes": (
        "torch.mm(vectors, self.weight)",
        "torch.mm(self.weight, vectors)",
        "mat1 and mat2 shapes cannot be multiplied",
    ),
    "beliefs in too few classes": (
        "torch.sigmoid(logits), None",
        "torch.sigmoid(logits[:, :5]), None",
        "lengths of shape [8, 10]",
    ),
    "outputs that are a tensor": (
        "return Outputs(torch.sigmoid(logits), None)",
        "return torch.sigmoid(logits)",
        "must return Outputs",
    ),
    "a model that cannot be built": (
        "return MyNetwork(*image_shape, num_classes)",
        "return MyNetwork(image_shape, num_classes)",
        "TypeError",
    ),
    "a bug in load": ("super().load(device)", "super().load(devise)", "NameError: name 'devise'"),
    "labels that are no class": (
        "        return splits",
        "        splits.train.labels[3] = 10; return splits",
        "is 10, which is no",
    ),
    "a division by zero in an evaluation": (
        "float(beliefs.mean())",
        "float(beliefs.mean()) / 0",
        "ZeroDivisionError",
    ),
    "another metric than declared": (
        'metrics={"mean_belief"',
        'metrics={"belief"',
        "declares the metrics mean_belief and returns belief",
    ),
    "findings that are a dict": (
        'return Findings(metrics={"mean_belief": float(beliefs.mean())})',
        'return {"mean_belief": 1.0}',
        "must return Findings",
    ),
    "a stopping with a bug": (
        "history[-1].validation_error",
        "history[-1].error",
        "AttributeError",
    ),
    "a bug in a plan": (
        "for arm, changes in arms.items()",
        "for arm, changes in arms",
        "ValueError: ",
    ),
    "a plan that forgets what it returns": (
        "        return [Cell(arm",
        "        [Cell(arm",
        "None",
    ),
    "a typo in a plan": ("if not known.cells", "if not known.cell", "AttributeError"),
    "an arm with an unknown setting": (
        '"once": {"model.routing.rounds": 1}',
        '"once": {"model.routing.round": 1}',
        "Did you mean",
    ),
    "a name that is unknown when the file is run": (
        "    loss=MyLoss(),",
        "        loss=MyLos(),",
        "NameError: name 'MyLos'",
    ),
    "a shape with its channels last, where no kernel fits its width": (
        '    kind: Literal["my_data"] = "my_data"\n',
        '    kind: Literal["my_data"] = "my_data"\n    image_shape = (8, 8, 1)\n',
        "image_shape of data 'my_data' must be channels, height and width, got (8, 8, 1), which",
    ),
    "an import that fails": ("import torch\n", "import torhc\n", "No module named 'torhc'"),
}
WITHOUT_LINE = {
    "an arm with an unknown setting",
    "a shape with its channels last, where no kernel fits its width",
}


def broken(folder: Path, before: str, after: str) -> tuple[Path, int]:
    """Return a sweep file with a bug, and the number of its line."""
    assert TEXT.count(before) == 1, before
    text = TEXT.replace(before, after)
    file = folder / "mine.py"
    file.write_text(text, encoding="utf-8")
    return file, text[: text.index(after)].count("\n") + 1


def results(file: Path) -> list[Tried | CheckFailed]:
    try:
        return [*check_sweep(loaded_sweep(file, Changes()))]
    except CheckFailed as failed:
        return [failed]


@pytest.mark.parametrize("name", BUGS)
@pytest.mark.usefixtures("unchecked")  # as a user sees it
def test_a_bug_is_reported_with_its_line(tmp_path: Path, name: str) -> None:
    before, after, message = BUGS[name]
    file, line = broken(tmp_path, before, after)
    failures = [result for result in results(file) if isinstance(result, CheckFailed)]
    assert failures
    assert message in str(failures[0])
    if name not in WITHOUT_LINE:
        assert re.search(rf"line {line}[:)]", str(failures[0]))
        assert failures[0].line
        assert re.search(rf"^> +{line} \| ", failures[0].line.excerpt(), re.MULTILINE)


def test_a_sweep_that_works_has_a_line_for_each_thing(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(TEXT, encoding="utf-8")
    said = [result.what for result in results(file) if isinstance(result, Tried)]
    assert said == [
        "Data 'my_data': 1,257 training, 180 validation and 360 test images.",
        "Arm 'base': a step, a checkpoint, a prediction",
        "Arm 'linear': a step, a checkpoint, a prediction",
        "Arm 'once': a step, a checkpoint, a prediction",
        "Evaluation 'my_evaluation'",
    ]


def test_arms_of_one_shape_are_tried_once() -> None:
    said = [
        result.what
        for result in check_sweep(loaded_sweep("quickstart", Changes()))
        if isinstance(result, Tried)
    ]
    assert "Arms '3 iterations', '1 iteration': a step" in said[1]
    assert len(said) == 7


def test_every_choice_of_a_search_is_tried() -> None:
    said = " ".join(
        result.what
        for result in check_sweep(loaded_sweep("quickstart_search", Changes()))
        if isinstance(result, Tried)
    )
    assert all(f"'model.routing={kind}'" in said for kind in ("uniform", "random"))
    assert "'loss=cross_entropy'" in said


def test_a_window_that_no_error_of_the_validation_images_is_in_is_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    target = "stopping=TargetMetric(at_or_below=0.03, window=0.002),"
    imported = "from capsmodel.stopping import Stopping, TargetMetric"
    text = TEXT.replace("stopping=MyStopping(),", target)
    file.write_text(text.replace("from capsmodel.stopping import Stopping", imported))
    failures = {str(result) for result in results(file) if isinstance(result, CheckFailed)}
    assert len(failures) == 1
    assert failures.pop().startswith("The window of the stopping rule, above 2.8 % and at or")
