"""Attacks and evaluations of any module: by hand on a linear one, and as the parts give them."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Literal

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.testing import assert_close

from capsmodel import Trained, Training
from capsmodel.chance import stream
from capsmodel.data import DataSplits, Images
from capsmodel.evaluation import (
    BIM,
    FGSM,
    PGD,
    AdversarialError,
    CapsuleActivity,
    Confidence,
    Confusion,
    DistortedTestError,
    Equivariance,
    Evaluation,
    Findings,
    Pictures,
    ShiftedTestError,
    SquareAttack,
    SwappedRouting,
    TopKError,
    TransferError,
    UndetectedError,
    UnsuitableNetworkError,
    attack,
    examine,
)
from capsmodel.evaluation.attacks import Ball
from capsmodel.evaluation.examined import examined
from capsmodel.evaluation.victim import Victim
from capsmodel.layers import Capsules, PrimaryCapsules
from capsmodel.losses import MarginLoss, SpreadLoss
from capsmodel.metrics import Metric
from capsmodel.models import EfficientCapsNet, Outputs
from capsmodel.reconstruction import FullyConnectedDecoder
from tests.capsmodel.small_config import small_config, small_model

IMAGES = torch.rand(30, 1, 4, 4, generator=torch.Generator().manual_seed(0))
LABELS = torch.arange(30) % 3
LOSS = SpreadLoss()


def linear() -> nn.Sequential:
    network = nn.Sequential(nn.Flatten(), nn.Linear(16, 3))
    weights = torch.randn(3, 17, generator=torch.Generator().manual_seed(1))
    network.load_state_dict({"1.weight": weights[:, :16], "1.bias": weights[:, 16]})
    return network


def gradient_by_hand(network: nn.Sequential, points: Tensor) -> Tensor:
    """Return the gradient of the cross-entropy: the weights of the classes, by their errors."""
    weights, bias = network.state_dict().values()
    errors = (points.flatten(1) @ weights.T + bias).softmax(dim=1) - F.one_hot(LABELS, 3)
    return (errors @ weights).view_as(points)


def is_wrong(network: nn.Module, images: Tensor, labels: Tensor = LABELS) -> Tensor:
    with torch.no_grad():
        return network(images).argmax(dim=1) != labels


def test_fgsm_is_the_printed_formula_where_the_network_was_right() -> None:
    network = linear()
    literal = (IMAGES + 0.05 * gradient_by_hand(network, IMAGES).sign()).clamp(0, 1)
    stays = is_wrong(network, IMAGES).view(-1, 1, 1, 1)
    assert 0 < stays.sum() < 30
    changed = attack(network, IMAGES, LABELS, FGSM(), epsilon=0.05)
    assert_close(changed, torch.where(stays, IMAGES, literal))
    assert_close(attack(network, IMAGES, LABELS, FGSM(), epsilon=0.05, to_last_step=True), literal)


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_pgd_is_its_loop_by_hand(norm: Any) -> None:
    network, epsilon = linear(), 0.2
    start = Ball(norm, epsilon).draw((30, 1, 4, 4), stream(7, "attack", f"{norm} 0.2", "0"))
    points = (IMAGES + start).clamp(0, 1)
    for _ in range(4):
        gradient = gradient_by_hand(network, points)
        if norm == "linf":
            changes = points + 2.5 * epsilon / 4 * gradient.sign() - IMAGES
            changes = changes.clamp(-epsilon, epsilon)
        else:
            norms = gradient.flatten(1).norm(dim=1).view(-1, 1, 1, 1)
            changes = points + 2.5 * epsilon / 4 * gradient / norms - IMAGES
            lengths = changes.flatten(1).norm(dim=1).view(-1, 1, 1, 1)
            changes = changes * (epsilon / lengths).clamp(max=1)
        points = (IMAGES + changes).clamp(0, 1)
    changed = attack(
        network, IMAGES, LABELS, PGD(steps=4), epsilon=epsilon, norm=norm, to_last_step=True, seed=7
    )
    assert_close(changed, points)


@pytest.mark.parametrize(
    "method", [FGSM(), BIM(), PGD(steps=5, restarts=2), SquareAttack(queries=60)]
)
def test_changed_images_stay_in_the_ball_and_fool_the_network(method: Any) -> None:
    network = linear()
    changed = attack(network, IMAGES, LABELS, method, epsilon=0.1)
    assert (changed - IMAGES).abs().max() <= 0.1 + 1e-6
    assert 0 <= changed.min() <= changed.max() <= 1
    assert is_wrong(network, changed).sum() > is_wrong(network, IMAGES).sum()
    assert bool(is_wrong(network, changed)[is_wrong(network, IMAGES)].all())


def test_a_targeted_attack_ends_at_the_next_class() -> None:
    network = linear()
    changed = attack(network, IMAGES, LABELS, epsilon=0.9, is_targeted=True)
    was_right = ~is_wrong(network, IMAGES)
    answers = network(changed).argmax(dim=1)
    assert torch.equal(answers[was_right], ((LABELS + 1) % 3)[was_right])


@pytest.fixture(scope="module")
def trained() -> Trained:
    model = small_model(reconstruction=FullyConnectedDecoder(hidden=(16,)))
    training = Training(small_config(model=model, loss=LOSS), 3)
    assert [*training]
    return training.trained()


@pytest.fixture(scope="module")
def data(trained: Trained) -> DataSplits:
    splits = trained.config.data.load("cpu")
    few = slice(24)
    return DataSplits(splits.train, splits.validation.take(few), splits.test.take(few))


@pytest.mark.parametrize("objective", ["loss", "lengths", "votes"])
@pytest.mark.parametrize("method", [FGSM(), PGD(steps=3, restarts=2)], ids=lambda part: part.kind)
def test_an_attack_breaks_the_images_that_its_evaluation_counts(
    method: Any, objective: Any, trained: Trained, data: DataSplits
) -> None:
    evaluation = AdversarialError(attack=method, epsilons=(0.0, 0.1), objective=objective)
    counted = evaluation.evaluate(trained, data).images["error.epsilon_0.1"].bool()
    changed = attack(
        trained.network,
        data.test.images,
        data.test.labels,
        method,
        objective=objective,
        loss=LOSS,
        seed=trained.seed,
    )
    assert torch.equal(trained.predict(changed).classes != data.test.labels, counted)
    clean = trained.predict(data.test.images).classes != data.test.labels
    assert clean.sum() < counted.sum()


EVALUATIONS: list[Evaluation] = [
    AdversarialError(attack=PGD(steps=2), epsilons=(0.0, 0.1)),
    CapsuleActivity(num_images=6),
    Confidence(),
    Confusion(),
    DistortedTestError(distortion="noise"),
    DistortedTestError(distortion="rotation"),
    Equivariance(),
    Pictures(),
    ShiftedTestError(pixels=1),
    SwappedRouting(iterations=(1, 2)),
    TopKError(),
    TransferError(attack=FGSM(), epsilons=(0.0, 0.1)),
    UndetectedError(attack=FGSM(), epsilons=(0.0, 0.1)),
]


@pytest.mark.parametrize("evaluation", EVALUATIONS, ids=lambda part: part.kind)
def test_a_module_has_the_findings_of_its_trial(
    evaluation: Evaluation, trained: Trained, data: DataSplits
) -> None:
    expected = evaluation.evaluate(trained, data)
    found = examine(
        trained.network,
        evaluation,
        data.test.images,
        data.test.labels,
        validation=(data.validation.images, data.validation.labels),
        loss=LOSS,
        seed=trained.seed,
    )
    assert found.metrics == expected.metrics
    assert found.left_out == expected.left_out
    assert found.images.keys() == expected.images.keys()
    assert found.arrays.keys() == expected.arrays.keys()
    for of_module, of_trial in ((found.images, expected.images), (found.arrays, expected.arrays)):
        assert all(torch.equal(of_module[name], value) for name, value in of_trial.items())


class Own(nn.Module):
    """A module that returns some part of what a network does."""

    def __init__(self, network: nn.Module, chosen: Callable[[Outputs], Any]) -> None:
        super().__init__()
        self.network = network
        self.chosen = chosen

    def forward(self, images: Tensor) -> Any:
        return self.chosen(self.network(images))


@pytest.mark.parametrize(
    ("returns", "chosen"),
    [
        (None, Outputs._make),
        ("lengths", attrgetter("lengths")),
        ("poses", attrgetter("poses")),
        ("logits", attrgetter("lengths")),  # whose softmax orders classes alike
    ],
    ids=str,
)
def test_a_module_of_ones_own_is_judged_by_what_it_returns(
    returns: Any, chosen: Any, trained: Trained, data: DataSplits
) -> None:
    evaluation = DistortedTestError(distortion="occlusion")
    expected = evaluation.evaluate(trained, data).metrics
    module = Own(trained.network, chosen)
    metrics = examine(
        module, evaluation, data.test.images, data.test.labels, returns=returns
    ).metrics
    names = [name for name in expected if name.startswith("error")]
    assert {name: metrics[name] for name in names} == {name: expected[name] for name in names}


def stack(routing: str = "dynamic") -> nn.Sequential:
    """Layers of this package in a module that is none of its networks."""
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(0)
        return nn.Sequential(
            PrimaryCapsules(1, out_types=4, pose_dim=4, kernel_size=2, stride=2),
            Capsules(in_caps=16, in_dim=4, out_caps=3, out_dim=4, routing=routing),
        )


def test_the_routing_of_capsules_in_a_plain_module_is_swapped() -> None:
    found = examine(
        stack(), SwappedRouting(iterations=(1, 3)), IMAGES, LABELS, validation=(IMAGES, LABELS)
    )
    assert found.metrics["changed.iterations_3"] == 0
    plain = stack("uniform")
    answers = [network(IMAGES).activations.argmax(dim=1) for network in (stack(), plain)]
    changed = (answers[0] != answers[1]).double().mean().item()
    assert found.metrics["changed.iterations_1"] == pytest.approx(changed)


def test_the_gradient_of_log_odds_goes_by_the_squash_of_the_network() -> None:
    """The exponential squash of an Efficient-CapsNet, which only its routers tell of."""
    model = EfficientCapsNet(
        conv_channels=(4, 8),
        conv_kernel=(3, 3),
        conv_stride=(1, 1),
        primary_kernel=4,
        primary_dim=4,
    )
    network = Training(small_config(model=model), 0).trained()
    split = Images(F.interpolate(IMAGES[:8], 8), torch.arange(8))
    of_trial, of_module = (
        Victim(each, split, objective="lengths").judge_and_differentiate(split.images, split.labels)
        for each in (network, examined(network.network, split.images, split.labels))
    )
    assert torch.equal(of_module.gradient, of_trial.gradient)


class Brightest(Evaluation):
    """An evaluation of one's own, which writes into what it is given."""

    kind: Literal["brightest"] = "brightest"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return (self.metric("brightest"),)

    def evaluate(self, trained: Trained, data: DataSplits) -> Findings:
        for weight in trained.network.parameters():
            weight.detach().zero_()
        return Findings(metrics={"brightest": float(data.test.images.max())})


def test_an_evaluation_of_ones_own_examines_a_copy() -> None:
    network = linear()
    found = examine(network, Brightest(), IMAGES, LABELS)
    assert found.metrics == {"brightest": float(IMAGES.max())}
    assert all(bool(weight.any()) for weight in network.parameters())


def test_a_module_is_left_as_it_was() -> None:
    network = nn.Sequential(linear(), nn.Dropout(0.5), nn.BatchNorm1d(3))
    network[2].eval()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    chance = torch.random.get_rng_state()
    changed = attack(network, IMAGES, LABELS, PGD(steps=2))
    examine(network, DistortedTestError(), IMAGES, LABELS)
    assert [module.training for module in network] == [True, True, False]
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert all(weight.grad is None for weight in network.parameters())
    assert torch.equal(torch.random.get_rng_state(), chance)
    assert not changed.requires_grad


def test_modes_are_restored_after_an_error_too() -> None:
    network = Own(linear(), lambda logits: (logits, None))
    with pytest.raises(ValueError, match=r"^The module 'Own' must return logits.*a tuple of 2"):
        attack(network, IMAGES, LABELS)
    assert network.training
    assert network.network.training


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_an_attack_follows_gradients_where_none_are_kept(mode: Any) -> None:
    network, expected = linear(), attack(linear(), IMAGES, LABELS)
    with mode():
        assert torch.equal(attack(network, IMAGES.clone(), LABELS), expected)


def test_all_chance_is_of_the_seed() -> None:
    network = stack("random")
    first, again, other = (
        attack(network, IMAGES, LABELS, PGD(steps=2), seed=seed) for seed in (0, 0, 1)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_a_network_in_double_precision_is_attacked_in_it() -> None:
    changed = attack(linear().double(), IMAGES.double(), LABELS)
    assert changed.dtype is torch.float64


def test_labels_of_several_classes_are_judged_by_the_sigmoid_loss() -> None:
    labels = torch.rand(30, 3, generator=torch.Generator().manual_seed(0)) < 0.5
    labels[:, 0] |= ~labels.any(dim=1)
    network = linear()
    weights, bias = network.state_dict().values()
    beliefs = (IMAGES.flatten(1) @ weights.T + bias).sigmoid()
    gradient = ((beliefs - labels.float()) @ weights).view_as(IMAGES)
    changed = attack(network, IMAGES, labels, FGSM(), epsilon=0.05, to_last_step=True)
    assert_close(changed, (IMAGES + 0.05 * gradient.sign()).clamp(0, 1))


def refused(match: str, *arguments: Any, network: nn.Module | None = None, **options: Any) -> None:
    usual: tuple[Any, ...] = (IMAGES, LABELS, FGSM())
    images, labels, method = (*arguments, *usual[len(arguments) :])
    with pytest.raises(ValueError, match=match):
        attack(network or linear(), images, labels, method, **options)


@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_is_refused_in_a_sentence() -> None:
    refused(r"images must be floating-point numbers .* got torch.uint8", IMAGES.byte())
    refused(r"images must have values from 0 to 1, got 0.\d+ to 2.\d+: let", IMAGES * 3)
    refused(r"images must have values from 0 to 1, got nan to nan", IMAGES * torch.nan)
    refused(r"labels of the images must be one for each of 30 images, got 29", IMAGES, LABELS[:29])
    refused(r"The label of image 0 of the images is 5, which is no class", IMAGES, LABELS + 5)
    refused(
        r"norm must be 'linf' for the attack 'square'", IMAGES, LABELS, SquareAttack(), norm="l2"
    )
    refused(r"to_last_step must be false", IMAGES, LABELS, SquareAttack(), to_last_step=True)
    refused(r"epsilon", epsilon=-0.1)
    refused(
        r"The objective 'votes' is for capsules .* got the model 'Sequential'", objective="votes"
    )
    refused(r"class_weights must be 3", network=stack(), loss=MarginLoss(class_weights=(1.0, 2.0)))
    refused(r"The module 'Sequential' must return poses", returns="poses")
    refused(r"is on|on the network's device", IMAGES.to("meta"))


@pytest.mark.parametrize(
    ("evaluation", "sentence"),
    [
        (SwappedRouting(), "for routings with iterations, .* got the model 'Sequential' without"),
        (CapsuleActivity(), "for capsules under the routings .* got the model 'Sequential'"),
        (Equivariance(), "got the model 'Sequential' without|'Sequential'"),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_what_a_module_lacks_is_told(evaluation: Evaluation, sentence: str) -> None:
    with pytest.raises(UnsuitableNetworkError, match=sentence):
        examine(linear(), evaluation, IMAGES, LABELS, validation=(IMAGES, LABELS))


def test_a_detector_needs_a_decoder_and_a_validation_split() -> None:
    detector = UndetectedError()
    with pytest.raises(UnsuitableNetworkError, match="'Sequential' without a decoder"):
        examine(linear(), detector, IMAGES, LABELS, validation=(IMAGES, LABELS))
    with pytest.raises(ValueError, match=r"looks at validation images: hand validation="):
        examine(linear(), detector, IMAGES, LABELS)


def test_an_evaluation_that_needs_another_trial_is_refused() -> None:
    with pytest.raises(ValueError, match=r"looks at other trials of a sweep, 0{20}"):
        examine(linear(), TransferError(source="0" * 20), IMAGES, LABELS)


def test_an_evaluation_of_one_class_refuses_labels_of_several() -> None:
    with pytest.raises(ValueError, match="'confusion' cannot do labels of the form 'classes'"):
        examine(linear(), Confusion(), IMAGES, torch.ones(30, 3, dtype=torch.bool))
