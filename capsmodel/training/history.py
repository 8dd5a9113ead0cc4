"""The epochs that a checkpoint tells of."""

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from capsmodel import tensor_file
from capsmodel.metrics import EpochMetrics


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
