"""A training computes in the precision of its settings, in full where they say nothing."""

from typing import Any

import pytest
import torch

from capsmodel.config import Precision, TrainingConfig
from capsmodel.training.learner import Learner
from capsmodel.training.precision import multiplied_in
from capsmodel.training.training import Training
from tests.capsmodel.small_config import small_config

CPU = torch.device("cpu")


def config_in(precision: Precision) -> TrainingConfig:
    return small_config().model_copy(update={"precision": precision})


def losses_of(precision: Precision) -> list[float]:
    return [metrics.train_loss for metrics in Training(config_in(precision), seed=0)]


def test_a_training_of_an_earlier_release_is_the_same_one() -> None:
    assert "precision" not in config_in("single").model_dump()
    assert config_in("bf16").model_dump()["precision"] == "bf16"


def test_tf32_is_full_precision_where_there_is_none() -> None:
    assert losses_of("tf32") == losses_of("single")


def test_bfloat16_learns_as_well_but_not_the_same() -> None:
    full, half = losses_of("single"), losses_of("bf16")
    assert half != full
    assert half == pytest.approx(full, rel=0.05)


@pytest.mark.parametrize(("precision", "is_half"), [("single", False), ("bf16", True)])
def test_convolutions_are_of_the_type_and_outputs_single(
    precision: Precision, is_half: bool
) -> None:
    types = list[torch.dtype]()
    training = Training(config_in(precision), seed=0)
    trained = training.trained()
    convolution = next(
        module for module in trained.network.modules() if isinstance(module, torch.nn.Conv2d)
    )

    def record_type(module: torch.nn.Module, arguments: object, result: torch.Tensor) -> None:
        del module, arguments
        types.append(result.dtype)

    convolution.register_forward_hook(record_type)
    outputs = trained.outputs(training.data.test.images[:4])
    assert types == [torch.bfloat16 if is_half else torch.float32]
    assert {outputs.lengths.dtype, outputs.poses is None or outputs.poses.dtype} == {torch.float32}


def test_weights_and_moments_stay_in_single_precision() -> None:
    learner = Learner(config_in("bf16"), 0, CPU)
    training = Training(config_in("bf16"), seed=0)
    batch, moment = next(learner.batches(training.data.train, 0))
    learner.differentiate(batch, moment.progress)
    assert {parameter.grad.dtype for parameter in learner.parameters if parameter.grad is not None}
    learner.move(moment)
    kinds = {tensor.dtype for name, tensor in learner.tensors().items() if "chance" not in name}
    assert kinds == {torch.float32}


@pytest.mark.parametrize(
    ("precision", "mode"), [("single", "ieee"), ("bf16", "ieee"), ("tf32", "tf32")]
)
def test_a_gpu_multiplies_as_is_said_and_then_as_before(precision: Precision, mode: str) -> None:
    cudnn: Any = torch.backends.cudnn
    backends: tuple[Any, ...] = (torch.backends.cuda.matmul, cudnn.conv)
    before = [backend.fp32_precision for backend in backends]
    with multiplied_in(precision, torch.device("cuda")):
        assert [backend.fp32_precision for backend in backends] == [mode, mode]
    assert [backend.fp32_precision for backend in backends] == before
