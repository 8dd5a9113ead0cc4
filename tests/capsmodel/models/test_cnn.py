from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from pydantic import ValidationError
from torch import Tensor
from torch.testing import assert_close

from capsmodel import Trained, Training, TrainingConfig, num_parameters
from capsmodel.augmentation import Shift
from capsmodel.data import Digits
from capsmodel.layers.linear import drop
from capsmodel.losses import CrossEntropy, MarginLoss
from capsmodel.models import ConvNet, Network, Outputs
from capsmodel.stopping import FixedEpochs
from tests.capsmodel.small_config import small_config

SMALL: dict[str, Any] = {"conv_channels": (4, 6), "conv_kernel": 3, "hidden": (16, 12)}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def network(seed: int = 0, **changes: Any) -> Network:
    built = ConvNet(**(SMALL | changes)).build((1, 8, 8), 10)
    built.initialise(seed)
    return built


def config(**changes: Any) -> TrainingConfig:
    settings = {"model": ConvNet(**SMALL), "loss": CrossEntropy(), "augmentation": Shift()}
    return small_config(**(settings | changes))


def finished(settings: TrainingConfig, seed: int = 0) -> Training:
    training = Training(settings, seed)
    for _ in training:
        pass
    return training


IMAGES = torch.rand(5, 1, 8, 8, generator=seeded())
LABELS = torch.tensor([0, 1, 2, 3, 4])


@pytest.mark.parametrize(
    ("model", "image_shape", "num_classes", "expected"),
    [
        (ConvNet(), (1, 28, 28), 10, 35_445_522),
        (ConvNet(conv_channels=(32, 64), pooling=2, hidden=(1024,)), (1, 32, 32), 5, 4_252_549),
        (ConvNet(conv_channels=(32, 64), pooling=2, hidden=(1024,)), (2, 32, 32), 5, 4_253_349),
        (
            ConvNet(conv_channels=(512, 256), conv_kernel=(9, 5), pooling=2, hidden=(1024,)),
            (1, 36, 36),
            10,
            24_563_978,
        ),
    ],
)
def test_the_baselines_of_both_papers_have_their_parameters(
    model: ConvNet, image_shape: tuple[int, int, int], num_classes: int, expected: int
) -> None:
    with torch.device("meta"):
        built = model.build(image_shape, num_classes)
    assert sum(parameter.numel() for parameter in built.parameters()) == expected


def test_beliefs_are_probabilities_and_no_image_is_drawn() -> None:
    outputs = network()(IMAGES, None, seeded())
    assert outputs.lengths.shape == (5, 10)
    assert outputs.lengths.min() >= 0
    assert_close(outputs.lengths.sum(dim=1), torch.ones(5))
    assert_close(outputs.lengths, outputs.logits.softmax(dim=1))
    assert outputs.reconstructions is None
    assert network().penalty(outputs, IMAGES).item() == 0


def test_an_image_gives_the_same_alone_and_in_a_batch() -> None:
    built = network().double().eval()
    together = built(IMAGES.double(), None, seeded()).lengths
    alone = [built(image, None, seeded()).lengths for image in IMAGES.double().split(1)]
    assert_close(torch.cat(alone), together)


def test_pooling_halves_the_features() -> None:
    weight = network(pooling=2).state_dict()["classifier.layers.0.weight"]
    assert weight.shape == (16, 6 * 2 * 2)
    assert network(pooling=2)(IMAGES, None, seeded()).lengths.shape == (5, 10)


def test_images_too_small_to_be_pooled_are_refused() -> None:
    with pytest.raises(ValueError, match="A kernel of 3 pixels does not fit 2 pixels"):
        network(pooling=3)


def test_an_even_kernel_is_refused() -> None:
    with pytest.raises(ValueError, match="conv_kernel must be odd"):
        ConvNet(conv_kernel=4)


def test_each_convolution_may_have_a_kernel_of_its_own() -> None:
    values = network(conv_kernel=(5, 1)).state_dict()
    shapes = [values[f"convolutions.layers.{n}.convolution.weight"].shape[2:] for n in (0, 1)]
    assert shapes == [(5, 5), (1, 1)]
    same = network(conv_kernel=(3, 3)).state_dict()
    assert all(torch.equal(value, same[name]) for name, value in network().state_dict().items())


def test_there_are_as_many_kernels_as_convolutions() -> None:
    with pytest.raises(ValueError, match="one for each of the 3 convolutions, got 2"):
        ConvNet(conv_kernel=(3, 5))
    with pytest.raises(ValueError, match="conv_kernel must be odd"):
        ConvNet(conv_kernel=(3, 4, 5))


@pytest.mark.parametrize("field", ["conv_channels", "hidden"])
def test_a_network_has_at_least_one_layer_of_each_sort(field: str) -> None:
    with pytest.raises(ValidationError, match="at least 1 item"):
        ConvNet.model_validate({field: []})


def test_a_share_of_the_values_is_dropped_and_the_mean_kept() -> None:
    dropped = drop(torch.ones(100, 100), 0.2, seeded())
    values = dropped.unique().tolist()
    assert values == pytest.approx([0.0, 1.25])
    assert (dropped == 0).float().mean().item() == pytest.approx(0.2, abs=0.02)


def test_in_training_the_generator_decides_what_is_dropped() -> None:
    built = network().train()
    first, repeated, other = (built(IMAGES, LABELS, seeded(n)).lengths for n in (0, 0, 1))
    assert torch.equal(first, repeated)
    assert not torch.equal(first, other)


def test_in_evaluation_nothing_is_dropped() -> None:
    built, chance = network().eval(), seeded()
    before = chance.get_state()
    lengths = built(IMAGES, None, chance).lengths
    assert torch.equal(chance.get_state(), before)
    assert torch.equal(network(dropout=0.0).train()(IMAGES, None, chance).lengths, lengths)


def test_another_seed_gives_other_weights() -> None:
    first, second = network(seed=0).state_dict(), network(seed=1).state_dict()
    assert not any(torch.equal(first[n], second[n]) for n in first if n.endswith("weight"))


def test_arms_share_the_initial_weights_of_the_convolutions_that_they_have_in_common() -> None:
    deeper = network(seed=3, conv_channels=(4, 6, 8), pooling=2).state_dict()
    shared = [
        name
        for name in deeper
        if name.startswith(("convolutions.layers.0", "convolutions.layers.1"))
    ]
    assert len(shared) == 4
    assert all(torch.equal(deeper[name], network(seed=3).state_dict()[name]) for name in shared)


def test_cross_entropy_is_that_of_the_networks_own_softmax() -> None:
    outputs = network().eval()(IMAGES, None, seeded())
    expected = -outputs.lengths.gather(1, LABELS.unsqueeze(1)).log().mean()
    assert_close(CrossEntropy(scale=3.0).judge(outputs, LABELS, 0.5), expected)


def test_cross_entropy_learns_from_probabilities_too_small_for_a_number() -> None:
    logits = torch.tensor([[0.0, 1000.0]], requires_grad=True)
    outputs = Outputs(logits.softmax(dim=1), None, logits)
    loss = CrossEntropy().judge(outputs, torch.tensor([0]), 0.5)
    loss.backward()
    assert outputs.lengths[0, 0].item() == 0
    assert loss.item() == 1000
    assert_close(logits.grad, torch.tensor([[-1.0, 1.0]]))


def test_other_losses_take_the_probabilities_as_lengths() -> None:
    outputs = network().eval()(IMAGES, None, seeded())
    expected = MarginLoss().loss(outputs.lengths, LABELS, 0.5)
    assert torch.equal(MarginLoss().judge(outputs, LABELS, 0.5), expected)


def test_a_training_reports_the_cross_entropy_of_the_softmax() -> None:
    training = finished(config(stopping=FixedEpochs(epochs=1)))
    validation = Digits().load("cpu").validation
    probabilities = training.trained().predict(validation.images).lengths
    expected = F.nll_loss(probabilities.log(), validation.labels).item()
    assert training.history[-1].validation_loss == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("loss", [CrossEntropy(), MarginLoss()])
def test_it_learns_the_digits(loss: Any) -> None:
    wider = ConvNet(conv_channels=(8, 8), conv_kernel=3, hidden=(32,))
    settings = small_config(model=wider, loss=loss, stopping=FixedEpochs(epochs=2), batch_size=50)
    assert finished(settings).history[-1].validation_error < 0.3


@pytest.mark.parametrize("done", [0, 1, 2])
def test_a_restored_training_equals_an_unbroken_one_to_the_last_bit(
    tmp_path: Path, done: int
) -> None:
    unbroken, broken = finished(config(), seed=5), Training(config(), seed=5)
    epochs = iter(broken)
    for _ in range(done):
        next(epochs)
    broken.save(tmp_path / "checkpoint")
    restored = Training.restore(tmp_path / "checkpoint", config(), seed=5)
    for _ in restored:
        pass
    losses = [[epoch.train_loss for epoch in training.history] for training in (restored, unbroken)]
    assert losses[0] == losses[1]
    images = Digits().load("cpu").test.images
    assert torch.equal(lengths(restored, images), lengths(unbroken, images))


def lengths(training: Training, images: Tensor) -> Tensor:
    return training.trained().predict(images).lengths


def test_training_neither_minds_nor_moves_the_global_generator() -> None:
    torch.manual_seed(1)
    first = finished(config()).history
    torch.manual_seed(2)
    before = torch.get_rng_state()
    second = finished(config()).history
    assert torch.equal(torch.get_rng_state(), before)
    assert [epoch.train_loss for epoch in first] == [epoch.train_loss for epoch in second]


def test_saved_weights_predict_the_same(tmp_path: Path) -> None:
    training = finished(config(stopping=FixedEpochs(epochs=1)))
    images = Digits().load("cpu").test.images[:20]
    training.trained().save(tmp_path / "weights")
    loaded = Trained.load(tmp_path / "weights", training.config, seed=0).predict(images)
    assert torch.equal(loaded.lengths, lengths(training, images))
    assert torch.equal(loaded.classes, loaded.lengths.argmax(dim=1))
    assert loaded.reconstructions is None


def test_predictions_are_those_of_the_test() -> None:
    training = finished(config(stopping=FixedEpochs(epochs=1)))
    predicted = training.trained().predict(Digits().load("cpu").test.images).classes
    assert torch.equal(predicted, training.test().predictions.long())


def test_parameters_of_a_config_are_counted() -> None:
    convolutions = 4 * 9 + 4 + 6 * 4 * 9 + 6
    linear = (6 * 64 * 16 + 16) + (16 * 12 + 12) + (12 * 10 + 10)
    assert num_parameters(config()) == convolutions + linear
