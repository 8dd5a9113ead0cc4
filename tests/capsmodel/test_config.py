import subprocess
import sys
from collections.abc import Callable
from typing import ClassVar, Literal

import pytest

from capsmodel import Training, TrainingConfig, build_model, num_parameters
from capsmodel.augmentation import Shift
from capsmodel.config import num_multiply_adds, why_unbuildable
from capsmodel.data import Digits
from capsmodel.losses import LOSSES, CrossEntropy, MarginLoss, Sigmoid, SpreadLoss
from capsmodel.models import MODELS, CapsNet, Network
from capsmodel.routing import ROUTINGS, DynamicRouting, HeinsenRouting, RandomRouting
from tests.capsmodel.small_config import small_config, small_model


def test_a_config_comes_back_equal_from_json() -> None:
    config = small_config(
        model=small_model(routing=RandomRouting(low=0.5)),
        loss=CrossEntropy(scale=3.0),
        augmentation=Shift(pixels=1),
    )
    assert TrainingConfig.model_validate_json(config.model_dump_json()) == config


def test_the_defaults_name_every_part_that_may_have_alternatives() -> None:
    kinds = {
        name: value["kind"]
        for name, value in TrainingConfig().model_dump(mode="json").items()
        if isinstance(value, dict)
    }
    assert kinds == {
        "data": "digits",
        "augmentation": "none",
        "model": "capsnet",
        "loss": "margin",
        "optimiser": "adam",
        "stopping": "fixed_epochs",
    }


def test_a_model_is_built_without_storage() -> None:
    assert all(parameter.is_meta for parameter in build_model(small_config()).parameters())


def test_parameters_are_counted() -> None:
    convolution = 8 * 9 + 8
    primary = 8 * 8 * 9 + 8
    capsules = (2 * 4) * 4 * (10 * 4)  # two types at 2 x 2 places
    decoder = 40 * 16 + 16 + 16 * 64 + 64
    assert num_parameters(small_config()) == convolution + primary + capsules + decoder


def test_multiply_adds_of_one_image_are_those_counted_by_hand() -> None:
    convolution = 6 * 6 * 8 * 9  # 6 by 6 places, 8 channels, a kernel of 3 by 3
    primary = 2 * 2 * 8 * (8 * 9)
    votes = 8 * 4 * (10 * 4)
    sums = 8 * 10 * 4  # of the votes of 8 capsules; the shares of the first round are all equal
    decoder = 40 * 16 + 16 * 64
    for iterations in (1, 3):
        routing = (iterations - 1) * 2 * sums
        counted = num_multiply_adds(
            small_config(model=small_model(routing=DynamicRouting(iterations=iterations)))
        )
        assert counted == convolution + primary + votes + routing + decoder


@pytest.mark.parametrize("routing", ROUTINGS)
def test_multiply_adds_are_counted_with_each_routing(routing: type) -> None:
    assert num_multiply_adds(small_config(model=small_model(routing=routing()))) > 7_000


@pytest.mark.parametrize("model", MODELS)
def test_multiply_adds_are_counted_of_each_model(model: type) -> None:
    assert num_multiply_adds(TrainingConfig(data=Digits(padding=12), model=model())) > 1_000_000


def test_multiply_adds_hold_a_run_of_the_decoder_for_each_class_of_an_image() -> None:
    pairs = [
        num_multiply_adds(TrainingConfig(data="multi_mnist", model=CapsNet(reconstruction=decoder)))
        for decoder in ("none", "fully_connected")
    ]
    layers = 160 * 512 + 512 * 1024 + 1024 * 36 * 36
    assert pairs[1] - pairs[0] == 2 * layers


def test_images_too_small_for_the_model_are_refused_when_it_is_built() -> None:
    with pytest.raises(ValueError, match="does not fit 8 pixels"):
        num_parameters(TrainingConfig())


def test_a_batch_has_at_least_one_image() -> None:
    with pytest.raises(ValueError, match="batch_size must be an integer at least 1, got 0"):
        TrainingConfig(batch_size=0)


def test_settings_are_known_without_loading_the_library_of_the_data() -> None:
    program = "import sys, capsmodel; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_model_is_built_once_for_configs_that_differ_in_other_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    build, built = CapsNet.build, list[CapsNet]()
    monkeypatch.setattr(CapsNet, "build", lambda model, *_: built.append(model) or build(model, *_))
    few, many = (CapsNet(conv_channels=number) for number in (101, 103))
    for batch_size in (10, 20):
        for model in (few, many):
            config = TrainingConfig(data="mnist", model=model, batch_size=batch_size)
            assert why_unbuildable(config) == ""
            assert num_parameters(config) > 0
    assert built == [few, many]


class EditedNet(CapsNet):
    """A user's own network, whose code is edited while the process lives."""

    kind: Literal["edited"] = "edited"
    channels: ClassVar[int] = 3

    def build(self, image_shape: tuple[int, int, int], num_classes: int) -> Network:
        same = self.model_copy(update={"conv_channels": self.channels})
        return CapsNet.build(same, image_shape, num_classes)


@pytest.mark.parametrize("count", [num_parameters, num_multiply_adds])
def test_a_users_network_is_counted_as_its_code_is_now(
    monkeypatch: pytest.MonkeyPatch, count: Callable[[TrainingConfig], int]
) -> None:
    config = TrainingConfig(data="mnist").model_copy(update={"model": EditedNet()})
    before = count(config)
    monkeypatch.setattr(EditedNet, "channels", 4)
    assert count(config) > before


class ListedNet(CapsNet):
    """A user's own network with a setting that has no hash."""

    kind: Literal["listed"] = "listed"
    listed: list[int]


def test_a_model_whose_settings_have_no_hash_is_built_too() -> None:
    config = TrainingConfig().model_copy(update={"model": ListedNet(conv_kernel=99, listed=[0])})
    with pytest.raises(TypeError, match="unhashable"):
        hash(config.model)
    assert "99" in why_unbuildable(config)


def of_scores(**changes: object) -> TrainingConfig:
    return small_config(
        model=small_model(routing=HeinsenRouting(), reconstruction="none"), **changes
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_scores_of_classes_are_judged_by_a_loss_of_logits_alone(loss: type) -> None:
    config = of_scores(loss=loss())
    if loss in {CrossEntropy, Sigmoid}:
        assert why_unbuildable(config) == ""
        Training(config, seed=0)
        return
    sentence = (
        f"The loss '{config.loss.kind}' judges lengths of class capsules, but the routing "
        f"'heinsen' gives them scores, the logits of a softmax: set loss=cross_entropy or "
        f"loss=sigmoid, or choose another routing."
    )
    assert why_unbuildable(config) == sentence
    with pytest.raises(ValueError, match="judges lengths of class capsules") as refused:
        Training(config, seed=0)
    assert str(refused.value) == sentence
    assert build_model(config), "a network that was trained so can still be loaded"


class OwnLoss(MarginLoss):
    """A user's own loss of lengths."""

    kind: Literal["own"] = "own"  # pyright: ignore[reportIncompatibleVariableOverride]


def test_a_loss_of_ones_own_sees_lengths_unless_it_judges_outputs() -> None:
    assert "The loss 'own' judges lengths" in why_unbuildable(of_scores(loss=OwnLoss()))


@pytest.mark.parametrize(
    "routing", [routing for routing in ROUTINGS if routing is not HeinsenRouting]
)
@pytest.mark.parametrize("loss", [MarginLoss, SpreadLoss])
def test_every_other_routing_takes_a_loss_of_lengths(routing: type, loss: type) -> None:
    assert why_unbuildable(small_config(model=small_model(routing=routing()), loss=loss())) == ""
