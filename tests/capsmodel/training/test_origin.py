"""Trainings that are made to go wrong in a known place, and what is said of it."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Literal

import pytest
import torch
from jaxtyping import Float, Int
from torch import Tensor

from capsmodel import Training
from capsmodel.augmentation import NoAugmentation
from capsmodel.losses import Loss, MarginLoss
from capsmodel.models import ConvNet
from capsmodel.optimisers import Adam
from capsmodel.routing import VectorRouting
from capsmodel.training.origin import Origin
from tests.capsmodel.small_config import small_config, small_model


def diverged(folder: Path, **changes: Any) -> tuple[Training, Path | None]:
    """Return a training after its first epoch that is not finite, and what was saved before."""
    training = Training(small_config(**changes), seed=0)
    before: Path | None = None
    for metrics in training:
        if not math.isfinite(metrics.train_loss + metrics.validation_loss):
            break
        before = folder / f"{metrics.epoch}.safetensors"
        training.save(before)
    return training, before


def origin_of(folder: Path, **changes: Any) -> tuple[int, str]:
    """Return the epoch that is not finite, and its origin in words."""
    training, before = diverged(folder, **changes)
    return training.epoch, str(training.find_origin(before))


def test_a_learning_rate_that_is_too_large_overflows_a_convolution(tmp_path: Path) -> None:
    assert origin_of(tmp_path, optimiser=Adam(learning_rate=1e30)) == (
        1,
        "step 2, in primary.convolution (its output; inputs were finite)",
    )


def test_it_is_found_in_other_networks_too(tmp_path: Path) -> None:
    model = ConvNet(conv_channels=(8,), conv_kernel=3, hidden=(16,))
    epoch, origin = origin_of(tmp_path, model=model, optimiser=Adam(learning_rate=1e30))
    assert epoch == 1
    assert origin.startswith("step 2, in classifier.")


class Late(Loss):
    """A loss that is no number after a share of the training, or in evaluations."""

    kind: Literal["late"] = "late"
    after: float = 2.0
    in_evaluations: bool = False

    def loss(
        self,
        lengths: Float[Tensor, "batch classes"],
        labels: Int[Tensor, " batch"],
        progress: float,
    ) -> Float[Tensor, ""]:
        is_spoilt = self.in_evaluations and torch.is_inference_mode_enabled()
        spoilt = math.nan if is_spoilt or progress > self.after else 1.0
        return spoilt * MarginLoss().loss(lengths, labels, progress)


def test_a_later_epoch_is_trained_once_more_from_what_was_saved_before_it(tmp_path: Path) -> None:
    # 7 steps in each of 3 epochs: progress is (7 + 2) / 21 in the third step of the second.
    assert origin_of(tmp_path, loss=Late(after=8.5 / 21)) == (
        2,
        "step 3, in the loss (its value; outputs of the network were finite)",
    )


def test_a_loss_of_the_validation_alone_is_found_there(tmp_path: Path) -> None:
    assert origin_of(tmp_path, loss=Late(in_evaluations=True)) == (
        1,
        "validation batch 1, in the loss (its value; outputs of the network were finite)",
    )


class Steep(Loss):
    """A loss whose value is finite and whose gradient is not."""

    kind: Literal["steep"] = "steep"

    def loss(
        self,
        lengths: Float[Tensor, "batch classes"],
        labels: Int[Tensor, " batch"],
        progress: float,
    ) -> Float[Tensor, ""]:
        return (0 * lengths).sum().sqrt()


def test_a_gradient_is_found_where_it_arises_first_on_its_way_back(tmp_path: Path) -> None:
    assert origin_of(tmp_path, loss=Steep()) == (
        1,
        "step 1, in capsules.weight (its gradient; the loss was finite)",
    )


class Rarely(VectorRouting):
    """A routing that fails by chance: in some steps, by draws that are the trial's own."""

    kind: Literal["rarely"] = "rarely"
    is_symmetric: ClassVar[bool] = True

    def route(
        self,
        votes: Float[Tensor, "batch in_caps out_caps pose"],
        *,
        generator: torch.Generator | None,
    ) -> Float[Tensor, "batch out_caps pose"]:
        if torch.is_inference_mode_enabled():
            return votes.mean(dim=1)
        return votes.mean(dim=1) / (torch.rand((), generator=generator) > 0.05)


def test_a_failure_by_chance_is_met_again_in_its_step(tmp_path: Path) -> None:
    epoch, origin = origin_of(tmp_path, model=small_model(routing=Rarely()))
    chance = torch.Generator()
    chance.set_state(Training(small_config(), seed=0)._learner.chance["routing"].get_state())
    draws = torch.tensor([float(torch.rand((), generator=chance)) for _ in range(21)])
    first = int((draws > 0.05).logical_not().nonzero()[0])
    assert epoch == first // 7 + 1
    assert origin == f"step {first % 7 + 1}, in capsules.router (its output; inputs were finite)"


class Spoilt(NoAugmentation):
    def apply(self, images: Tensor, draws: Tensor) -> Tensor:
        return images * math.nan


def test_images_that_are_no_numbers_are_named_themselves(tmp_path: Path) -> None:
    assert origin_of(tmp_path, augmentation=Spoilt()) == (
        1,
        "step 1, in the images (as they are given to the network)",
    )


def test_weights_that_overflow_in_a_step_are_named(tmp_path: Path) -> None:
    epoch, origin = origin_of(tmp_path, optimiser=Adam(learning_rate=1e39))
    assert epoch == 1
    assert origin == (
        "step 1, in convolution.convolution.weight (its value after the step; its gradient was "
        "finite)"
    )


def test_looking_for_an_origin_leaves_no_hook_behind(tmp_path: Path) -> None:
    training, before = diverged(tmp_path, optimiser=Adam(learning_rate=1e30))
    origin = training.find_origin(before)
    assert origin is not None
    assert (origin.step, origin.layer, origin.phase) == (2, "primary.convolution", "training")
    network = training._learner.network
    assert not any(module._forward_hooks for module in network.modules())
    assert not any(parameter._post_accumulate_grad_hooks for parameter in network.parameters())


def test_a_sound_epoch_has_no_origin(tmp_path: Path) -> None:
    training = Training(small_config(), seed=0)
    epochs = iter(training)
    next(epochs)
    training.save(tmp_path / "before")
    next(epochs)
    assert training.find_origin(tmp_path / "before") is None


def test_a_file_of_no_earlier_epoch_says_nothing(tmp_path: Path) -> None:
    training, _ = diverged(tmp_path, loss=Late(after=0.5))
    training.save(tmp_path / "after")
    assert training.find_origin(tmp_path / "after") is None


@pytest.mark.parametrize("num_saved", [0, 1])
def test_an_origin_is_found_from_any_earlier_epoch(tmp_path: Path, num_saved: int) -> None:
    training, before = diverged(tmp_path, loss=Late(after=0.9))
    assert before == tmp_path / "2.safetensors"
    expected = training.find_origin(before)
    saved = tmp_path / f"{num_saved}.safetensors"
    assert training.find_origin(saved if num_saved else None) == expected
    assert expected is not None


def test_a_training_that_goes_wrong_sooner_this_time_tells_no_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training, _ = diverged(tmp_path, loss=Late(after=0.9))
    step = SimpleNamespace(loss=torch.tensor(math.nan))
    monkeypatch.setattr(Training, "_steps", lambda *_: iter([step]))
    assert training.find_origin(None) is None


def test_an_origin_reads_as_words() -> None:
    origin = Origin(41, "capsules.router", "its output; inputs were finite")
    assert str(origin) == "step 41, in capsules.router (its output; inputs were finite)"
