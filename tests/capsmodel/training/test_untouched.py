"""A part of a user's cannot change what it is judged by, and one that writes to it is named."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import pytest
import torch
from torch import Tensor

from capsmodel.augmentation import Augmentation
from capsmodel.data import Digits, load_checked
from capsmodel.evaluation import Evaluation, Findings, findings_of
from capsmodel.losses import Loss, MarginLoss
from capsmodel.metrics import Metric
from capsmodel.models import CapsNet, Outputs
from capsmodel.models.capsnet import CapsuleNetwork
from capsmodel.stopping import FixedEpochs
from capsmodel.training.trained import EVALUATION_BATCH_SIZE
from capsmodel.training.training import Training
from tests.capsmodel.small_config import small_config, small_model

SMALL = small_model().model_dump(exclude={"kind"})


class Raising(Loss):
    """Raises the belief in the true class, in the memory that it was handed."""

    kind: Literal["raising"] = "raising"

    def judge(
        self, outputs: Outputs, labels: Tensor, progress: Any, over_images: Any = "mean"
    ) -> Tensor:
        with torch.no_grad():
            outputs.lengths.data[torch.arange(len(labels)), labels] += 0.4
        return MarginLoss().judge(outputs, labels, progress, over_images)

    def loss(self, lengths: Tensor, labels: Tensor, progress: float) -> Tensor:
        return MarginLoss().loss(lengths, labels, progress)


class Zeroing(Loss):
    kind: Literal["zeroing"] = "zeroing"

    def loss(self, lengths: Tensor, labels: Tensor, progress: float) -> Tensor:
        value = MarginLoss().loss(lengths, labels, progress)
        labels.zero_()
        return value


class Clamping(Loss):
    kind: Literal["clamping"] = "clamping"

    def loss(self, lengths: Tensor, labels: Tensor, progress: float) -> Tensor:
        return MarginLoss().loss(lengths, labels.clamp_(max=4), progress)


class Flipping(Augmentation):
    """Turns the images that it was handed, each time they are looked at."""

    kind: Literal["flipping"] = "flipping"

    def draw(self, num_images: int, generator: torch.Generator) -> Tensor:
        return torch.zeros(num_images, 0)

    def apply(self, images: Tensor, draws: Tensor) -> Tensor:
        return images

    def plain(self, images: Tensor) -> Tensor:
        return images.copy_(images.flip(-1).clone())


class Darkening(CapsuleNetwork):
    def forward(self, images: Tensor, labels: Any = None, generator: Any = None) -> Outputs:
        outputs = super().forward(images, labels, generator)
        if not self.training:
            images.mul_(0.5)
        return outputs


class Drifting(CapsuleNetwork):
    def forward(self, images: Tensor, labels: Any = None, generator: Any = None) -> Outputs:
        outputs = super().forward(images, labels, generator)
        if not self.training:
            next(self.parameters()).data.mul_(1.01)
        return outputs


class ReadingLabels(CapsuleNetwork):
    def forward(self, images: Tensor, labels: Any = None, generator: Any = None) -> Outputs:
        outputs = super().forward(images, labels, generator)
        if self.training or labels is None:
            return outputs
        return outputs._replace(lengths=torch.eye(10)[labels])


class Smoothing(CapsuleNetwork):
    def __init__(self, *settings: Any) -> None:
        super().__init__(*settings)
        self.register_buffer("average", torch.zeros(10), persistent=False)

    def forward(self, images: Tensor, labels: Any = None, generator: Any = None) -> Outputs:
        outputs = super().forward(images, labels, generator)
        self.average = 0.9 * self.average + outputs.lengths.detach().mean(dim=0)
        return outputs


class Viewing(CapsuleNetwork):
    def forward(self, images: Tensor, labels: Any = None, generator: Any = None) -> Outputs:
        outputs = super().forward(images, labels, generator)
        assert outputs.poses is not None
        poses = outputs.poses.sigmoid()
        return outputs._replace(poses=poses, lengths=poses[..., 0])


class Masking(Viewing):
    def decode(self, poses: Tensor, labels: Tensor) -> Tensor | None:
        poses[torch.arange(10) != labels.unsqueeze(1)] = 0.0
        return super().decode(poses, labels)


class Reusing(CapsuleNetwork):
    """Returns beliefs in the same memory for each batch."""

    def forward(self, images: Tensor, labels: Any = None, generator: Any = None) -> Outputs:
        outputs = super().forward(images, labels, generator)
        if self.training:
            return outputs
        memory = vars(self).setdefault("memory", torch.zeros(EVALUATION_BATCH_SIZE, 10))[
            : len(images)
        ]
        return outputs._replace(lengths=memory.copy_(outputs.lengths))


class Unsquashed(CapsuleNetwork):
    def forward(self, images: Tensor, labels: Any = None, generator: Any = None) -> Outputs:
        outputs = super().forward(images, labels, generator)
        return outputs._replace(lengths=20 * outputs.lengths - 10)


NETWORKS: dict[str, type[CapsuleNetwork]] = {
    "plain": CapsuleNetwork,
    "darkening": Darkening,
    "drifting": Drifting,
    "smoothing": Smoothing,
    "reading labels": ReadingLabels,
    "viewing": Viewing,
    "masking": Masking,
    "reusing": Reusing,
    "unsquashed": Unsquashed,
}


class Own(CapsNet):
    """A model of the user's, which builds one of these networks."""

    kind: Literal["own"] = "own"  # pyright: ignore[reportIncompatibleVariableOverride]
    network: str

    def build(self, image_shape: tuple[int, int, int], num_classes: int) -> CapsuleNetwork:
        return NETWORKS[self.network](self, image_shape, num_classes)


def own(network: str, **changes: Any) -> Own:
    return Own(**SMALL | changes, network=network)


class Measuring(Loss):
    """Measures a share of its own and writes the truth into the beliefs on the way."""

    kind: Literal["measuring"] = "measuring"
    epoch_metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="validation_share", words="a share", unit="fraction", direction="larger"),
    )

    def loss(self, lengths: Tensor, labels: Tensor, progress: float) -> Tensor:
        return MarginLoss().loss(lengths, labels, progress)

    def measure(self, beliefs: Tensor, labels: Tensor) -> Mapping[str, float]:
        beliefs[torch.arange(len(labels)), labels] = 1.0
        return {"validation_share": 1.0}


def config_with(**parts: Any) -> Any:
    return small_config(data=Digits(fraction=0.4), stopping=FixedEpochs(epochs=1), **parts)


WRITING = {
    "lengths": config_with(loss=Raising()),
    "labels, to zero": config_with(loss=Zeroing()),
    "labels, clamped": config_with(loss=Clamping()),
    "images, by an augmentation": config_with(augmentation=Flipping()),
    "images, by a model": config_with(model=own("darkening")),
    "weights": config_with(model=own("drifting")),
    "a buffer that is replaced": config_with(model=own("smoothing")),
    "beliefs, by a metric": config_with(loss=Measuring()),
}
SENTENCES = {
    "lengths": "The loss 'raising' writes to the lengths",
    "labels, to zero": "The loss 'zeroing' writes to the labels",
    "labels, clamped": "The loss 'clamping' writes to the labels",
    "images, by an augmentation": "The augmentation 'flipping' writes to the images",
    "images, by a model": "The model 'own' writes to the images",
    "weights": "The model 'own' writes to the convolution",
    "a buffer that is replaced": "The model 'own' writes to the average",
    "beliefs, by a metric": "The loss 'measuring' writes to the beliefs",
}


@pytest.mark.parametrize("name", WRITING)
def test_a_part_that_writes_to_what_it_is_handed_ends_the_training_by_its_name(name: str) -> None:
    with pytest.raises(ValueError, match=SENTENCES[name]) as error:
        next(iter(Training(WRITING[name], seed=0)))
    assert "\n" not in str(error.value)


def test_a_model_is_not_told_the_labels_of_what_it_is_judged_by() -> None:
    configs = [config_with(model=own(network)) for network in ("plain", "reading labels")]
    tested = [[*Training(config, seed=0), Training(config, seed=0).test()] for config in configs]
    assert tested[0][-1].error == tested[1][-1].error > 0.2
    assert tested[0][0].validation_loss == tested[1][0].validation_loss


def test_drawing_the_true_class_leaves_the_beliefs_as_they_are() -> None:
    """Beliefs that are a view of the poses, which decoding masks in place."""
    models = (own(network, reconstruction="none") for network in ("viewing", "masking"))
    tested = [Training(config_with(model=model), seed=0).test() for model in models]
    assert torch.equal(tested[0].predictions, tested[1].predictions)
    assert tested[0].error > 0.2


def test_a_model_may_use_the_same_memory_for_each_batch() -> None:
    configs = [small_config(model=own(network)) for network in ("plain", "reusing")]
    results = [Training(config, seed=0).test() for config in configs]
    assert len(results[0].labels) > EVALUATION_BATCH_SIZE
    assert torch.equal(results[0].predictions, results[1].predictions)


def test_beliefs_outside_of_0_and_1_are_refused() -> None:
    with pytest.raises(ValueError, match=r"'own' returns lengths from -\d.* in \[0, 1\]"):
        next(iter(Training(config_with(model=own("unsquashed")), seed=0)))


class Looking(Evaluation):
    """Returns what it is told to, and writes to all that it is handed."""

    kind: Literal["looking"] = "looking"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return (self.metric("seen"),)

    def evaluate(self, trained: Any, data: Any) -> Findings:
        for weights in trained.network.parameters():
            weights.data.zero_()
        for split in (data.train, data.validation, data.test):
            split.labels.zero_()
            split.images.zero_()
        return Findings({"seen": 0.5})


def test_an_evaluation_cannot_change_what_a_later_one_sees() -> None:
    config = config_with()
    data = load_checked(config.data, "cpu")
    training = Training(config, seed=0, data=data)
    trained = training.trained()
    kept = data.copied()
    before = trained.predict(data.test.images).lengths
    findings_of(Looking(), trained, data)
    for name in ("train", "validation", "test"):
        assert torch.equal(getattr(data, name).images, getattr(kept, name).images)
        assert torch.equal(getattr(data, name).labels, getattr(kept, name).labels)
    assert torch.equal(trained.predict(data.test.images).lengths, before)


WRONG_FINDINGS: dict[str, tuple[dict[str, Any], str]] = {
    "nan": ({"metrics": {"seen": float("nan")}}, r"returns nan as the metric seen"),
    "infinite": ({"metrics": {"seen": float("inf")}}, r"returns inf as the metric seen"),
    "a tensor": ({"metrics": {"seen": torch.tensor(0.5)}}, r"returns tensor\(0.5000\) as the"),
    "too many rows": (
        {"metrics": {"seen": 0.5}, "images": {"all": torch.zeros(100_000)}},
        r"images\['all'\] of shape \[100000\] for \d+ images",
    ),
    "no rows": (
        {"metrics": {"seen": 0.5}, "images": {"all": torch.tensor(1.0)}},
        r"of shape \[\] for",
    ),
    "no shares": (
        {"metrics": {"seen": 0.5}, "images": {"seen": torch.tensor([0.5, torch.nan])}},
        r"one number in \[0, 1\] for each image",
    ),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", WRONG_FINDINGS)
def test_findings_that_are_no_numbers_or_fit_no_image_are_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields, sentence = WRONG_FINDINGS[name]
    monkeypatch.setattr(Looking, "evaluate", lambda *_: Findings(**fields))
    config = config_with()
    data = load_checked(config.data, "cpu")
    with pytest.raises(ValueError, match=sentence):
        findings_of(Looking(), Training(config, seed=0, data=data).trained(), data)
