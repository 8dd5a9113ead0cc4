"""Attacks against laws that hold for any network, and exactly for a linear one."""

from itertools import pairwise
from typing import Any, Literal

import pytest
import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor, nn

from capsmodel import Trained, Training, TrainingConfig
from capsmodel.data import DataSplits, Images
from capsmodel.evaluation import (
    BIM,
    FGSM,
    PGD,
    AdversarialError,
    Attack,
    SquareAttack,
    adversarial_error,
    findings_of,
)
from capsmodel.evaluation.attacks import Ball, Broken, Norm
from capsmodel.evaluation.victim import Victim
from capsmodel.initialised import InitialisedModule
from capsmodel.losses import CrossEntropy, Loss, MarginLoss
from capsmodel.models import Model, Network, Outputs
from capsmodel.routing import DynamicRouting, EMRouting, RandomRouting, UniformRouting
from capsmodel.squash import ExponentialSquash
from tests.capsmodel.small_config import small_config, small_model

CONFIG = small_config()
NINE = Images(torch.rand(9, 1, 8, 8, generator=torch.Generator().manual_seed(0)), torch.arange(9))
EPSILONS = (0.0, 0.005, 0.01, 0.02, 0.05)


class Weights(InitialisedModule):
    """A weight for each pixel."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(64))

    def initialise(self, generator: torch.Generator | None) -> None:
        nn.init.normal_(self.weight, generator=generator)


class Linear(Model):
    """Two classes that a plane parts; no image is of the others."""

    kind: Literal["linear"] = "linear"
    steepness: float = 1.0
    is_detached: bool = False

    def build(self, image_shape: tuple[int, int, int], num_classes: int) -> Network:
        return LinearNetwork(self, image_shape, num_classes)


class LinearNetwork(Network):
    def __init__(self, settings: Linear, shape: tuple[int, int, int], num_classes: int) -> None:
        super().__init__(shape, num_classes)
        self.settings = settings
        self.weights = Weights()

    def forward(
        self,
        images: Float[Tensor, "batch channels height width"],
        labels: Integer[Tensor, " batch"] | None = None,
        generator: torch.Generator | None = None,
    ) -> Outputs:
        del labels, generator
        seen = images.detach() if self.settings.is_detached else images
        heights = (seen.flatten(1) - 0.5) @ self.weights.weight
        beliefs = torch.sigmoid(self.settings.steepness * torch.stack([heights, -heights], dim=1))
        return Outputs(torch.cat([beliefs, beliefs.new_zeros(len(images), 8)], dim=1), None)

    def penalty(self, outputs: Outputs, images: Tensor) -> Tensor:
        del outputs
        return images.new_zeros(())


def linear(loss: Loss | None = None, **settings: Any) -> Trained:
    config = TrainingConfig(model=Linear(**settings), loss=loss or CrossEntropy())
    return Training(config, seed=0).trained()


def grey_splits(trained: Trained) -> tuple[DataSplits, Tensor]:
    """Return images far from black and white, and how far each is from the plane that parts them.

    Every tenth has the wrong label.
    """
    generator = torch.Generator().manual_seed(1)
    images = 0.5 + 0.08 * torch.randn(300, 1, 8, 8, generator=generator).clamp(-2, 2)
    weight = next(trained.network.parameters()).detach()
    heights = (images.flatten(1) - 0.5) @ weight
    labels = (heights < 0).long()
    labels[::10] = 1 - labels[::10]
    split = Images(images, labels)
    return DataSplits(split, split, split), heights.abs() / weight.abs().sum()


@pytest.fixture(scope="module")
def trained() -> Trained:
    training = Training(CONFIG, seed=3)
    for _ in training:
        pass
    return training.trained()


@pytest.fixture(scope="module")
def data() -> DataSplits:
    return CONFIG.data.load("cpu")


@pytest.mark.parametrize("attack", [FGSM(), BIM(steps=4), PGD(steps=8)], ids=lambda a: a.kind)
@pytest.mark.parametrize("objective", ["loss", "lengths"])
def test_a_plane_is_crossed_exactly_where_the_largest_change_reaches_it(
    attack: Attack, objective: Literal["loss", "lengths"]
) -> None:
    network = linear()
    splits, distances = grey_splits(network)
    evaluation = AdversarialError(attack=attack, epsilons=EPSILONS, objective=objective)
    findings = evaluation.evaluate(network, splits)
    was_wrong = torch.arange(300) % 10 == 0
    for epsilon in EPSILONS:
        is_broken = findings.images[f"error.epsilon_{epsilon:g}"].bool()
        is_clear = (distances - epsilon).abs() > 1e-5
        assert torch.equal(is_broken[is_clear], ((distances < epsilon) | was_wrong)[is_clear])
        num_new = int((is_broken & ~was_wrong).sum())
        assert findings.metrics[f"success.epsilon_{epsilon:g}"] == pytest.approx(num_new / 270)
    assert findings.metrics["error.epsilon_0"] == pytest.approx(0.1)
    assert 0.2 < findings.metrics["error.epsilon_0.01"] < 0.95


def test_the_euclidean_ball_reaches_the_plane_along_its_normal() -> None:
    network = linear()
    splits, distances = grey_splits(network)
    weight = next(network.network.parameters()).detach()
    euclidean = distances * weight.abs().sum() / weight.norm()
    evaluation = AdversarialError(attack=FGSM(), epsilons=(0.0, 0.03, 0.1), norm="l2")
    findings = evaluation.evaluate(network, splits)
    was_wrong = torch.arange(300) % 10 == 0
    for epsilon in (0.03, 0.1):
        is_broken = findings.images[f"error.epsilon_{epsilon:g}"].bool()
        is_clear = (euclidean - epsilon).abs() > 1e-4
        assert torch.equal(is_broken[is_clear], ((euclidean < epsilon) | was_wrong)[is_clear])


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_points_stay_in_the_ball_and_in_the_range_of_grey_values(norm: Norm) -> None:
    generator = torch.Generator().manual_seed(0)
    centres = torch.rand(50, 2, 4, 4, generator=generator)
    ball = Ball(norm, 0.3)
    for points in (
        centres + torch.randn(centres.shape, generator=generator),
        centres + ball.draw(tuple(centres.shape), generator),
    ):
        changes = (projected := ball.project(points, centres)) - centres
        assert projected.min() >= 0
        assert projected.max() <= 1
        sizes = changes.flatten(1).norm(dim=1, p=torch.inf if norm == "linf" else 2)
        assert sizes.max() <= 0.3 + 1e-6
        torch.testing.assert_close(ball.project(projected, centres), projected)
    assert sizes.max() > 0.2
    assert torch.equal(ball.steepest(torch.zeros_like(centres)), torch.zeros_like(centres))


def test_half_the_range_reaches_the_grey_image() -> None:
    centres = torch.rand(5, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    grey = torch.full_like(centres, 0.5)
    torch.testing.assert_close(Ball("linf", 0.5).project(grey, centres), grey)


@pytest.fixture
def _soon_strong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the strong attack take 10 steps for 100 and 2 restarts for 5."""
    monkeypatch.setattr(adversarial_error, "_STRONG", PGD(steps=10, restarts=2))


@pytest.mark.usefixtures("_soon_strong")
@pytest.mark.parametrize(
    "attack", [FGSM(), PGD(steps=5), SquareAttack(queries=20)], ids=lambda a: a.kind
)
def test_the_curve_starts_at_the_plain_error_and_never_falls(
    attack: Attack, trained: Trained, data: DataSplits
) -> None:
    evaluation = AdversarialError(attack=attack, epsilons=(0.0, 0.05, 0.1), num_images=40)
    findings = evaluation.evaluate(trained, data)
    first = data.test.take(slice(40))
    plain = trained.predict(first.images).classes != first.labels
    curve = [values for name, values in findings.images.items() if name.startswith("error.")]
    assert torch.equal(curve[0].bool(), plain)
    assert all(bool((weaker <= stronger).all()) for weaker, stronger in pairwise(curve))
    assert curve[-1].sum() > curve[0].sum()


def test_more_restarts_and_more_steps_break_more(trained: Trained, data: DataSplits) -> None:
    errors = [
        AdversarialError(attack=attack, epsilons=(0.0, 0.1)).evaluate(trained, data).images
        for attack in (PGD(steps=3), PGD(steps=3, restarts=3))
    ]
    single, restarted = (images["error.epsilon_0.1"] for images in errors)
    assert bool((single <= restarted).all())


def test_restarts_end_where_every_image_is_broken(trained: Trained, data: DataSplits) -> None:
    attack = PGD(steps=10, restarts=9)
    evaluation = AdversarialError(attack=attack, epsilons=(0.0, 0.6), num_images=10)
    assert evaluation.evaluate(trained, data).metrics["error.epsilon_0.6"] == 1


@pytest.mark.usefixtures("_soon_strong")
def test_a_stronger_attack_is_made_at_one_point(trained: Trained, data: DataSplits) -> None:
    evaluation = AdversarialError(
        attack=FGSM(), epsilons=(0.0, 0.05, 0.1, 0.2), strong_epsilon=0.1, num_images=20
    )
    findings = evaluation.evaluate(trained, data)
    assert [*findings.metrics] == [metric.name for metric in evaluation.metrics]
    assert bool((findings.images["error.epsilon_0.1"] <= findings.images["strong_error"]).all())
    assert evaluation.primary == "error"


class _Harmless(PGD):
    def broken(self, victim: Victim, rows: Int[Tensor, " images"], ball: Ball) -> Broken:
        del victim, ball
        return Broken(torch.zeros_like(rows).bool(), torch.zeros_like(rows).bool())


def test_the_stronger_attack_keeps_what_the_curve_broke_up_to_its_own_epsilon(
    trained: Trained, data: DataSplits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adversarial_error, "_STRONG", _Harmless())
    evaluation = AdversarialError(
        attack=FGSM(), epsilons=(0.0, 0.2, 0.5, 0.9), strong_epsilon=0.5, num_images=40
    )
    broken = evaluation.evaluate(trained, data).images
    curve = [broken[f"error.epsilon_{epsilon:g}"].sum() for epsilon in (0.2, 0.5, 0.9)]
    assert curve == sorted(set(curve)), "each point breaks more images than the one before"
    assert torch.equal(broken["strong_error"], broken["error.epsilon_0.5"])


def test_a_targeted_attack_is_after_the_next_class(trained: Trained, data: DataSplits) -> None:
    evaluation = AdversarialError(is_targeted=True, epsilons=(0.0, 0.3), attack=PGD(steps=10))
    metrics = evaluation.evaluate(trained, data).metrics
    assert metrics["success.epsilon_0"] == 0
    assert 0 < metrics["success.epsilon_0.3"] < metrics["error.epsilon_0.3"]


def test_a_loss_that_is_met_has_no_gradient_and_log_odds_have_one() -> None:
    network = linear(loss=MarginLoss(), steepness=8.0)
    splits, distances = grey_splits(network)
    by_loss, by_lengths = (
        AdversarialError(attack=FGSM(), epsilons=EPSILONS, objective=objective).evaluate(
            network, splits
        )
        for objective in ("loss", "lengths")
    )
    assert by_loss.metrics["zero_gradients"] > 0.3
    assert by_lengths.metrics["zero_gradients"] == 0
    assert by_loss.metrics["error.epsilon_0.02"] < by_lengths.metrics["error.epsilon_0.02"]
    share = ((distances < 0.02) | (torch.arange(300) % 10 == 0)).double().mean().item()
    assert by_lengths.metrics["error.epsilon_0.02"] == pytest.approx(share, abs=0.01)


def test_the_square_attack_says_where_gradients_mislead() -> None:
    network = linear(loss=MarginLoss(), steepness=8.0)
    splits, _ = grey_splits(network)
    evaluation = AdversarialError(
        attack=SquareAttack(queries=60), epsilons=(0.0, 0.02), num_images=100
    )
    findings = evaluation.evaluate(network, splits)
    assert findings.metrics["masked"] > 0.1
    few, masked = findings.left_out
    assert few == "Only the first 100 of 300 test images are attacked."
    assert masked.startswith(
        "Masked: at epsilon = 0.02 the attack 'square', which needs no gradient"
    )
    honest = evaluation.model_copy(update={"objective": "lengths"}).evaluate(network, splits)
    assert honest.metrics["masked"] == 0
    assert len(honest.left_out) == 1


def test_a_network_without_gradient_is_refused_but_for_the_square_attack() -> None:
    network = linear(is_detached=True)
    splits, _ = grey_splits(network)
    for evaluation in (AdversarialError(), AdversarialError(attack=FGSM(), objective="lengths")):
        with pytest.raises(
            ValueError, match=r"'linear' has no gradient .* take the attack 'square'"
        ):
            evaluation.evaluate(network, splits)


@pytest.mark.parametrize("routing", [DynamicRouting, EMRouting])
def test_gradients_flow_through_all_rounds_whatever_the_training_did(routing: Any) -> None:
    networks = [
        Training(small_config(model=small_model(routing=routing(gradient=rounds))), 0).trained()
        for rounds in ("all", "last")
    ]
    images, rows = NINE, torch.arange(9)
    full, stopped = (
        Victim(network, images).judge_and_differentiate(images.images, rows).gradient
        for network in networks
    )
    torch.testing.assert_close(full, stopped)
    points = images.images.clone().requires_grad_()
    networks[1].outputs(points).lengths.sum().backward()
    other = images.images.clone().requires_grad_()
    networks[0].outputs(other).lengths.sum().backward()
    assert points.grad is not None
    assert other.grad is not None
    assert not torch.allclose(points.grad, other.grad)


def test_random_routing_is_attacked_by_a_mean_of_draws() -> None:
    network = Training(small_config(model=small_model(routing=RandomRouting())), 0).trained()
    images, rows = NINE, torch.arange(9)
    victim = Victim(network, images, objective="lengths")
    first, second = (
        victim.judge_and_differentiate(images.images, rows, step).gradient for step in (0, 1)
    )
    assert not torch.equal(first, second)
    assert (first * second).sum() > 0.9 * first.norm() * second.norm()
    judgement = victim.judge_and_differentiate(images.images, rows)
    assert torch.equal(judgement.is_wrong, network.predict(images.images).classes != images.labels)


def test_votes_are_attacked_as_if_each_child_were_shared_equally() -> None:
    """By hand: the squashed sum of a tenth of each vote, whose log-odds are 2 ln of its length."""
    network = Training(small_config(model=small_model()), 0).trained()
    parts: Any = network.network
    points = NINE.images.clone().requires_grad_()
    votes = parts.capsules.votes(parts.primary(parts.convolution(points)))
    odds = 2 * (votes.sum(dim=1) / 10).norm(dim=2).log()
    of_label = odds.diagonal()
    others = odds.masked_fill(torch.eye(9, 10, dtype=torch.bool), -torch.inf).amax(dim=1)
    (others - of_label).sum().backward()
    victim = Victim(network, NINE, objective="votes")
    judgement = victim.judge_and_differentiate(NINE.images, torch.arange(9))
    torch.testing.assert_close(judgement.gradient, points.grad, rtol=1e-3, atol=1e-5)
    assert torch.equal(judgement.is_wrong, network.predict(NINE.images).classes != NINE.labels)


@pytest.mark.parametrize(
    "routing",
    [UniformRouting(), DynamicRouting(iterations=1), EMRouting(iterations=1)],
    ids=["uniform", "dynamic", "em"],
)
def test_routing_of_one_round_is_attacked_alike_by_votes_and_lengths(routing: Any) -> None:
    network = Training(small_config(model=small_model(routing=routing)), 0).trained()
    by_votes, by_lengths = (
        Victim(network, NINE, objective=objective).judge_and_differentiate(
            NINE.images, torch.arange(9)
        )
        for objective in ("votes", "lengths")
    )
    torch.testing.assert_close(by_votes.gradient, by_lengths.gradient)


def test_an_attack_on_votes_is_judged_with_routing(trained: Trained, data: DataSplits) -> None:
    evaluation = AdversarialError(epsilons=(0.0, 0.1), objective="votes", num_images=60)
    findings = evaluation.evaluate(trained, data)
    first = data.test.take(slice(60))
    plain = trained.predict(first.images).classes != first.labels
    assert torch.equal(findings.images["error.epsilon_0"].bool(), plain)
    assert findings.metrics["error.epsilon_0.1"] > 0.3
    assert findings.metrics["zero_gradients"] == 0


def test_a_network_without_votes_has_no_figures_but_a_reason() -> None:
    network = linear()
    findings = findings_of(AdversarialError(objective="votes"), network, grey_splits(network)[0])
    assert not findings.metrics
    (reason,) = findings.left_out
    assert reason.startswith("The objective 'votes' is for capsules under the routings dynamic")


def test_log_odds_of_lengths_order_classes_as_the_lengths_do() -> None:
    routing = DynamicRouting(squash=ExponentialSquash())
    for model in (small_model(), small_model(routing=routing), small_model(routing=EMRouting())):
        network = Training(small_config(model=model), 0).trained()
        is_wrong, _, nearness = Victim(network, NINE).judge_and_measure(
            NINE.images, torch.arange(9)
        )
        assert torch.equal(is_wrong, nearness > 0)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"epsilons": (0.1, 0.1)}, "needs two or more values of epsilon, ascending"),
        ({"attack": "square", "norm": "l2"}, "norm must be 'linf' for the attack 'square'"),
        ({"attack": "square", "strong_epsilon": 0.1}, "strong_epsilon must be 0"),
        ({"attack": "square", "objective": "votes"}, "objective must be 'loss' or 'lengths'"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        AdversarialError(**settings)
