"""The check finds what is wrong with a network of the user's, and names its line."""

import re
from pathlib import Path

import pytest

from search_spaces.sweep_file import sweep_from_file
from sweeps.execution.sweep_check import CheckFailed, Tried, check_sweep

TEXT = '''
import numpy as np
import torch
from torch import Tensor, nn

from capsmodel import TrainingConfig, loss, model
from capsmodel.evaluation import CapsuleActivity, UndetectedError
from capsmodel.models import PretrainedWeights
from search_spaces import ListedArms, Sweep


@model
class Net(nn.Module):
    """Two layers."""

    def __init__(self, num_classes: int, width: int = 8) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(64, width), nn.ReLU())
        self.head = nn.Linear(width, num_classes)
        self.seen = 0

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.layers(images))


SWEEP = Sweep(
    name="mine",
    base=TrainingConfig(model=Net(), loss="cross_entropy"),
    plan=ListedArms(baseline="net", arms={"net": {}}),
    parts=(Net,),
    seeds=(0,),
)
'''
CALL = "        return self.head(self.layers(images))"
LAYERS = "        self.seen = 0"
# What stands in the place of what, the sentence, and the line that it names.
AS_IT_RUNS = {
    "no annotation": ("width: int = 8", "width=8", "'width' of Net has no annotation: write width"),
    "a tensor": ("width: int = 8", "width: Tensor = torch.ones(2)", "annotated with Tensor"),
    "a lambda": ("width: int = 8", "width: int = lambda: 8", "has the default <function"),
    "a list": ("width: int = 8", "width: list[int] = [8]", "Write tuple[int, ...]"),
    "arguments without names": ("width: int = 8", "*width: int", "takes *width, which cannot be"),
    "a name of parts": ("width: int = 8", "family: int = 8", "a name that parts need: rename it"),
    "a built-in's name": (
        "@model\n",
        "@model(kind='cnn')\n",
        "The model 'cnn' is one of capsmodel",
    ),
    "another form": ("@model\n", "@model(returns='masks')\n", "is one of logits, lengths, poses"),
    "no module": ("(nn.Module)", "", "@model takes a class of torch.nn.Module"),
    "no forward": ("def forward", "def call", "Net has no method forward(self, images)"),
    "a file as a default": (
        "width: int = 8",
        "weights: PretrainedWeights = '/nowhere/net.pt'",
        "has the default '/nowhere/net.pt', a file whose contents no key would show",
    ),
    "no such file": (
        "width: int = 8) -> None:",
        "weights: PretrainedWeights | None = None) -> None:\n        width = 8",
        "weights file '/nowhere/net.pt' cannot be read",
    ),
}
AS_IT_IS_TRIED = {
    "two outputs": (CALL, f"{CALL}, images", "must return logits, .* got a tuple of 2"),
    "too few classes": ("num_classes)\n", "9)\n", r"of shape \[\d+, 10\], got \[\d+, 9\]"),
    "logits as lengths": ("@model\n", "@model(returns='lengths')\n", "returns lengths from .*and"),
    "labels": (
        "images: Tensor)",
        "images: Tensor, labels: Tensor)",
        "missing 1 required positional",
    ),
    "super by name": ("super()._", "super(Net, self)._", r"write super\(\).__init__\(\)"),
    "a lazy layer": ("nn.Linear(64, width)", "nn.LazyLinear(width)", "in its first call: give"),
    "a layer made in a call": (
        CALL,
        "        if not hasattr(self, 'late'):\n            self.late = nn.Linear(8, 10)\n"
        "        return self.late(self.layers(images)) + self.head(self.layers(images))",
        "makes 'late.weight' in a call, where no optimiser sees it",
    ),
    "no weight that moves": (
        LAYERS,
        "        self.requires_grad_(False)",
        "No weight of the network is trained",
    ),
    "double precision": (LAYERS, "        self.double()", "in float64: weights are float32"),
    "a seed of its own": (
        LAYERS,
        "        torch.manual_seed(0)",
        "seeds PyTorch's generator in its constructor, so that trials of other seeds would",
    ),
    "a seed of its own in a call": (
        CALL,
        f"        torch.manual_seed(0)\n{CALL}",
        "seeds PyTorch's generator in a call",
    ),
    "a generator of its own": (
        LAYERS,
        "        nn.init.constant_(self.head.weight, np.random.default_rng().random())",
        "starts with another 'head.weight' when it is built again",
    ),
    "a count between calls": (
        CALL,
        "        self.seen += 1\n        return self.head(self.layers(images)) * self.seen",
        "predicts something else",
    ),
    "a count that acts later": (
        CALL,
        "        self.seen += 1\n"
        "        return self.head(self.layers(images)) * (2 if self.seen > 1500 else 1)",
        "keeps 'seen' from call to call, and no checkpoint holds it, so that a resumed training",
    ),
    "a buffer that no file keeps": (
        CALL,
        "        if not hasattr(self, 'mean'):\n"
        "            self.register_buffer('mean', torch.zeros(()), persistent=False)\n"
        "        self.mean = self.mean + images.mean() * self.training\n" + CALL,
        "keeps 'mean' from call to call",
    ),
    "probabilities as logits": (
        CALL,
        f"{CALL}.softmax(dim=1)",
        "returns probabilities where logits are expected, of which the softmax is taken again",
    ),
    "a constant that no file keeps": (
        CALL,
        "        return self.head(self.layers(images)) + self.constant",
        "loaded from its weights alone, it predicts something else",
    ),
    "a write into the images": (CALL, f"        images.mul_(0.5)\n{CALL}", "writes to the images"),
    "an error": (CALL, "        return self.hed(self.layers(images))", "has no attribute 'hed'"),
    "a loss for each image": (
        CALL,
        f"{CALL}\n\n    def training_loss(self, images, labels, generator):\n"
        "        return self(images).sum(dim=1)",
        r"training_loss of the model 'net' must return one number, .*got a tensor of shape \[8\]",
    ),
    "a name that is no layer": (
        "model=Net(),",
        "model=Net(), frozen=['body'],",
        "frozen names 'body'",
    ),
}


def written(folder: Path, before: str, after: str) -> Path:
    assert before in TEXT
    text = TEXT.replace(before, after, 1)
    if "| None" in after:
        text = text.replace("model=Net()", "model=Net(weights='/nowhere/net.pt')")
    if "constant" in after:
        text = text.replace(LAYERS, "        self.constant = torch.rand(10)")
    (folder / "mine.py").write_text(text)
    return folder / "mine.py"


@pytest.mark.parametrize("name", AS_IT_RUNS)
def test_what_cannot_be_a_model_is_refused_as_the_file_runs(tmp_path: Path, name: str) -> None:
    before, after, sentence = AS_IT_RUNS[name]
    with pytest.raises(
        ValueError, match=rf"mine.py cannot be run: .*{re.escape(sentence)}.*line \d"
    ):
        sweep_from_file(written(tmp_path, before, after))


@pytest.mark.parametrize("name", AS_IT_IS_TRIED)
@pytest.mark.filterwarnings("ignore:Lazy modules are a new feature")
def test_what_cannot_be_trained_is_named_before_it_is(tmp_path: Path, name: str) -> None:
    before, after, sentence = AS_IT_IS_TRIED[name]
    sweep, _ = sweep_from_file(written(tmp_path, before, after))
    failed = [result for result in check_sweep(sweep) if isinstance(result, CheckFailed)]
    assert failed
    assert re.search(sentence, str(failed[0])), failed[0]


def test_what_each_call_computes_anew_may_be_kept(tmp_path: Path) -> None:
    kept = "        self.features, self.sizes = self.layers(images), [len(images)]\n" + CALL
    results = check_sweep(sweep_from_file(written(tmp_path, CALL, kept))[0])
    assert not [result for result in results if isinstance(result, CheckFailed)]


def test_each_network_of_the_users_is_evaluated_and_what_is_not_is_said(tmp_path: Path) -> None:
    file = written(tmp_path, "    seeds=", "    evaluations=(UndetectedError(),),\n    seeds=")
    results = list(check_sweep(sweep_from_file(file)[0]))
    assert not [result for result in results if isinstance(result, CheckFailed)]
    (evaluated,) = (r.what for r in results if isinstance(r, Tried) and "Evaluation" in r.what)
    assert re.search(
        r"'undetected_error'; not of Arm 'net': .*is for networks that draw images", evaluated
    )
