import dataclasses
import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from torch import Tensor, nn

from capsmodel import EpochMetrics, Training, TrainingConfig
from capsmodel.augmentation import Shift
from capsmodel.data import Digits
from capsmodel.optimisers import (
    LEARNING_RATE_SCHEDULES,
    OPTIMISERS,
    SGD,
    Adam,
    AdamW,
    CosineRate,
    Moment,
    Optimiser,
    ScheduledOptimiser,
)
from capsmodel.routing import RandomRouting
from capsmodel.settings.parts import kind_of
from capsmodel.stopping import FixedEpochs
from capsmodel.testing import OptimiserContract
from tests.capsmodel.small_config import small_config, small_model

VARIANTS: dict[str, ScheduledOptimiser] = {
    "adam": Adam(),
    "adam with decay": Adam(weight_decay=1e-2),
    "adamw": AdamW(weight_decay=0.5),
    "sgd": SGD(weight_decay=1e-2),
    "sgd with nesterov": SGD(nesterov=True),
    "sgd without momentum": SGD(momentum=0.0),
    "adam with warm-up": Adam(warmup_steps=10, schedule=CosineRate()),
}
RATE = 0.1
STEPS = 5


def variants(function: Callable[..., None]) -> Callable[..., None]:
    return pytest.mark.parametrize("optimiser", VARIANTS.values(), ids=list(VARIANTS))(function)


def start() -> list[float]:
    return [1.0, -2.0, 0.5]


def slope(weights: list[float]) -> list[float]:
    """Return the gradient of a sum of fourth powers with scales of their own."""
    return [scale * weight**3 for scale, weight in zip((1.0, 0.3, 20.0), weights, strict=True)]


def moved(optimiser: ScheduledOptimiser, steps: int = STEPS) -> list[float]:
    parameter = nn.Parameter(torch.tensor(start(), dtype=torch.float64))
    built = optimiser.build([parameter])
    for _ in range(steps):
        parameter.grad = torch.tensor(slope(parameter.tolist()), dtype=torch.float64)
        built.step()
    return parameter.tolist()


def adam_by_hand(decay: float, share_lost: float) -> list[float]:
    """Return where algorithm 1 of Adam leads, with both ways of decay."""
    weights, means, squares = start(), [0.0] * 3, [0.0] * 3
    for step in range(1, STEPS + 1):
        gradient = [g + decay * w for g, w in zip(slope(weights), weights, strict=True)]
        for i, g in enumerate(gradient):
            means[i] = 0.9 * means[i] + 0.1 * g
            squares[i] = 0.999 * squares[i] + 0.001 * g**2
            mean, square = means[i] / (1 - 0.9**step), squares[i] / (1 - 0.999**step)
            weights[i] -= RATE * share_lost * weights[i]
            weights[i] -= RATE * mean / (math.sqrt(square) + 1e-8)
    return weights


def sgd_by_hand(momentum: float, decay: float, *, nesterov: bool) -> list[float]:
    weights, sums = start(), [0.0] * 3
    for _ in range(STEPS):
        gradient = [g + decay * w for g, w in zip(slope(weights), weights, strict=True)]
        for i, g in enumerate(gradient):
            sums[i] = momentum * sums[i] + g
            weights[i] -= 1e-2 * (g + momentum * sums[i] if nesterov else sums[i])
    return weights


def test_adam_takes_the_steps_of_its_algorithm() -> None:
    assert moved(Adam(learning_rate=RATE)) == pytest.approx(adam_by_hand(0, 0))


def test_the_decay_of_adam_is_the_gradient_of_half_the_squared_weights() -> None:
    assert moved(Adam(learning_rate=RATE, weight_decay=0.3)) == pytest.approx(adam_by_hand(0.3, 0))


def test_the_decay_of_adamw_goes_past_the_moments() -> None:
    ours = moved(AdamW(learning_rate=RATE, weight_decay=0.3))
    assert ours == pytest.approx(adam_by_hand(0, 0.3))
    assert ours != pytest.approx(adam_by_hand(0.3, 0))


def test_without_decay_adamw_is_adam_to_the_last_bit() -> None:
    assert moved(AdamW(weight_decay=0.0)) == moved(Adam())


@pytest.mark.parametrize("decay", [0.0, 0.3])
@pytest.mark.parametrize(
    ("momentum", "nesterov"), [(0.0, False), (0.9, False), (0.9, True), (0.5, True)]
)
def test_sgd_takes_the_steps_of_its_algorithm(
    momentum: float, decay: float, *, nesterov: bool
) -> None:
    ours = SGD(learning_rate=1e-2, momentum=momentum, nesterov=nesterov, weight_decay=decay)
    assert moved(ours) == pytest.approx(sgd_by_hand(momentum, decay, nesterov=nesterov))


def test_nesterov_without_momentum_is_refused_in_one_sentence() -> None:
    with pytest.raises(ValueError, match="got a momentum of 0: set one above 0, or leave"):
        SGD(nesterov=True, momentum=0.0)


# What is kept beside each parameter.


class TestOptimisers(OptimiserContract):
    @pytest.fixture(params=VARIANTS.values(), ids=list(VARIANTS))
    def optimiser(self, request: pytest.FixtureRequest) -> Optimiser:
        return request.param


class ForgetfulSGD(SGD):
    """It keeps a tensor that it does not tell of."""

    def state_shapes(self, shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        return {}


class HeadstrongOptimizer(torch.optim.SGD):
    """It moves at a rate of its own, the more the oftener it has."""

    num_steps = 0

    def step(self, closure: Any = None) -> Any:
        self.num_steps += 1
        for group in self.param_groups:
            group["lr"] = 0.01 * self.num_steps
        return super().step(closure)


class HeadstrongSGD(SGD):
    def build(self, parameters: Sequence[nn.Parameter]) -> torch.optim.Optimizer:
        return HeadstrongOptimizer(parameters, lr=self.learning_rate)

    def learning_rate_at(self, moment: Moment) -> float:
        return 1 - moment.progress * 2


def test_an_optimiser_that_keeps_more_than_it_tells_is_found() -> None:
    with pytest.raises(AssertionError):
        OptimiserContract().test_it_keeps_the_tensors_that_it_tells(ForgetfulSGD())


def test_an_optimiser_with_a_rate_and_a_memory_of_its_own_is_found() -> None:
    contract, optimiser = OptimiserContract(), HeadstrongSGD()
    with pytest.raises(AssertionError):
        contract.test_it_takes_the_rate_that_it_is_set_to(optimiser)
    with pytest.raises(AssertionError):
        contract.test_with_these_tensors_it_goes_on_to_the_last_bit(optimiser, 3)
    with pytest.raises(AssertionError):
        contract.test_rates_are_finite_and_never_negative(optimiser, 1)


def chancy(optimiser: ScheduledOptimiser) -> TrainingConfig:
    return small_config(
        data=Digits(fraction=0.3),
        model=small_model(routing=RandomRouting()),
        augmentation=Shift(),
        optimiser=optimiser,
        stopping=FixedEpochs(epochs=2),
    )


def finished(training: Training, folder: Path) -> tuple[list[EpochMetrics], dict[str, Tensor]]:
    """Return the metrics of a whole training, and its weights, moments and generators."""
    for _ in training:
        pass
    training.save(folder / "finished")
    history = [dataclasses.replace(metrics, duration_seconds=0.0) for metrics in training.history]
    return history, load_file(folder / "finished")


def same(first: dict[str, Tensor], second: dict[str, Tensor]) -> bool:
    return first.keys() == second.keys() and all(
        torch.equal(first[name], second[name]) for name in first
    )


@variants
def test_a_restored_training_equals_an_unbroken_one_to_the_last_bit(
    tmp_path: Path, optimiser: ScheduledOptimiser
) -> None:
    config = chancy(optimiser)
    history, tensors = finished(Training(config, seed=3), tmp_path)
    broken = Training(config, seed=3)
    next(iter(broken))
    broken.save(tmp_path / "checkpoint")
    restored = Training.restore(tmp_path / "checkpoint", config, seed=3)
    history_after, tensors_after = finished(restored, tmp_path)
    assert history_after == history
    assert same(tensors_after, tensors)


@variants
def test_the_same_seed_gives_the_same_training_and_another_another(
    tmp_path: Path, optimiser: ScheduledOptimiser
) -> None:
    first, repeated, other = (
        finished(Training(chancy(optimiser), seed), tmp_path) for seed in (1, 1, 2)
    )
    assert first[0] == repeated[0] != other[0]
    assert same(first[1], repeated[1])
    assert not same(first[1], other[1])


def test_a_checkpoint_of_another_optimiser_is_refused(tmp_path: Path) -> None:
    training = Training(chancy(SGD()), seed=0)
    next(iter(training))
    training.save(tmp_path / "checkpoint")
    with pytest.raises(ValueError, match="it holds 'optimiser/0/momentum_buffer', which"):
        Training.restore(tmp_path / "checkpoint", chancy(SGD(momentum=0.0)), seed=0)
    with pytest.raises(ValueError, match=r"optimiser/0/exp_avg is missing"):
        Training.restore(tmp_path / "checkpoint", chancy(Adam()), seed=0)


@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=kind_of)
def test_every_optimiser_learns_the_digits(optimiser: type[ScheduledOptimiser]) -> None:
    rate = 1.0 if optimiser is SGD else 1e-2
    config = small_config(optimiser=optimiser(learning_rate=rate), batch_size=50)
    first, *_, last = Training(config, seed=0)
    assert last.train_loss < 0.8 * first.train_loss


# The warm-up.


def rates(optimiser: ScheduledOptimiser, count: int) -> list[float]:
    return [optimiser.learning_rate_at(Moment(step, 7, 3)) for step in range(count)]


@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=kind_of)
def test_a_warm_up_rises_evenly_from_zero_to_the_rate(
    optimiser: type[ScheduledOptimiser],
) -> None:
    warmed = optimiser(learning_rate=1.0, warmup_steps=4)
    assert rates(warmed, 7) == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0, 1.0, 1.0])


@pytest.mark.parametrize("schedule", LEARNING_RATE_SCHEDULES, ids=kind_of)
def test_without_warm_up_the_rate_is_the_schedules_to_the_last_bit(
    schedule: Callable[[], CosineRate],
) -> None:
    moments = [Moment(step, 7, 3) for step in range(22)]
    of_schedule = [schedule().at(1e-3, moment) for moment in moments]
    assert [Adam(schedule=schedule()).learning_rate_at(moment) for moment in moments] == of_schedule


@given(st.integers(0, 50), st.integers(0, 200))
def test_a_warm_up_is_a_share_of_the_schedules_rate_that_never_falls(
    warmup_steps: int, step: int
) -> None:
    cold = Adam(schedule=CosineRate())
    warmed = Adam(schedule=CosineRate(), warmup_steps=warmup_steps)
    moments = [Moment(at, 68, 3) for at in (step, step + 1)]
    before, after = (warmed.learning_rate_at(m) / cold.learning_rate_at(m) for m in moments)
    assert 0 < before <= after * (1 + 1e-12)
    assert (before == 1) == (step >= warmup_steps)


def peers(weights: Sequence[Tensor]) -> dict[str, tuple[Optimiser, torch.optim.Optimizer]]:
    """Return ours and torch's own with the same settings."""
    return {
        "adam": (Adam(), torch.optim.Adam(weights, lr=1e-3, fused=True)),
        "adamw": (
            AdamW(weight_decay=0.5),
            torch.optim.AdamW(weights, weight_decay=0.5, fused=True),
        ),
        "sgd": (SGD(nesterov=True), torch.optim.SGD(weights, 0.1, 0.9, nesterov=True, fused=True)),
    }


@pytest.mark.parametrize("kind", ["adam", "adamw", "sgd"])
def test_steps_are_torchs_own_bit_for_bit(kind: str):
    theirs = nn.Linear(3, 4)
    ours = nn.Linear(3, 4)
    ours.load_state_dict(theirs.state_dict())
    part, expected = peers(list(theirs.parameters()))[kind]
    built = part.build(tuple(ours.parameters()))

    for layer, optimiser in ((ours, built), (theirs, expected)):
        for _ in range(STEPS):
            optimiser.zero_grad()
            layer(torch.ones(2, 3)).square().mean().backward()  # converges from any weights
            optimiser.step()

    assert all(map(torch.equal, ours.parameters(), theirs.parameters()))
    assert str(built.state_dict()["state"]) == str(expected.state_dict()["state"])


def test_a_first_step_of_a_training_loads_nothing_slow():
    """Each of these takes between half a second and two in every process that trains."""
    code = """
import sys
import torch
from capsmodel import Training
from capsmodel.optimisers import OPTIMISERS
from tests.capsmodel.small_config import small_config
for part in OPTIMISERS:
    assert next(iter(Training(small_config(optimiser=part()), 0, "cpu"))).epoch == 1
slow = {"torch._dynamo", "sympy", "sklearn"}
if torch.__version__ < "2.11":  # it loads that itself
    slow.remove("sympy")
print(slow & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.stderr) == (["set()"], "")
