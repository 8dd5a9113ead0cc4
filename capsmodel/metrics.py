"""What an epoch and a test come to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from jaxtyping import UInt8
from pydantic import TypeAdapter, ValidationError
from torch import Tensor

from capsmodel import tensor_file


@dataclass(frozen=True)
class EpochMetrics:
    """What one epoch came to.

    Attributes:
        epoch: Which one, from 1.
        train_loss: Mean loss of the training images, with reconstruction, while weights moved.
        validation_loss: Mean loss of the validation images after the epoch.
        validation_error: Share of the validation images that are classified wrongly.
        duration_seconds: Wall-clock time of the epoch, validation included.
        health: Name -> number that tells whether the network is sound; `capsmodel.health` says
            what they mean.
    """

    epoch: int
    train_loss: float
    validation_loss: float
    validation_error: float
    duration_seconds: float
    health: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True)
class TestResult:
    """What the test split came to.

    Attributes:
        error: Share of the test images that are classified wrongly.
        predictions: The class given to each image, in the data set's order.
        labels: The true classes.
        extra_errors: Name of an extra test -> share of its images that are classified wrongly.
    """

    __test__: ClassVar[bool] = False  # pytest would take the name for that of a class of tests
    error: float
    predictions: UInt8[Tensor, " images"]
    labels: UInt8[Tensor, " images"]
    extra_errors: Mapping[str, float] = field(default_factory=dict[str, float])


def read_history(path: Path, seed: int) -> tuple[EpochMetrics, ...]:
    """Return the epochs that a checkpoint's header tells of.

    Raises:
        ValueError: If the file is of another seed, or tells of no history.
        OSError: If the file cannot be read.
    """
    facts = tensor_file.read_facts(path)
    if facts.get("seed") != seed:
        raise ValueError(f"{path} is of seed {facts.get('seed')!r}, not {seed}.")
    try:
        history = TypeAdapter(tuple[EpochMetrics, ...]).validate_python(facts.get("history"))
    except ValidationError as error:
        raise ValueError(f"{path} does not fit: its history is not one of epochs.") from error
    if [metrics.epoch for metrics in history] != list(range(1, len(history) + 1)):
        raise ValueError(f"{path} does not fit: its history has gaps.")
    return history
