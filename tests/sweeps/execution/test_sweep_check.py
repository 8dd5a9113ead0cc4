"""The check of a sweep finds each kind of bug in a user's file, and names the line."""

import re
from pathlib import Path

import pytest
import torch

from search_spaces.plans import plan_end
from sweeps.execution.plan.changes import Changes
from sweeps.execution.plan.definition import define
from sweeps.execution.sweep_check import CheckFailed, Tried, Trying, check_sweep, loaded_sweep
from sweeps.records.errors import BadInput

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
from capsmodel.optimisers import Adam
from capsmodel.optimisers.rate_schedule import LearningRateSchedule
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


class MyRate(LearningRateSchedule):
    kind: Literal["my_rate"] = "my_rate"

    def at(self, setting, when):
        return setting


class MyPlan(Plan):
    kind: Literal["my_plan"] = "my_plan"

    def next_cells(self, definition, known):
        arms = {"base": {}, "linear": {"model": MyModel()}, "once": {"model.routing.rounds": 1}}
        return [Cell(arm, changes, 0) for arm, changes in arms.items()] if not known.cells else DONE


SWEEP = Sweep(
    name="mine",
    description="All of my own.",
    parts=(MyRouting, MyLoss, MyModel, MyData, MyEvaluation, MyStopping, MyRate),
    base=TrainingConfig(
        data=MyData(),
        model=CapsNet(
            conv_channels=8, conv_kernel=3, primary_types=2, primary_kernel=3,
            reconstruction="none", routing=MyRouting(),
        ),
        loss=MyLoss(),
        optimiser=Adam(schedule=MyRate()),
        stopping=MyStopping(),
    ),
    plan=MyPlan(),
    evaluations=(MyEvaluation(),),
    seeds=(0,),
)
"""

OUTPUTS = "return Outputs(torch.sigmoid(logits), None)"
FLAT = "self.dense(images.flatten(1))"
SHARES = "torch.softmax(logits, dim=2)"
# What is replaced, by what, and words of the error; the line is that of the new text.
AGAIN = "for the same images when it is asked again: a part keeps"
OWN_OPTIMISER = """class Few(Adam):
    kind: Literal["few"] = "few"

    def build(self, parameters):
        return super().build(list(parameters)[:2])
Adam = Few
of_parts = Sweep
Sweep = lambda parts, **more: of_parts(parts=(*parts, Few), **more)
"""
RATE = "return setting"
RATES = "The learning rate of the learning-rate schedule 'my_rate' is "
SQUARES = "return ((lengths - truth) ** 2).sum(dim=1).mean()"
BUGS = {
    "a rate that falls below zero": (
        RATE,
        "return setting * (0.9 - when.progress)",
        RATES + "-5e-05 at step 20 of 20: ",
    ),
    "a rate that is infinite": (
        RATE,
        "return setting if when.step < 3 else float('inf')",
        RATES + "inf at step 4 of 20: ",
    ),
    "a rate that is no number": (RATE, "return 'a'", "TypeError: "),
    "a rate of zero": (RATE, "return 0.0", RATES + "0 at each of 20 steps: no weight will move"),
    "a loss that is a sum over images": (
        SQUARES,
        SQUARES.replace(".mean()", ".sum()"),
        "The loss 'my_loss' is no mean over the images, each judged by its own label: ",
    ),
    "a loss that compares each image with all labels": (
        SQUARES,
        "return (1 - lengths[:, labels] * (labels[:, None] == labels)).mean()",
        "is no mean over the images",
    ),
    "a loss with its labels in another order": (
        SQUARES,
        SQUARES.replace("truth", "truth.flip(0)"),
        "is no mean over the images",
    ),
    "a loss of the wrong sign": (
        SQUARES,
        SQUARES.replace("return (", "return -("),
        "The loss 'my_loss' is not smaller for images that are answered rightly",
    ),
    "a loss that looks at no label": (
        SQUARES,
        "return lengths.square().sum(dim=1).mean()",
        "The loss 'my_loss' is not smaller for images that are answered rightly",
    ),
    "a loss that pushes the true class down too": (
        SQUARES,
        "return (truth * torch.relu(lengths - 0.9) + (1 - truth) * lengths).sum(dim=1).mean()",
        "The loss 'my_loss' never falls as the belief in the true class rises",
    ),
    "capsules of a routing that are longer than 1": (
        "        return poses\n",
        "        return 3 + poses\n",
        "The routing 'mine' gives capsules of lengths from ",
    ),
    "lengths beyond 1 of a model": (
        "torch.sigmoid(logits), None",
        "1 + torch.sigmoid(logits), None",
        "The model 'my_model' returns lengths from ",
    ),
    "lengths that know the label": (
        OUTPUTS,
        "return Outputs(torch.sigmoid(logits + (0 if labels is None else labels[:, None])), None)",
        "The model 'my_model' uses the labels outside training",
    ),
    "lengths that know the label in training alone": (
        OUTPUTS,
        "return Outputs(torch.sigmoid(logits + (labels[:, None] if self.training else 0)), None)",
        "The model 'my_model' uses the labels for its lengths in training",
    ),
    "a gradient of nothing": (
        "torch.sigmoid(logits), None",
        "torch.sigmoid(0 * logits), None",
        "The gradient of all weights is exactly 0 in the first steps, so that none moves",
    ),
    "a state between calls": (
        "        return poses\n",
        "        globals()['N'] = globals().get('N', 0) + 1; return poses / N\n",
        AGAIN,
    ),
    "random numbers": ("        return poses\n", "        return poses * torch.rand(())\n", AGAIN),
    "weights that the optimiser does not get": (
        'SWEEP = Sweep(\n    name="mine",\n',
        OWN_OPTIMISER + 'SWEEP = Sweep(\n    name="mine",\n',
        "The optimiser 'few' does not move '",
    ),
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
    "a loss whose gradient is cut": (
        ".sum(dim=1).mean()",
        ".sum(dim=1).mean().detach().requires_grad_()",
        "The loss 'my_loss' does not depend on the network's weights",
    ),
    "a model whose gradient is cut": (
        "torch.sigmoid(logits), None",
        "torch.sigmoid(logits.detach()), None",
        "does not depend on the network's weights",
    ),
    "a loss of new numbers": (
        "return ((lengths - truth)",
        "return ((torch.tensor(lengths.tolist()) - truth)",
        "does not depend on the network's weights",
    ),
    "weights that nobody uses": (
        "        self.dense = Dense(",
        "        self.other = Dense(3, 4); self.dense = Dense(",
        "The model 'my_model' has weights without a gradient: 'other.weight'",
    ),
    "a frozen layer": (
        "torch.nn.Parameter(torch.empty(inputs, outputs))",
        "torch.nn.Parameter(torch.empty(inputs, outputs), requires_grad=False)",
        "No weight of the network is trained",
    ),
    "a batch norm of PyTorch": (
        "        self.dense = Dense(",
        "        self.norm = torch.nn.BatchNorm1d(10); self.dense = Dense(",
        "'norm' of MyNetwork is a BatchNorm1d without a method `initialise`",
    ),
    "a convolution of PyTorch": (
        "        self.dense = Dense(",
        "        self.norm = torch.nn.Conv2d(1, 1, 1); self.dense = Dense(",
        "'norm' of MyNetwork is a Conv2d without a method `initialise`",
    ),
    "layers in a list": (
        "        self.dense = Dense(",
        "        self.many = torch.nn.ModuleList([Dense(2, 2)]); self.dense = Dense(",
        "'many' of MyNetwork is a ModuleList without a method `initialise`",
    ),
    "a write over shares": (
        "            logits = logits + torch.einsum",
        "            shares.mul_(0.5); logits = logits + torch.einsum",
        "modified by an inplace operation",
    ),
    "a write into a row": (
        "            logits = logits + torch.einsum",
        "            shares[0] = 0.5; logits = logits + torch.einsum",
        "modified by an inplace operation",
    ),
    "a write by an operator": (
        "            logits = logits + torch.einsum",
        "            shares += 0.5; logits = logits + torch.einsum",
        "modified by an inplace operation",
    ),
    "a root of a negative number": (
        "            logits = logits + torch.einsum",
        "            poses = poses + (poses.sum() * 0 - 1).sqrt(); logits = logits + torch.einsum",
        "the loss of the first step is nan",
    ),
    "a division by nothing": (
        "        logits = votes.new_zeros",
        "        votes = votes / (votes * 0); logits = votes.new_zeros",
        "the loss of the first step is nan",
    ),
    "a gradient of a root at zero": (
        "            logits = logits + torch.einsum",
        "            poses = poses + (poses * 0).sqrt(); logits = logits + torch.einsum",
        "the gradient of the first step is nan",
    ),
    "a gradient of a norm at zero": (
        "        logits = votes.new_zeros",
        "        votes = votes + (votes * 0).square().sum().sqrt(); logits = votes.new_zeros",
        "the gradient of the first step is nan",
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
        "does not depend on the network's weights",
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
    "a share in percent": (
        'return Findings(metrics={"mean_belief": float(beliefs.mean())})',
        'return Findings(metrics={"mean_belief": 92})',
        "returns 92 as the metric mean_belief, which is declared a fraction, a number from 0 to 1",
    ),
    "another mean than that of the images": (
        'return Findings(metrics={"mean_belief": float(beliefs.mean())})',
        'return Findings({"mean_belief": 0.5}, {"mean_belief": beliefs[:5, 0] * 0})',
        "returns images['mean_belief'], 5 numbers whose mean is 0, and the metric mean_belief, 0.5",
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
    *(
        "an arm with an unknown setting",
        "a shape with its channels last, where no kernel fits its width",
        "a gradient of nothing",
        "a model whose gradient is cut",
        "lengths that know the label",
        "lengths that know the label in training alone",
        "a state between calls",
        "random numbers",
        "weights that nobody uses",
        "weights that the optimiser does not get",
    ),
    *("a frozen layer", "a batch norm of PyTorch", "a convolution of PyTorch", "layers in a list"),
}


def broken(folder: Path, before: str, after: str) -> tuple[Path, int]:
    """Return a sweep file with a bug, and the number of its line."""
    assert TEXT.count(before) == 1, before
    text = TEXT.replace(before, after)
    file = folder / "mine.py"
    file.write_text(text, encoding="utf-8")
    return file, text[: text.index(after)].count("\n") + 1


def results(file: Path) -> list[Trying | Tried | CheckFailed]:
    try:
        return [*check_sweep(loaded_sweep(file, Changes()))]
    except CheckFailed as failed:
        return [failed]


def first_failure(file: Path) -> CheckFailed | None:
    """Return the first thing that does not work; what follows is not tried."""
    try:
        tried = check_sweep(loaded_sweep(file, Changes()))
        return next((result for result in tried if isinstance(result, CheckFailed)), None)
    except CheckFailed as failed:
        return failed


@pytest.mark.parametrize("name", BUGS)
@pytest.mark.usefixtures("unchecked")  # as a user sees it
def test_a_bug_is_reported_with_its_line(tmp_path: Path, name: str) -> None:
    before, after, message = BUGS[name]
    file, line = broken(tmp_path, before, after)
    failure = first_failure(file)
    assert failure
    assert message in str(failure)
    if name not in WITHOUT_LINE:
        assert re.search(rf"line {line}[:)]", str(failure))
        assert failure.line
        assert re.search(rf"^> +{line} \| ", failure.line.excerpt(), re.MULTILINE)


CELLS = "[Cell(arm, changes, 0) for arm, changes in arms.items()]"
ANSWER = f"return {CELLS} if not known.cells else DONE"
EPOCHS = "        return self.epochs"
# What is replaced, by what, and what is said of the plan or of the length of a training.
PLANS = {
    "the same cells again": (ANSWER, f"return {CELLS}", "twice (arm 'base', seed 0; arm 'linear'"),
    "a cell that is listed twice": (ANSWER, f"{ANSWER[:7]}{CELLS} * 2", "twice (arm 'base', seed"),
    "one of the cells again": (
        ANSWER,
        f"return {CELLS} if not known.cells else [Cell('once', {{}}, 0)]",
        "proposes a cell twice (arm 'once', seed 0): ",
    ),
    "an arm of two settings": (
        ANSWER,
        "return [Cell('a', {}, 0), Cell('a', {'batch_size': 3}, 1)]",
        "gives the arm 'a' two settings, {} and {'batch_size': 3}: ",
    ),
    "settings that are drawn at each call": (
        ANSWER,
        "return [Cell('a', {'batch_size': int(torch.randint(2, 10**6, ()))}, len(known.cells))]",
        "it draws other numbers at each call",
    ),
    "ever more seeds": (ANSWER, "return [Cell('base', {}, len(known.cells))]", "after 50 cells"),
    "nothing at first": (ANSWER, "return []", "proposes no cells at its start"),
    "nothing in the end": (
        ANSWER,
        f"return {CELLS} if not known.cells else ()",
        "proposes nothing once all of its 3 cells have ended",
    ),
    "no epochs": (EPOCHS, "        return 0", "from 1 to 100,000, got 0"),
    "endless epochs": (EPOCHS, "        return float('inf')", "100,000, got inf"),
    "half epochs": (EPOCHS, "        return 2.5", "100,000, got 2.5"),
    "too many epochs": (EPOCHS, "        return 10**9", "100,000, got 1000000000"),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_or_a_training_without_an_end_is_refused_in_a_sentence(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_end, "_MOST_ANSWERS", 50)
    before, after, words = PLANS[name]
    file, _ = broken(tmp_path, before, after)
    assert words in str(first_failure(file))
    with pytest.raises(BadInput, match=re.escape(words)):
        define(str(file), Changes(), ())


# What is done where the sweep is declared, and what is said of it.
STATES = {
    "torch.set_default_dtype(torch.float64)": "sets PyTorch's default type to float64",
    "torch.set_grad_enabled(False)": "sets PyTorch's gradients to False",
    "torch.set_default_device('meta')": "sets PyTorch's default device to meta",
}


@pytest.mark.parametrize("statement", STATES)
def test_a_file_that_changes_torch_for_all_is_refused_with_its_line(
    tmp_path: Path, statement: str
) -> None:
    file, line = broken(tmp_path, "SWEEP = Sweep(", f"{statement}; SWEEP = Sweep(")
    elsewhere = f"def inside():\n    with torch.inference_mode(): {statement}\n"
    file.write_text(elsewhere + file.read_text())
    line += 2
    failure = first_failure(file)
    assert STATES[statement] in str(failure)
    assert str(failure).endswith(f"(line {line}).")
    assert torch.get_default_dtype() is torch.float32
    assert torch.is_grad_enabled()


# What is replaced, by what, and the part that is named.
OF_BATCH = {
    "poses less their mean": (
        "        return poses",
        "        return poses - poses.mean(0)",
        "routing",
    ),
    "shares of the batch": (SHARES, "torch.softmax(votes.mean(-1), dim=0)", "routing"),
    "the votes of a neighbour": (
        "votes.new_zeros(votes.shape[:-1])",
        "votes.roll(1, 0).sum(-1)",
        "routing",
    ),
    "logits by their spread": (
        OUTPUTS,
        OUTPUTS.replace("(logits)", "(logits / logits.std(0))"),
        "model",
    ),
    "logits below the largest": (
        OUTPUTS,
        OUTPUTS.replace("(logits)", "(logits - logits.amax(0))"),
        "model",
    ),
}
ONE_IMAGE = {
    "all axes of length one are dropped": (FLAT, "self.dense(images.flatten(1).squeeze())"),
    "the number of images is written down": (FLAT, "self.dense(images.reshape(8, -1))"),
    "images are taken two by two": (FLAT, f"{FLAT}.view(2, -1, 10).flatten(0, 1)"),
    "two images are compared": (FLAT, f"{FLAT} + 0 * images[1].sum()"),
}


@pytest.mark.parametrize("name", OF_BATCH)
@pytest.mark.usefixtures("unchecked")
def test_results_that_depend_on_the_batch_are_reported(tmp_path: Path, name: str) -> None:
    before, after, part = OF_BATCH[name]
    file, _ = broken(tmp_path, before, after)
    failure = first_failure(file)
    assert failure
    assert "depend on the other images in the batch" in str(failure)
    assert f"the {part} '" in str(failure)


@pytest.mark.parametrize("name", ONE_IMAGE)
@pytest.mark.usefixtures("unchecked")
def test_a_model_that_fails_for_one_image_is_reported(tmp_path: Path, name: str) -> None:
    file, _ = broken(tmp_path, *ONE_IMAGE[name])
    failure = first_failure(file)
    assert failure
    assert re.match("Arm 'linear' cannot predict (one image alone|half of a batch): ", str(failure))
    assert re.search(r"mine.py, line \d+", str(failure))


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


def test_results_of_the_first_images_alone_are_noted(tmp_path: Path) -> None:
    before = 'return Findings(metrics={"mean_belief": float(beliefs.mean())})'
    after = before[:-1] + ", images={'most': beliefs.amax(1)[:-1], 'all': beliefs})"
    file, _ = broken(tmp_path, before, after)
    assert [result.what for result in results(file) if isinstance(result, Tried)][-1] == (
        "Evaluation 'my_evaluation'; of Arm 'base': images['most'] has 63 rows for 64 images, "
        "which are taken for those of the first ones"
    )


def test_arms_of_one_shape_are_tried_once() -> None:
    said = [
        result.what
        for result in check_sweep(loaded_sweep("quickstart", Changes()))
        if isinstance(result, Tried)
    ]
    assert "Arms '3 iterations', '1 iteration': a step" in said[1]
    assert len(said) == 6


def test_every_choice_of_a_search_is_tried() -> None:
    said = " ".join(
        result.what
        for result in check_sweep(loaded_sweep("capsule_search", Changes()))
        if isinstance(result, Tried)
    )
    assert all(f"'loss[margin].schedule={kind}'" in said for kind in ("linear", "sigmoid"))
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
